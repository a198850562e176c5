"""The `mvlvm data` commands: list, show and download data sets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mvlvm.cli.exit_handling import Output, fail, interruptible

if TYPE_CHECKING:
    from mvlvm.datasets import Dataset
    from mvlvm.datasets.cache import FileCache
    from mvlvm.datasets.dataset import DatasetEntry

app = typer.Typer(help="List, show and download data sets.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of a data set, see `mvlvm data list`.")]
DataHome = Annotated[
    Path | None,
    typer.Option(help="Folder to search first, before $MVLVM_DATA and the cache folder, and destination of downloads."),
]
Options = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="Option of the data set, with a JSON or text value. Repeatable."),
]


@app.command(name="list")
def list_sets(data_home: DataHome = None) -> None:
    """List all data sets and the availability of their files. Nothing is loaded or downloaded."""
    from mvlvm.cli import data_report
    from mvlvm.errors import DataFileError

    try:
        data_report.print_list(_cache(data_home))
    except DataFileError as error:
        fail(str(error))


@app.command()
def show(
    name: Name,
    data_home: DataHome = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for subsampling or simulation.")] = 0,
    option: Options = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Write an overview of missing entries to this file (.png, .svg or .pdf), and for image data a contact "
            "sheet to FILE-images."
        ),
    ] = None,
) -> None:
    """Show sizes, ranges, missing entries, classes, options, origin and licence. Downloads files that are not found."""
    from mvlvm.cli import data_report

    with interruptible(f"Interrupted before '{name}' was shown."):
        entry = _entry(name)
        options = data_report.parse_options(name, option or [])
        figure = None if plot is None else data_report.check_figure_path(plot)
        cache = _cache(data_home)
        data = _load(name, cache, seed, options)
        data_report.print_data(data, entry, cache.opened)
        if figure is not None:
            data_report.print_figures(data_report.write_figures(data, figure))


@app.command()
def fetch(name: Name, data_home: DataHome = None) -> None:
    """Download the files of a data set if they are not found, and print their paths."""
    from mvlvm.cli import data_report
    from mvlvm.errors import DataFileError

    with interruptible(f"Interrupted before '{name}' was fetched. Completely downloaded files are kept."):
        entry, cache = _entry(name), _cache(data_home)
        if not entry.files:
            data_report.print_line(f"'{name}' requires no files: it is built in or simulated on loading.")
        for file in entry.files:
            try:
                found = cache.locate(file)
                path = found or cache.find(file)
            except DataFileError as error:
                fail(str(error))
            except OSError as error:
                fail(_read_failure(error, file))
            data_report.print_line(f"{file} {'found' if found else 'downloaded'}: {path}")


@app.command()
def export(
    name: Name,
    out: Annotated[Path, typer.Option(help="Folder to write: a CSV file for every view, and labels.csv.")],
    new_rows: Annotated[
        int, typer.Option(min=0, help="Number of random rows to write into the subfolder `new` instead.")
    ] = 0,
    data_home: DataHome = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for subsampling, simulation and new rows.")] = 0,
    option: Options = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an export in the folder.")] = False,
) -> None:
    """Write a data set as CSV files, to try `mvlvm fit` and the other commands on."""
    from mvlvm.cli import data_export, data_report

    output = Output()
    with output.errors(f"Interrupted before '{name}' was exported. Nothing was written."):
        data_export.check_folder(out, force=force)
        _entry(name)
        data = _load(name, _cache(data_home), seed, data_report.parse_options(name, option or []))
        files = data_export.export(data, out, n_new=new_rows, seed=seed)
        output.note(f"Wrote {', '.join(files)} to {out}.")


def _entry(name: str) -> "DatasetEntry":
    from mvlvm.datasets.loader import find_entry

    try:
        return find_entry(name)
    except ValueError as error:
        fail(str(error))


def _cache(data_home: Path | None) -> "FileCache":
    from mvlvm.datasets.cache import FileCache
    from mvlvm.errors import DataFileError

    try:
        return FileCache.at(data_home)
    except DataFileError as error:
        fail(str(error))


def _load(name: str, cache: "FileCache", seed: int, options: dict[str, Any]) -> "Dataset":
    from mvlvm.datasets.loader import load_from
    from mvlvm.errors import DataFileError

    with_labels = options.pop("with_labels_as_view", False)
    try:
        return load_from(cache, name, options, random_state=seed, with_labels_as_view=with_labels)
    except (ValueError, DataFileError, ModuleNotFoundError) as error:
        fail(str(error))
    except (MemoryError, OverflowError) as error:
        fail(f"'{name}' does not fit into memory with these options: {error}. Request fewer samples or features.")
    except OSError as error:
        fail(_read_failure(error, name))


def _read_failure(error: OSError, what: str) -> str:
    return f"{error.filename or what} cannot be read: {error.strerror or error}. Check the file and its permissions."
