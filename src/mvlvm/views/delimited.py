"""CSV and TSV files: a first pass checks their form, which pandas would mend in silence, a second reads the numbers."""

import csv
import gzip
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from mvlvm.errors import ViewError
from mvlvm.views.columns import MISSING, is_number, looks_like_row_names, no_such_column, numbers_only
from mvlvm.views.listing import listed
from mvlvm.views.optional import require

_ENCODING = "utf-8-sig"  # UTF-8, with or without the mark that spreadsheets put first


@dataclass(frozen=True)
class Outline:
    """The form of a table.

    Attributes:
        header: the names of its columns.
        n_rows: how many rows follow.
        lead: the position of the column that may name the rows.
        entries: what that column holds, as it is written.
    """

    header: list[str]
    n_rows: int
    lead: int | None
    entries: list[str]


def read_delimited(path: Path, separator: str, row_names: str | None) -> Any:
    """Read a table as a DataFrame, with the names of its rows as index.

    Args:
        path: a text file, or one compressed by gzip.
        separator: what stands between two entries of a row.
        row_names: the column of row names, "auto" to look for them in the first column, None if there are none.

    Raises:
        ViewError: it is not a table of numbers; the message says where and why.
    """
    try:
        outline = _outline(path, separator, row_names)
    except UnicodeDecodeError:
        raise ViewError(
            f"{path} must be UTF-8 text. Got another encoding. Save it in UTF-8; spreadsheets offer that for CSV."
        ) from None
    lead = outline.lead
    if row_names == "auto" and not looks_like_row_names(outline.header[0], outline.entries):
        lead = None
    kept = [i for i in range(len(outline.header)) if i != lead]
    _check_labels(path, [outline.header[i] for i in kept])
    pandas = require("pandas", "Reading CSV files")
    frame = pandas.read_csv(
        path, sep=separator, header=0, names=range(len(outline.header)), usecols=kept, index_col=False,
        encoding=_ENCODING, skipinitialspace=True, keep_default_na=False, na_values=MISSING,
        float_precision="round_trip", low_memory=False,
    )  # fmt: skip
    if kept and len(frame) != outline.n_rows:
        raise ViewError(f"{path} has quotes that do not close, so its rows cannot be told apart. Write it again.")
    index = pandas.RangeIndex(outline.n_rows) if lead is None else pandas.Index(outline.entries, dtype=object)
    frame = frame.set_axis([outline.header[i] for i in kept], axis=1).set_axis(index, axis=0)
    return numbers_only(frame, path)


def _outline(path: Path, separator: str, row_names: str | None) -> Outline:
    """Read the header and one column, and check that every row has as many entries as the header."""
    with _open(path) as file:
        lines = csv.reader(file, delimiter=separator, skipinitialspace=True)
        header = [label.strip() for label in next(filter(None, lines), [])]
        if not header:
            raise ViewError(f"{path} is empty. A table has a line with the names of its columns and a line per row.")
        rows = _rows(path, lines, n_columns=len(header))
        first = next(rows, None)
        if first is None:
            raise ViewError(f"{path} has no rows, only a line with the names of columns. Add a line per row.")
        if len(first) == len(header) + 1 and first[-1]:  # R leaves out the header of the row names
            header = ["", *header]
        _check_header(path, header)
        lead = _lead(path, header, row_names)
        n_rows, entries = 0, []
        for row in chain([first], rows):
            if len(row) != len(header):
                raise _wrong_length(path, lines.line_num, len(row), len(header))
            n_rows += 1
            if lead is not None:
                entries.append(row[lead].strip())
    return Outline(header, n_rows, lead, entries)


def _open(path: Path) -> Any:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    return opener(path, "rt", encoding=_ENCODING, newline="")


def _rows(path: Path, lines: Any, n_columns: int) -> Iterator[list[str]]:
    """Give the lines that are not empty. Where rows have one entry, an empty line among them is a row without it."""
    gap = None
    for row in lines:
        if row and gap is not None and n_columns == 1:
            raise _wrong_length(path, gap, 0, n_columns)
        if row:
            yield row
        else:
            gap = lines.line_num if gap is None else gap


def _wrong_length(path: Path, line: int, got: int, expected: int) -> ViewError:
    return ViewError(
        f"Line {line} of {path} must have as many entries as there are columns, {expected}. Got {got}. "
        "Write missing entries as NA, and put entries that contain the separator in quotes."
    )


def _lead(path: Path, header: list[str], row_names: str | None) -> int | None:
    if row_names is None:
        return None
    if row_names == "auto":
        return 0
    if row_names not in header:
        raise no_such_column(path, row_names, header)
    return header.index(row_names)


def _check_header(path: Path, header: list[str]) -> None:
    """Refuse a first line of data. Names can be numbers too, such as wavelengths, but those come in order."""
    if not all(map(is_number, header)):
        return
    numbers = [float(label) for label in header]
    if any(right <= left for left, right in pairwise(numbers)):
        raise ViewError(
            f"The first line of {path} must hold the names of its columns. Got numbers: {listed(header)}. "
            "Put a line with names before it, or a letter before each number if they are names."
        )


def _check_labels(path: Path, labels: list[str]) -> None:
    if "" in labels:
        raise ViewError(
            f"All columns of {path} must have names. Got none for {labels.count('')} of its columns. Name them in the "
            "first line, or delete them; the first column may go without if it holds row names."
        )
    repeated = [label for label, times in Counter(labels).items() if times > 1]
    if repeated:
        raise ViewError(
            f"The columns of {path} must have different names. Got several called "
            f"{listed(repeated)}. Rename or delete all but one."
        )
