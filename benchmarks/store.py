"""Storage of records: per study, one append-only file of JSON lines and one archive of arrays."""

import io
import json
import os
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
from filelock import FileLock

from benchmarks.cells import DONE, Cell, Record
from mvlvm.io.atomic import write_atomically

# Separates the label of a cell from the name of an array in the archive.
_SEPARATOR = " | "
# A fixed time stamp, so that the same arrays give the same file.
_TIME_STAMP = (2000, 1, 1, 0, 0, 0)
_COMPRESSED = (zipfile.ZIP_DEFLATED, 9)


class Store:
    """A folder of records: `STUDY.jsonl`, and `STUDY.npz` if the study saves arrays.

    Of a cell that was run several times the last record counts. Several processes may append to the same folder. Lines
    that are not valid records are reported on standard error and skipped, and never deleted.

    Args:
        folder: need not exist; it is created by the first record.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, study: str) -> Path:
        """Return the file of the records of a study."""
        return self.folder / f"{study}.jsonl"

    def _array_path(self, study: str) -> Path:
        """Return the archive of the arrays of a study."""
        return self.folder / f"{study}.npz"

    def studies(self) -> list[str]:
        """Return the names of the studies that have records."""
        return sorted(path.stem for path in self.folder.glob("*.jsonl"))

    def read(self, study: str) -> dict[Cell, Record]:
        """Return the last record of every cell of a study, in the order of their first records."""
        return {record.cell: record for _, record in self._lines(study) if record is not None}

    def append(self, record: Record) -> None:
        """Append a record, and replace the arrays of its cell."""
        line = json.dumps(record.as_json(), allow_nan=False)
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lock(record.cell.study):
            if record.arrays:
                self._replace_arrays(record.cell, record.arrays)
            with self.path(record.cell.study).open("a+b") as file:
                # an interrupted run may have left an incomplete last line
                file.seek(0, os.SEEK_END)
                if file.tell():
                    file.seek(-1, os.SEEK_END)
                    line = line if file.read(1) == b"\n" else f"\n{line}"
                file.write(f"{line}\n".encode())

    def arrays(self, cell: Cell) -> dict[str, np.ndarray]:
        """Return the arrays of a cell by name; empty if there are none."""
        path, prefix = self._array_path(cell.study), f"{cell.label}{_SEPARATOR}"
        if not path.exists():
            return {}
        with np.load(path, allow_pickle=False) as archive:
            return {name.removeprefix(prefix): archive[name] for name in archive.files if name.startswith(prefix)}

    def merge(self, other: "Store", studies: Iterable[str] | None = None) -> int:
        """Append the records and arrays of another store that are new, and return their number.

        A record without a result does not replace a finished one, and a record of an earlier run not that of a later.
        """
        n_new = 0
        for study in other.studies() if studies is None else studies:
            known = self.read(study)
            for cell, record in other.read(study).items():
                if _is_newer(record, known.get(cell)):
                    self.append(Record(**{**vars(record), "arrays": other.arrays(cell)}))
                    n_new += 1
        return n_new

    def prune(self, study: str, keep: Callable[[str], bool]) -> int:
        """Remove the records whose commit does not satisfy a condition, and return their number.

        Lines that are not valid records are kept. Arrays of cells without remaining records are removed.

        Args:
            study: name of the study.
            keep: function of the commit of a record.
        """
        if not self.path(study).exists():
            return 0
        with self._lock(study):
            lines = self._lines(study)
            kept = [(text, record) for text, record in lines if record is None or keep(record.code.commit)]
            cells = {record.cell.label for _, record in kept if record is not None}
            write_atomically(self.path(study), "".join(f"{text}\n" for text, _ in kept).encode())
            if self._array_path(study).exists():
                self._rewrite_archive(study, lambda name: name.rpartition(_SEPARATOR)[0] in cells, {})
        return len(lines) - len(kept)

    def _lines(self, study: str) -> list[tuple[str, Record | None]]:
        """Return the lines of a file with their records; None for a line that is not a valid record."""
        path, lines = self.path(study), []
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        for number, line in enumerate(text.splitlines(), start=1):
            record = None
            try:
                record = Record.from_json(json.loads(line))
            except (json.JSONDecodeError, TypeError, KeyError):
                print(f"{path}: line {number} is not a valid record and was skipped", file=sys.stderr)
            lines.append((line, record))
        return lines

    def _lock(self, study: str) -> FileLock:
        return FileLock(self.folder / f".{study}.lock")

    def _replace_arrays(self, cell: Cell, arrays: Mapping[str, np.ndarray]) -> None:
        prefix = f"{cell.label}{_SEPARATOR}"
        added = {f"{prefix}{name}": array for name, array in arrays.items()}
        self._rewrite_archive(cell.study, lambda name: not name.startswith(prefix), added)

    def _rewrite_archive(self, study: str, keep: Callable[[str], bool], added: Mapping[str, np.ndarray]) -> None:
        """Write the archive with the kept and the added arrays, and replace the old one by it."""
        path, buffer = self._array_path(study), io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
            if path.exists():
                with zipfile.ZipFile(path) as old:
                    for member in old.infolist():
                        if keep(member.filename.removesuffix(".npy")):
                            new.writestr(zipfile.ZipInfo(member.filename, _TIME_STAMP), old.read(member), *_COMPRESSED)
            for name, array in added.items():
                content = io.BytesIO()
                np.lib.format.write_array(content, np.asarray(array), allow_pickle=False)
                new.writestr(zipfile.ZipInfo(f"{name}.npy", _TIME_STAMP), content.getvalue(), *_COMPRESSED)
        write_atomically(path, buffer.getvalue())


def _is_newer(record: Record, known: Record | None) -> bool:
    if known is None:
        return True
    is_result, has_result = record.status == DONE, known.status == DONE
    return record != known and record.run >= known.run if is_result == has_result else is_result
