"""`mvlvm data`: list, show and fetch data sets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mvlvm.cli.failing import fail, interruptible

if TYPE_CHECKING:
    from mvlvm.datasets import Dataset
    from mvlvm.datasets.entry import Entry
    from mvlvm.datasets.store import FileStore

app = typer.Typer(help="List, show and fetch data sets.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of a data set, as `mvlvm data list` gives it.")]
DataHome = Annotated[
    Path | None,
    typer.Option(help="Folder to look into first, and to download to. Then come $MVLVM_DATA and the cache folder."),
]


@app.command(name="list")
def list_sets(data_home: DataHome = None) -> None:
    """Print all data sets, and whether their files are at hand. Loads and downloads nothing."""
    from mvlvm.cli import data_page
    from mvlvm.errors import DataFileError

    try:
        data_page.print_list(_store(data_home))
    except DataFileError as error:
        fail(str(error))


@app.command()
def show(
    name: Name,
    data_home: DataHome = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of what the data set draws.")] = 0,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An option of the data set, its value in JSON or text. Repeatable."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Write a figure of what is missing to this file (.png, .svg or .pdf), and for images a contact sheet "
            "beside it, FILE-images."
        ),
    ] = None,
) -> None:
    """Print sizes, ranges, what is missing, classes, options, origin and licence. Downloads files that are not here."""
    from mvlvm.cli import data_figures, data_options, data_page

    with interruptible(f"Stopped before '{name}' was shown."):
        entry = _entry(name)
        options = data_options.read(name, option or [])
        figure = None if plot is None else data_figures.prepare(plot)
        store = _store(data_home)
        data = _load(name, store, seed, options)
        data_page.print_data(data, entry, store.opened)
        if figure is not None:
            data_page.print_figures(data_figures.draw(data, figure))


@app.command()
def fetch(name: Name, data_home: DataHome = None) -> None:
    """Download the files of a data set, unless they are at hand, and print where they lie."""
    from mvlvm.cli import data_page
    from mvlvm.errors import DataFileError

    with interruptible(f"Stopped before '{name}' was fetched. What had arrived in whole is kept."):
        entry, store = _entry(name), _store(data_home)
        if not entry.files:
            data_page.print_line(f"'{name}' needs no files: it comes with the package or is made when it is loaded.")
        for file in entry.files:
            try:
                found = store.locate(file)
                path = found or store.find(file)
            except DataFileError as error:
                fail(str(error))
            except OSError as error:
                fail(_say(error, file))
            data_page.print_line(f"{file} {'is here' if found else 'was fetched'}: {path}")


def _entry(name: str) -> "Entry":
    from mvlvm.datasets.loading import find_entry

    try:
        return find_entry(name)
    except ValueError as error:
        fail(str(error))


def _store(data_home: Path | None) -> "FileStore":
    from mvlvm.datasets.store import FileStore
    from mvlvm.errors import DataFileError

    try:
        return FileStore.at(data_home)
    except DataFileError as error:
        fail(str(error))


def _load(name: str, store: "FileStore", seed: int, options: dict[str, Any]) -> "Dataset":
    from mvlvm.datasets.loading import load_from
    from mvlvm.errors import DataFileError

    with_labels = options.pop("with_labels_as_view", False)
    try:
        return load_from(store, name, options, random_state=seed, with_labels_as_view=with_labels)
    except (ValueError, DataFileError, ModuleNotFoundError) as error:
        fail(str(error))
    except (MemoryError, OverflowError) as error:
        fail(f"'{name}' does not fit into memory with these options: {error}. Ask for less.")
    except OSError as error:
        fail(_say(error, name))


def _say(error: OSError, what: str) -> str:
    return f"{error.filename or what} cannot be read: {error.strerror or error}. Check the file and its permissions."
