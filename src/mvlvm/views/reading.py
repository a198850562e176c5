"""The user's own files become views."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mvlvm.checks import check_choice
from mvlvm.errors import ViewError
from mvlvm.views.formats import Tables, read_file, suffix_of
from mvlvm.views.joining import JOINS, join_rows


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
