"""Progress bars of long computations."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


@contextmanager
def progress_bar(total: int, title: str) -> Iterator[Callable[[int, float], None]]:
    """Show a progress bar with the step and the bound while the block runs."""
    with Progress(*_columns(), TextColumn("bound {task.fields[bound]:.4g}")) as bar:
        task = bar.add_task(title, total=total, bound=float("nan"))
        yield lambda step, bound: bar.update(task, completed=step, bound=bound)


@contextmanager
def row_bar(total: int, title: str) -> Iterator[Callable[[int], None]]:
    """Show a progress bar of rows or iterations while the block runs; the callback takes the number just completed."""
    with Progress(*_columns()) as bar:
        task = bar.add_task(title, total=total)
        yield lambda n_done: bar.advance(task, n_done)


def _columns() -> list[ProgressColumn]:
    return [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TimeRemainingColumn()]  # fmt: skip
