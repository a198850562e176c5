"""What `mvlvm data` prints: tables that fold, so that nothing is cut off in a narrow window or a file."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from mvlvm.cli import data_options
from mvlvm.datasets import Dataset
from mvlvm.datasets import options as known_options
from mvlvm.datasets.entry import Entry
from mvlvm.datasets.registry import REGISTRY
from mvlvm.datasets.sources import SOURCES
from mvlvm.datasets.store import FileStore
from mvlvm.datasets.summary import Summary, ViewSummary, summarise

_SHARE_OF_VIEWS = 0.28  # of a line; the description needs the rest


def print_list(store: FileStore) -> None:
    """Print a line for every data set."""
    console = _console()
    table = _table("name", "files", "views", "what it is")
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    table.columns[2].max_width = int(_SHARE_OF_VIEWS * console.width)
    for name, entry in REGISTRY.items():
        table.add_row(name, _state(entry, store), ", ".join(entry.views), _in_short(entry.description))
    console.print(table)
    console.print(
        "embedded: comes with what is installed. made: simulated when loaded. here: at hand. to fetch: downloaded by "
        "`mvlvm data fetch NAME`, or when loaded. by hand: `mvlvm data fetch NAME` says where to get it and where "
        "to put it. private: published nowhere; `mvlvm data fetch NAME` says what there is instead."
    )


def print_data(data: Dataset, entry: Entry, files: Sequence[Path]) -> None:
    """Print what is known of a data set, and the files that it was read from."""
    console, summary = _console(), summarise(data)
    console.print(data.name, style="bold")
    console.print(data.description)
    console.print(_views_table(data, summary))
    if summary.classes is not None:
        console.print("Classes:")
        console.print(Padding(Columns(_say_classes(summary), padding=(0, 3)), (0, 1, 1, 1)))
    if data.truth:
        console.print(f"Known truth: {', '.join(data.truth)}\n")
    if known_options(data.name):
        console.print("Options, to be given as --option KEY=VALUE:")
        console.print(_options_table(data.name))
    console.print(f"Origin: {data.origin}")
    console.print(f"Licence: {data.licence}")
    console.print("Files:" if files else "Files: none needed.")
    for path in files:
        print_line(f"  {path.name}: {path}")


def print_figures(figures: Mapping[str, Path]) -> None:
    """Print what was drawn and where it lies."""
    print_line("Figures:")
    for title, path in figures.items():
        print_line(f"  {title}: {path}")


def print_line(text: str) -> None:
    """Print a line that is never broken, since it may hold a path to copy."""
    _console().print(text, soft_wrap=True)


def _console() -> Console:
    """Print words as they are: a bracket in a description is no markup, a number needs no colour."""
    return Console(markup=False, highlight=False, emoji=False)


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _state(entry: Entry, store: FileStore) -> str:
    if not entry.files:
        return "made" if entry.simulated else "embedded"
    absent = [SOURCES.get(file) for file in entry.files if store.locate(file) is None]
    if not absent:
        return "here"
    if any(source and not source.obtainable for source in absent):
        return "private"
    return "to fetch" if all(source and source.convert for source in absent) else "by hand"


def _in_short(description: str) -> str:
    """Give what comes before the first stop, without what is in parentheses."""
    text = re.sub(r" \([^)]*\)", "", description)
    return re.split(r"(?<! [A-Z])[.;:](?: |$)", text, maxsplit=1)[0]  # not after an initial


def _views_table(data: Dataset, summary: Summary) -> Table:
    table = _table("view", "size", "values", "range", "missing", *(["image"] if data.image_shapes else []))
    for view in summary.views:
        image = " x ".join(map(str, data.image_shapes.get(view.name, ())))
        size = f"{view.n_rows:,} x {view.n_columns:,}"
        values = f"{view.dtype}{', sparse' if view.sparse else ''}"
        cells = [view.name, size, values, _say_range(view), _say_missing(view)]
        table.add_row(*cells, *([image] if data.image_shapes else []))
    return table


def _options_table(name: str) -> Table:
    table = _table("key", "default", "meaning")
    meanings = data_options.meanings(name)
    for key, default in known_options(name).items():
        table.add_row(key, data_options.as_typed(default), meanings.get(key, ""))
    return table


def _say_range(view: ViewSummary) -> str:
    if view.smallest is None or view.largest is None:
        return "all missing"
    return f"{_say_number(view.smallest)} to {_say_number(view.largest)}"


def _say_number(value: int | float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def _say_missing(view: ViewSummary) -> str:
    if not view.share_missing:
        return "none"
    share = "under 0.1 %" if view.share_missing < 0.0005 else f"{100 * view.share_missing:.1f} %"
    return f"{share}; {view.n_rows_missing:,} whole rows" if view.n_rows_missing else share


def _say_classes(summary: Summary) -> list[str]:
    counted = [f"{name}: {count:,}" for name, count in (summary.classes or {}).items()]
    return [*counted, f"unknown: {summary.n_unknown:,}"] if summary.n_unknown else counted
