"""The input files of commands: views and labels, as options of the command line or of a TOML file."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mvlvm.cli.exit_handling import UsageError

if TYPE_CHECKING:
    import pandas as pd

_PANEL = "Input"
_JOINS = ("outer", "inner")

ViewFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--view",
        metavar="[NAME=]FILE",
        help="File of a view, or of several: .csv, .tsv, .parquet, .npy, .npz, .h5ad, .h5mu. Repeatable.",
        rich_help_panel=_PANEL,
    ),
]
Join = Annotated[
    str,
    typer.Option(
        help="Rows of several files, matched by name: outer keeps all, with missing views; inner those of all views.",
        metavar="outer|inner",
        rich_help_panel=_PANEL,
    ),
]
RowNames = Annotated[
    str, typer.Option(help="Column of row names; none if there is none.", metavar="COLUMN", rich_help_panel=_PANEL)
]
Layer = Annotated[
    str | None, typer.Option(help="Layer of H5AD and H5MU files to read instead of X.", rich_help_panel=_PANEL)
]


@dataclass(frozen=True)
class Inputs:
    """The files of a command.

    Attributes:
        views: name of the view and file; the name is empty if the file gives it.
        labels: file, and name of the column; empty if the file has only one.
        join: how rows are joined.
        row_names: the column of row names, "auto" or "none".
        layer: of H5AD and H5MU files; None for X.
    """

    views: Sequence[tuple[str, Path]]
    labels: tuple[Path, str] | None = None
    join: str = _JOINS[0]
    row_names: str = "auto"
    layer: str | None = None

    @property
    def files(self) -> list[Path]:
        """All files."""
        return [path for _, path in self.views] + ([] if self.labels is None else [self.labels[0]])

    def check(self) -> None:
        """Check what can be checked without reading.

        Raises:
            UsageError: there is no view, a file does not exist, or an option has another value than those allowed.
        """
        if not self.views:
            raise UsageError("At least one view is needed. Give its file: --view rna=rna.csv")
        if self.join not in _JOINS:
            raise UsageError(f"--join must be outer or inner. Got {self.join!r}.")
        for path in self.files:
            if not path.is_file():
                what = "is a folder, and must be a file" if path.is_dir() else "does not exist"
                raise UsageError(f"{path} {what}. Check its name; the current folder is {Path.cwd()}.")

    def read(self) -> "dict[str, pd.DataFrame]":
        """Read the views and join their rows.

        Raises:
            ViewError: a file cannot be read, or rows cannot be joined.
        """
        from mvlvm.io import read

        named = [name for name, _ in self.views if name]
        repeated = next((name for name in named if named.count(name) > 1), None)
        if repeated is not None:
            raise UsageError(f"--view {repeated}=... was given twice. Give every view another name.")
        files: Any = [path for _, path in self.views]
        if named:
            files = {name or path.name.partition(".")[0]: path for name, path in self.views}
        return read(files, join=self.join, row_names=self._row_names, layer=self.layer)

    def read_labels(self, index: "pd.Index") -> "pd.Series | None":
        """Read the labels of rows; None if no file was given.

        Args:
            index: the row names of the views, or row numbers.
        """
        from mvlvm.errors import ViewError
        from mvlvm.io import read_labels

        if self.labels is None:
            return None
        path, column = self.labels
        labels = read_labels(path, column or None, row_names=self._row_names)
        if labels.index.dtype == index.dtype == "int64":
            if len(labels) != len(index):
                raise ViewError(
                    f"The labels in {path} must have one entry per row. Got {len(labels)} for {len(index)} rows. Add a "
                    "column of row names to all files, or a label for every row."
                )
        elif labels.index.has_duplicates or not index.isin(labels.index).any():
            problem = "some row names twice" if labels.index.has_duplicates else "no row name of the views"
            raise ViewError(f"The labels in {path} have {problem}. Use the row names of the views, each once.")
        return labels.reindex(index)

    @property
    def _row_names(self) -> str | None:
        return None if self.row_names == "none" else self.row_names

    def to_toml(self, folder: Path) -> dict[str, Any]:
        """Return the files, relative to a folder, with their digests and options."""
        paths = {path: relative_path(path, folder) for path in self.files}
        views = [f"{name}={paths[path]}" if name else paths[path] for name, path in self.views]
        table: dict[str, Any] = {"views": views}
        if self.labels is not None:
            path, column = self.labels
            table["labels"] = f"{paths[path]}:{column}" if column else paths[path]
        table |= {"join": self.join, "row_names": self.row_names}
        if self.layer is not None:
            table["layer"] = self.layer
        return table | {"digests": {name: file_digest(path) for path, name in paths.items()}}


def parse_view(text: str, folder: Path | None = None) -> tuple[str, Path]:
    """Split NAME=FILE; the name is empty if the text is that of a file.

    Args:
        text: of the option.
        folder: that relative paths refer to; None for the current folder.
    """
    name, sign, file = text.partition("=")
    if not sign or _at(text, folder).exists() or os.sep in name:
        name, file = "", text
    if not file or (sign and not name and file != text):
        raise UsageError(f"--view must have the form NAME=FILE. Got {text!r}.")
    return name, _at(file, folder)


def parse_labels(text: str, folder: Path | None = None) -> tuple[Path, str]:
    """Split FILE:COLUMN; the column is empty if the text is that of a file."""
    file, sign, column = text.rpartition(":")
    if not sign or _at(text, folder).exists():
        file, column = text, ""
    return _at(file, folder), column


def inputs_from_toml(table: Mapping[str, Any], folder: Path) -> Inputs:
    """Return the inputs of a TOML file, after comparing their digests, if it has some."""
    views, labels = [parse_view(text, folder) for text in table.get("views", [])], table.get("labels")
    inputs = Inputs(
        views,
        None if labels is None else parse_labels(labels, folder),
        table.get("join", _JOINS[0]),
        table.get("row_names", "auto"),
        table.get("layer"),
    )
    for name, digest in table.get("digests", {}).items():
        path = _at(name, folder)
        if path in inputs.files and path.is_file() and file_digest(path) != digest:
            raise UsageError(
                f"{path} has changed since the fit that the configuration describes. Restore the file, or delete its "
                "line under [input.digests] to use the new content."
            )
    return inputs


def file_digest(path: Path) -> str:
    """Return the SHA-256 digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def relative_path(path: Path, folder: Path) -> str:
    """Return a path relative to a folder, or the absolute path where that is not possible."""
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # on another drive
        return path.resolve().as_posix()


def _at(file: str, folder: Path | None) -> Path:
    path = Path(file).expanduser()
    return path if folder is None else Path(os.path.normpath(folder / path))
