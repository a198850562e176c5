"""Error exits of the commands: a one-line message on stderr and an exit code."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import NoReturn

import typer

BAD_INPUT = 2
INTERRUPTED = 130  # shell convention for termination by Ctrl-C


def fail(message: str, *, code: int = BAD_INPUT) -> NoReturn:
    """Print a message on stderr and exit."""
    typer.echo(f"mvlvm: {message}", err=True)
    raise typer.Exit(code)


def need_matplotlib(what: str, extra: str) -> None:
    """Exit with a message if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        fail(f'{what} draws figures and requires matplotlib. Install it with: pip install "mvlvm[{extra}]"')


@contextmanager
def interruptible(message: str) -> Iterator[None]:
    """Exit with a message and the conventional exit code if the user presses Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        fail(message, code=INTERRUPTED)
