"""Showing how far a download is."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn


@contextmanager
def download_bars() -> Iterator[Progress]:
    """Show bars with sizes and speeds while the block runs, on the error stream: what is printed may go into a file."""
    columns = [
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(),
    ]  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bars:
        yield bars


class DownloadBar:
    """One of the bars, with the four names that pooch expects of a progress bar."""

    def __init__(self, bars: Progress, title: str) -> None:
        self._bars = bars
        self._task = bars.add_task(title, total=None)

    @property
    def total(self) -> int | float | None:
        """The size of the file in bytes, None where the server did not say; setting it starts the bar anew."""
        return self._bars.tasks[self._task].total

    @total.setter
    def total(self, size: int) -> None:
        self._bars.reset(self._task, total=size or None)

    def update(self, size: int) -> None:
        """Count `size` more bytes."""
        self._bars.update(self._task, advance=size)

    def reset(self) -> None:
        """Count from zero again."""
        self._bars.update(self._task, completed=0)

    def close(self) -> None:
        """Stop the clock."""
        self._bars.stop_task(self._task)
