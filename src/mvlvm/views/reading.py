"""Tables whose rows overlap in part become views with the same rows.

The user's own files become views.
"""

import os
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mvlvm.checks import check_choice, listed
from mvlvm.errors import ViewError, ViewWarning
from mvlvm.optional_dependencies import require
from mvlvm.views.formats import Tables, read_file, suffix_of

JOINS = ("outer", "inner")


def join_rows(
    tables: Mapping[str, Any], files: Mapping[str, Path], how: str, *, by_position: bool = False
) -> dict[str, Any]:
    """Give all tables the same rows in the same order.

    Tables with row names are joined by name, tables without by position.

    Args:
        tables: view name -> table, with row names as index or rows that are only counted.
        files: view name -> the file it comes from, for messages.
        how: "outer" keeps every row, in order of first appearance, and fills it with NaN where a table lacks it;
            "inner" keeps the rows that all tables have, in the first one's order.
        by_position: whether the user said that rows have no names.

    Raises:
        ViewError: a row name appears twice in a table, the tables have no rows in common, or it is not clear whether
            they have row names.
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
            f"'{unnamed[0]}' ({files[unnamed[0]]}). Add a column of names, say which one it is with row_names=..., or "
            "give row_names=None if the rows are in the same order everywhere."
        )
    for name, table in tables.items():
        _check_names(files[name], table.index)
    rows = _all_rows(tables) if how == "outer" else _common_rows(tables)
    if not rows:
        raise ViewError(
            f"The views have no row in common: {_examples(tables, files)}. Check that rows are named alike in all "
            "files, or give join='outer' to keep them all."
        )
    if how == "outer":
        _warn_of_strangers(tables, files)
    index = require("pandas", "Reading files").Index(rows, dtype=object)
    return {name: table.reindex(index) for name, table in tables.items()}


def _is_unnamed(table: Any) -> bool:
    return isinstance(table.index, require("pandas", "Reading files").RangeIndex)


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
            "Drop or add rows so that row i is the same sample everywhere, or add a column of row names to each file."
        )


def _check_names(file: Path, index: Any) -> None:
    if (index == "").any():
        raise ViewError(f"Every row of {file} must have a name. Got {(index == '').sum()} without. Name them all.")
    repeated = index[index.duplicated()].unique()
    if len(repeated):
        raise ViewError(
            f"Every row of {file} must have a name of its own. Got {len(repeated)} that appear more than once: "
            f"{listed(repeated)}. Rename or drop rows, or give row_names=... if another column holds the names."
        )


def _check_first_columns(tables: Mapping[str, Any], files: Mapping[str, Path]) -> None:
    """Refuse to go by position where a column at the head of several files may be what rows should be matched by."""
    heads: dict[Any, str] = {}
    for name, table in tables.items():
        label = next(iter(table.columns), None)
        other = heads.setdefault(label, name)
        if isinstance(label, str) and files[other] != files[name]:
            raise ViewError(
                f"Views '{other}' ({files[other]}) and '{name}' ({files[name]}) both begin with a column '{label}', "
                f"which may name the rows. Give row_names='{label}' if it does, or row_names=None if the rows are in "
                "the same order everywhere."
            )


def _warn_of_strangers(tables: Mapping[str, Any], files: Mapping[str, Path]) -> None:
    seen = Counter(row for table in tables.values() for row in table.index)
    alone = [name for name, table in tables.items() if all(seen[row] == 1 for row in table.index)]
    if alone and len(tables) > 1:
        warnings.warn(
            f"View '{alone[0]}' has no row in common with the others: {_examples(tables, files)}. Check that rows are "
            "named alike in all files.",
            ViewWarning, stacklevel=4,  # the caller of read
        )  # fmt: skip


def _examples(tables: Mapping[str, Any], files: Mapping[str, Path]) -> str:
    return "; ".join(f"'{name}' ({files[name]}) has {listed(table.index)}" for name, table in tables.items())


def read(path: Any, *, join: str = "outer", row_names: str | None = "auto") -> dict[str, Any]:
    """Read views from files and give them the same rows.

    A file's name tells its format: .csv and .tsv (also .csv.gz and .tsv.gz), .parquet, .npy, .npz, .h5ad, .h5mu. A
    table is a view with the file's name; every array of numbers with two axes in an .npz is a view, and so is every
    modality of an .h5mu. Rows are matched by their names where the files have them, by position elsewhere.

    Args:
        path: a file, a list of files, or a dict, view name -> file.
        join: "outer" keeps every row and fills it with NaN in the views that lack it; "inner" keeps rows that all
            views have.
        row_names: the column of CSV, TSV and Parquet files that names the rows; None if there is none, and to go by
            position in all files; "auto" takes the first one if its header is empty, "id", "sample" or the like, or if
            it holds text.

    Returns:
        View name -> DataFrame, all with the same index: what every estimator takes.

    Raises:
        ViewError: a file is missing, damaged or no table of numbers, or the rows do not match.
        ModuleNotFoundError: a package that reads the format is not installed.

    Warns:
        ViewWarning: numbers were taken as names of columns, or a view has no row in common with the others.
    """
    check_choice(join, "join", JOINS)
    tables: dict[str, Any] = {}
    files: dict[str, Path] = {}
    for source, file in _sources(path).items():
        for name, table in _named(source, read_file(file, row_names), path).items():
            if name in tables:
                raise ViewError(
                    f"Every view must have a name of its own. Got '{name}' from {files[name]} and from {file}. "
                    "Give a dict, name -> file."
                )
            tables[name], files[name] = table, file
    if not tables:
        raise ViewError(f"The files must hold at least one view. Got none in {path}.")
    return join_rows(tables, files, join, by_position=row_names is None)


def _sources(path: Any) -> dict[str, Path]:
    """Name the files: as the user does in a dict, by themselves otherwise."""
    if isinstance(path, Mapping):
        files = {name: _as_path(file) for name, file in path.items()}
        wrong = [name for name in files if not isinstance(name, str)]
        if wrong:
            raise ViewError(f"The names of views must be strings. Got {wrong[0]!r}. Write '{wrong[0]}' instead.")
    else:
        several = isinstance(path, Sequence) and not isinstance(path, str | bytes)
        files = {}
        for file in map(_as_path, path if several else [path]):
            name = file.name[: -len(suffix_of(file))]
            if name in files:
                raise ViewError(
                    f"Views are named after their files, and two are called '{name}': {files[name]} and {file}. "
                    "Give a dict, name -> file."
                )
            files[name] = file
    if not files:
        raise ViewError("At least one file is needed. Got none. Give a path, a list of paths or a dict, name -> path.")
    return files


def _as_path(file: Any) -> Path:
    if not isinstance(file, str | os.PathLike) or not os.fspath(file):
        given = repr(file) if isinstance(file, str) else type(file).__name__
        raise ViewError(
            f"A file must be given by its path. Got {given}. Give a path, a list of paths or a dict, name -> path. "
            "Tables in memory need no reading: estimators take them as they are."
        )
    return Path(file).expanduser()


def _named(source: str, tables: Tables, path: Any) -> dict[str, Any]:
    """Name the tables of one file: by the file if it holds one, by their own names if it holds several.

    Files that the user named in a dict lend their names: to their only view, or, where there are other files, as a
    prefix to the names of all.
    """
    given = isinstance(path, Mapping)
    if given and len(tables) == 1:
        return {source: next(iter(tables.values()))}
    prefix = f"{source}_" if given and len(path) > 1 else ""
    return {source if own is None else prefix + own: table for own, table in tables.items()}
