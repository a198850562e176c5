"""Options, tables and figures of the `mvlvm data` commands. Tables wrap, so that narrow terminals cut nothing off."""

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from mvlvm.cli.exit_handling import fail, need_matplotlib
from mvlvm.datasets import Dataset
from mvlvm.datasets import options as known_options
from mvlvm.datasets.cache import FileCache
from mvlvm.datasets.dataset import DatasetEntry
from mvlvm.datasets.loader import REGISTRY, find_entry
from mvlvm.datasets.sources import SOURCES
from mvlvm.datasets.summary import Summary, ViewSummary, summarise

# Parameters of `load` that are not options of a data set, and their command-line equivalents.
_RESERVED = {"name": "NAME", "data_home": "--data-home", "random_state": "--seed"}
_PYTHON_CONSTANTS = {"True": True, "False": False, "None": None}
_WITH_LABELS = "with_labels_as_view"
_VIEWS_WIDTH = 0.28  # fraction of the line width; the description needs the rest
_FIGURE_SUFFIXES = (".png", ".svg", ".pdf")


def parse_options(name: str, given: Sequence[str]) -> dict[str, Any]:
    """Parse KEY=VALUE options of a data set; values are parsed as JSON if possible, and kept as text otherwise.

    Option names and values are validated by `load`.

    Returns:
        Option name -> value.
    """
    flags = {_WITH_LABELS} | {key for key, default in known_options(name).items() if isinstance(default, bool)}
    parsed: dict[str, Any] = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not sign or not key:
            fail(f"--option must have the form KEY=VALUE, for example --option n_samples=100. Got {text!r}.")
        if key in _RESERVED:
            fail(f"--option cannot set {key!r}. Use {_RESERVED[key]} instead.")
        if key in parsed:
            fail(f"--option {key} was given twice. Specify it once.")
        parsed[key] = _parse_value(value)
        if key in flags and not isinstance(parsed[key], bool):
            fail(f"{key} must be true or false. Got {value!r}.")
    return parsed


def as_typed(value: Any) -> str:
    """Format a value as it would be typed on the command line."""
    return value if isinstance(value, str) and _parse_value(value) == value else json.dumps(value)


def option_descriptions(name: str) -> dict[str, str]:
    """Return option name -> description, from the docstring of the loader."""
    _, _, arguments = (inspect.getdoc(find_entry(name).loader) or "").partition("Args:\n")
    entries = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", arguments, flags=re.MULTILINE)
    return {key: " ".join(text.split()) for key, text in entries}


def _parse_value(text: str) -> Any:
    if text in _PYTHON_CONSTANTS:
        return _PYTHON_CONSTANTS[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


def print_list(cache: FileCache) -> None:
    """Print a table of all data sets."""
    console = _console()
    table = _table("name", "files", "views", "description")
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    table.columns[2].max_width = int(_VIEWS_WIDTH * console.width)
    for name, entry in REGISTRY.items():
        table.add_row(name, _availability(entry, cache), ", ".join(entry.views), _first_clause(entry.description))
    console.print(table)
    console.print(
        "built-in: distributed with an installed package. none: simulated on loading. local: found. remote: "
        "downloaded by `mvlvm data fetch NAME`, or on loading. manual: not downloaded automatically; `mvlvm data fetch "
        "NAME` explains how to obtain it. private: not published; `mvlvm data fetch NAME` lists alternatives."
    )


def print_data(data: Dataset, entry: DatasetEntry, files: Sequence[Path]) -> None:
    """Print the description and summary statistics of a data set, and the files that were read."""
    console, summary = _console(), summarise(data)
    console.print(data.name, style="bold")
    console.print(data.description)
    console.print(_views_table(data, summary))
    if summary.classes is not None:
        console.print("Classes:")
        console.print(Padding(Columns(_format_classes(summary), padding=(0, 3)), (0, 1, 1, 1)))
    if data.truth:
        console.print(f"Ground truth: {', '.join(data.truth)}\n")
    if known_options(data.name):
        console.print("Options (--option KEY=VALUE):")
        console.print(_options_table(data.name))
    console.print(f"Origin: {data.origin}")
    console.print(f"Licence: {data.licence}")
    console.print("Files:" if files else "Files: none required.")
    for path in files:
        print_line(f"  {path.name}: {path}")


def print_figures(figures: Mapping[str, Path]) -> None:
    """Print the titles and paths of the figures."""
    print_line("Figures:")
    for title, path in figures.items():
        print_line(f"  {title}: {path}")


def print_line(text: str) -> None:
    """Print a line without wrapping, since it may contain a path to copy."""
    _console().print(text, soft_wrap=True)


def _console() -> Console:
    """Return a console without markup and highlighting, so that brackets in descriptions are printed literally."""
    return Console(markup=False, highlight=False, emoji=False)


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _availability(entry: DatasetEntry, cache: FileCache) -> str:
    if not entry.files:
        return "none" if entry.simulated else "built-in"
    absent = [SOURCES.get(file) for file in entry.files if cache.locate(file) is None]
    if not absent:
        return "local"
    if any(source and not source.obtainable for source in absent):
        return "private"
    return "remote" if all(source and source.convert for source in absent) else "manual"


def _first_clause(description: str) -> str:
    """Return the first clause of a description, without parentheses."""
    text = re.sub(r" \([^)]*\)", "", description)
    return re.split(r"(?<! [A-Z])[.;:](?: |$)", text, maxsplit=1)[0]  # an initial does not end a clause


def _views_table(data: Dataset, summary: Summary) -> Table:
    table = _table("view", "size", "values", "range", "missing", *(["image"] if data.image_shapes else []))
    for view in summary.views:
        image = " x ".join(map(str, data.image_shapes.get(view.name, ())))
        size = f"{view.n_rows:,} x {view.n_columns:,}"
        values = f"{view.dtype}{', sparse' if view.sparse else ''}"
        cells = [view.name, size, values, _format_range(view), _format_missing(view)]
        table.add_row(*cells, *([image] if data.image_shapes else []))
    return table


def _options_table(name: str) -> Table:
    table = _table("key", "default", "description")
    descriptions = option_descriptions(name)
    for key, default in known_options(name).items():
        table.add_row(key, as_typed(default), descriptions.get(key, ""))
    return table


def _format_range(view: ViewSummary) -> str:
    if view.smallest is None or view.largest is None:
        return "all missing"
    return f"{_format_number(view.smallest)} to {_format_number(view.largest)}"


def _format_number(value: int | float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def _format_missing(view: ViewSummary) -> str:
    if not view.share_missing:
        return "none"
    share = "under 0.1 %" if view.share_missing < 0.0005 else f"{100 * view.share_missing:.1f} %"
    return f"{share}; {view.n_rows_missing:,} entire rows" if view.n_rows_missing else share


def _format_classes(summary: Summary) -> list[str]:
    counted = [f"{name}: {count:,}" for name, count in (summary.classes or {}).items()]
    return [*counted, f"unknown: {summary.n_unknown:,}"] if summary.n_unknown else counted


def check_figure_path(given: Path) -> Path:
    """Return the expanded path of a figure, after checking that it can be written; done before any data are loaded."""
    try:
        path = given.expanduser()
    except RuntimeError:
        fail(f"--plot must be the path of a file. Got {given}: this user does not exist.")
    if path.suffix.lower() not in _FIGURE_SUFFIXES:
        fail(f"--plot must be a file with the suffix {', '.join(_FIGURE_SUFFIXES)}. Got {path}.")
    need_matplotlib("--plot", "plots")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"--plot must be in a folder that can be created. Got {path}: {error.strerror}. Choose another path.")
    return path


def write_figures(data: Dataset, path: Path) -> dict[str, Path]:
    """Write the figures and return title -> path."""
    from mvlvm import plots

    figures = {"missing entries": (plots.plot_overview(data.views, title=data.name), path)}
    if data.image_shapes:
        sheet = plots.plot_contact_sheet(
            data.views, data.image_shapes, labels=data.labels, label_names=data.label_names, title=data.name
        )
        figures["images"] = (sheet, path.with_stem(f"{path.stem}-images"))
    try:
        return {title: plots.write(figure, destination) for title, (figure, destination) in figures.items()}
    except OSError as error:
        fail(f"--plot must be a file that can be written. Got {path}: {error.strerror}. Choose another path.")
