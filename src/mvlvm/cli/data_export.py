"""Export of data sets as CSV files."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from mvlvm.cli.exit_handling import UsageError
from mvlvm.datasets import Dataset
from mvlvm.io import write
from mvlvm.io.atomic import folder_atomically

_LABELS, _NEW = "labels.csv", "new"
_ROW_NAMES = "sample"


def export(data: Dataset, folder: Path, *, n_new: int, seed: int) -> list[str]:
    """Write every view of a data set and its labels as CSV files.

    Args:
        data: the data set.
        folder: the folder, which is replaced at once.
        n_new: number of random rows that are written into a subfolder instead.
        seed: of the choice of these rows.

    Returns:
        The names of the files.
    """
    tables = _tables(data)
    n_rows = len(next(iter(tables.values())))
    if n_new >= n_rows:
        raise UsageError(f"--new-rows must be less than the number of rows, {n_rows}. Got {n_new}.")
    is_new = np.zeros(n_rows, dtype=bool)
    is_new[np.random.default_rng(seed).permutation(n_rows)[:n_new]] = True
    with folder_atomically(folder) as part:
        files = _write(tables, ~is_new, part)
        if n_new:
            (part / _NEW).mkdir()
            files += [f"{_NEW}/{name}" for name in _write(tables, is_new, part / _NEW)]
    return files


def check_folder(folder: Path, *, force: bool) -> None:
    """Check that a folder can be written.

    Raises:
        UsageError: it exists and may not be replaced, or the folder for it does not exist.
    """
    if not folder.absolute().parent.is_dir():
        raise UsageError(f"There is no folder {folder.absolute().parent} to write {folder.name} into. Create it first.")
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file, and must be a folder. Choose another name.")
    others = [path.name for path in folder.iterdir() if path.suffix != ".csv" and path.name != _NEW]
    if others:
        raise UsageError(f"{folder} holds other files, such as {others[0]}, which are never replaced. Choose another.")
    if any(folder.iterdir()) and not force:
        raise UsageError(f"{folder} exists. Choose another folder, or replace it with --force.")


def _tables(data: Dataset) -> dict[str, pd.DataFrame]:
    """Return the tables by the names of their files, with names for all rows and columns."""
    frames = data.as_frames()
    n_rows = len(next(iter(frames.values())))
    width = len(str(n_rows - 1))
    names = [f"s{k:0{width}}" for k in range(n_rows)] if data.rows is None else list(map(str, data.rows))
    index = pd.Index(names, name=_ROW_NAMES)
    tables = {f"{view}.csv": frame.set_axis(index) for view, frame in frames.items()}
    for frame in tables.values():
        if isinstance(frame.columns, pd.RangeIndex):
            frame.columns = pd.Index([f"x{k}" for k in frame.columns])
    if data.labels is not None:
        classes = data.label_names or tuple(map(str, range(int(data.labels.max()) + 1)))
        labels = [classes[label] if label >= 0 else None for label in data.labels]
        tables[_LABELS] = pd.DataFrame({"label": labels}, index=index)
    return tables


def _write(tables: Mapping[str, pd.DataFrame], rows: np.ndarray, folder: Path) -> list[str]:
    for name, table in tables.items():
        write(folder / name, table[rows])
    return list(tables)
