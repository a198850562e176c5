"""Showing how far a long computation is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Watch = Callable[[int, float], None]


def silent(step: int, bound: float) -> None:
    """Show nothing."""


@contextmanager
def progress_bar(total: int, title: str) -> Iterator[Watch]:
    """Show a bar with the step and the bound while the block runs."""
    columns = [
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TimeRemainingColumn(), TextColumn("bound {task.fields[bound]:.4g}"),
    ]  # fmt: skip
    with Progress(*columns) as bar:
        task = bar.add_task(title, total=total, bound=float("nan"))
        yield lambda step, bound: bar.update(task, completed=step, bound=bound)
