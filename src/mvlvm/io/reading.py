"""Reading views from files, and joining tables with different rows into views with the same rows."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mvlvm.checks import check_choice, listed
from mvlvm.errors import ViewError, ViewWarning, warn
from mvlvm.io.formats import Tables, read_file, read_label_file, suffix_of
from mvlvm.io.size_limits import SizeLimit
from mvlvm.io.table_content import ReadOptions

JOINS = ("outer", "inner")
_LAYERED = (".h5ad", ".h5mu")


def read(
    path: Any,
    *,
    join: str = "outer",
    row_names: str | None = "auto",
    layer: str | None = None,
    max_bytes: float | int | None = None,
) -> dict[str, Any]:
    """Read views from files and join their rows.

    The file name determines the format: .csv and .tsv (also .csv.gz and .tsv.gz), .parquet, .npy, .npz, .h5ad, .h5mu.
    A table is a view with the name of the file; every two-dimensional array of numbers in an .npz is a view, and so is
    every modality of an .h5mu. Rows are matched by name if the files have row names, otherwise by position.

    Args:
        path: a file, a list of files, or a dict, view name -> file.
        join: "outer" keeps every row, with NaN in the views that lack it; "inner" keeps the rows that all views have.
        row_names: the column of row names in CSV, TSV and Parquet files; None if there is none, which matches rows by
            position in all files; "auto" uses the first column if its header is empty, "id", "sample" or similar, or
            if it holds text.
        layer: the layer of H5AD and H5MU files to read instead of X, such as "counts".
        max_bytes: the largest size in memory of all tables together, as declared by the files, which is checked before
            memory is allocated; None for a quarter of the available memory.

    Returns:
        View name -> DataFrame, all with the same index; the input of every estimator.

    Raises:
        ViewError: a file is missing, damaged, too large or not a table of finite numbers, or the rows do not match.
        ModuleNotFoundError: a package that reads the format is not installed.

    Warns:
        ViewWarning: numbers were read as column names, or a view has no row in common with the others.
    """
    check_choice(join, "join", JOINS)
    options = ReadOptions(SizeLimit(max_bytes), row_names, layer)
    tables: dict[str, Any] = {}
    files: dict[str, Path] = {}
    for source, file in _sources(path).items():
        for name, table in _name_tables(source, read_file(file, options), path).items():
            if name in tables:
                raise ViewError(
                    f"The names of views must be unique. Got '{name}' from {files[name]} and from {file}. "
                    "Pass a dict, view name -> file."
                )
            tables[name], files[name] = table, file
        if layer is not None and suffix_of(file) not in _LAYERED:
            raise ViewError(f"Only files of type {' and '.join(_LAYERED)} have layers. Got layer={layer!r} for {file}.")
    if not tables:
        raise ViewError(f"The files must hold at least one view. Got none in {path}.")
    return join_rows(tables, files, join, by_position=row_names is None)


def read_labels(path: Any, column: str | None = None, *, row_names: str | None = "auto") -> pd.Series:
    """Read labels, such as classes, from a column of a file.

    Args:
        path: a CSV, TSV or Parquet file, or an H5AD or H5MU file with the column in its obs.
        column: the name of the column; None if it is the only one besides the row names.
        row_names: the column of row names, as for `read`.

    Returns:
        The labels as text, None where they are missing; the index holds the row names.

    Raises:
        ViewError: the file is missing or damaged, or has no such column.
    """
    return read_label_file(_as_path(path), column, ReadOptions(SizeLimit(), row_names))


def _sources(path: Any) -> dict[str, Path]:
    """Return a dict, name -> file; files outside a dict are named after themselves."""
    if isinstance(path, Mapping):
        files = {name: _as_path(file) for name, file in path.items()}
        wrong = [name for name in files if not isinstance(name, str)]
        if wrong:
            raise ViewError(f"The names of views must be strings. Got {wrong[0]!r}. Use '{wrong[0]}' instead.")
    else:
        several = isinstance(path, Sequence) and not isinstance(path, str | bytes)
        files = {}
        for file in map(_as_path, path if several else [path]):
            name = file.name[: -len(suffix_of(file))]
            if name in files:
                raise ViewError(
                    f"Views are named after their files, and two are called '{name}': {files[name]} and {file}. "
                    "Pass a dict, view name -> file."
                )
            files[name] = file
    if not files:
        raise ViewError(
            "At least one file is needed. Got none. Pass a path, a list of paths or a dict, view name -> path."
        )
    return files


def _as_path(file: Any) -> Path:
    if not isinstance(file, str | os.PathLike) or not os.fspath(file):
        given = repr(file) if isinstance(file, str) else type(file).__name__
        raise ViewError(
            f"A file must be given by its path. Got {given}. Pass a path, a list of paths or a dict, view name -> path."
            " Tables in memory need not be read: pass them to an estimator."
        )
    return Path(file).expanduser()


def _name_tables(source: str, tables: Tables, path: Any) -> dict[str, Any]:
    """Return the tables of one file by view name.

    A single table has the name of its file, several tables have their names in the file. The name of a file in a dict
    is the name of its only view; if the dict has several files, it is a prefix of the names of several views.
    """
    given = isinstance(path, Mapping)
    if given and len(tables) == 1:
        return {source: next(iter(tables.values()))}
    prefix = f"{source}_" if given and len(path) > 1 else ""
    return {source if name is None else prefix + name: table for name, table in tables.items()}


def join_rows(
    tables: Mapping[str, Any], files: Mapping[str, Path], how: str, *, by_position: bool = False
) -> dict[str, Any]:
    """Return tables with the same rows in the same order.

    Tables with row names are joined by name, tables without row names by position.

    Args:
        tables: view name -> DataFrame, with row names or a RangeIndex as index.
        files: view name -> the file that it was read from, for messages.
        how: "outer" keeps every row, in order of first appearance, with NaN where a table lacks it; "inner" keeps the
            rows that all tables have, in the order of the first table.
        by_position: whether the user requested matching by position.

    Returns:
        View name -> DataFrame, all with the same index.

    Raises:
        ViewError: a row name is repeated in a table, the tables have no rows in common, or row names are ambiguous.
    """
    unnamed = [name for name, table in tables.items() if _is_unnamed(table)]
    if len(unnamed) == len(tables):
        if not by_position:
            _check_first_columns(tables, files)
        _check_lengths(tables)
        return dict(tables)
    if unnamed:
        named = next(name for name in tables if name not in unnamed)
        raise ViewError(
            f"All files must have row names, or none. Got names for view '{named}' ({files[named]}) and none for "
            f"'{unnamed[0]}' ({files[unnamed[0]]}). Add a column of names, specify it with row_names=..., or "
            "pass row_names=None if the rows are in the same order in all files."
        )
    for name, table in tables.items():
        _check_row_names(files[name], table.index)
    rows = _all_rows(tables) if how == "outer" else _common_rows(tables)
    if not rows:
        raise ViewError(
            f"The views have no row in common: {_examples(tables, files)}. Check that rows have the same names in all "
            "files, or pass join='outer' to keep all rows."
        )
    if how == "outer":
        _warn_of_disjoint_views(tables, files)
    names = (table.index.name for table in tables.values())
    index = pd.Index(rows, dtype=object, name=next((name for name in names if name is not None), None))
    return {name: table.reindex(index) for name, table in tables.items()}


def _is_unnamed(table: Any) -> bool:
    return isinstance(table.index, pd.RangeIndex)


def _all_rows(tables: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(row for table in tables.values() for row in table.index))


def _common_rows(tables: Mapping[str, Any]) -> list[str]:
    first, *others = (table.index for table in tables.values())
    common = set(first).intersection(*others)
    return [row for row in first if row in common]


def _check_lengths(tables: Mapping[str, Any]) -> None:
    if len({len(table) for table in tables.values()}) > 1:
        lengths = ", ".join(f"{name}: {len(table)}" for name, table in tables.items())
        raise ViewError(
            f"Views without row names must have the same number of rows. Got {lengths}. "
            "Drop or add rows so that row i is the same sample in all files, or add a column of row names to each file."
        )


def _check_row_names(file: Path, index: Any) -> None:
    if (index == "").any():
        raise ViewError(f"Every row of {file} must have a name. Got {(index == '').sum()} without. Name all rows.")
    repeated = index[index.duplicated()].unique()
    if len(repeated):
        raise ViewError(
            f"The row names of {file} must be unique. Got {len(repeated)} that appear more than once: "
            f"{listed(repeated)}. Rename or drop rows, or pass row_names=... if another column holds the names."
        )


def _check_first_columns(tables: Mapping[str, Any], files: Mapping[str, Path]) -> None:
    """Check that matching by position is unambiguous: a first column that files share may hold row names."""
    first_columns: dict[Any, str] = {}
    for name, table in tables.items():
        label = next(iter(table.columns), None)
        other = first_columns.setdefault(label, name)
        if isinstance(label, str) and files[other] != files[name]:
            raise ViewError(
                f"Views '{other}' ({files[other]}) and '{name}' ({files[name]}) both begin with a column '{label}', "
                f"which may hold row names. Pass row_names='{label}' if it does, or row_names=None if the rows are in "
                "the same order in all files."
            )


def _warn_of_disjoint_views(tables: Mapping[str, Any], files: Mapping[str, Path]) -> None:
    counts = Counter(row for table in tables.values() for row in table.index)
    disjoint = [name for name, table in tables.items() if all(counts[row] == 1 for row in table.index)]
    if disjoint and len(tables) > 1:
        warn(
            f"View '{disjoint[0]}' has no row in common with the others: {_examples(tables, files)}. Check that rows "
            "have the same names in all files.",
            ViewWarning,
        )  # fmt: skip


def _examples(tables: Mapping[str, Any], files: Mapping[str, Path]) -> str:
    return "; ".join(f"'{name}' ({files[name]}) has {listed(table.index)}" for name, table in tables.items())
