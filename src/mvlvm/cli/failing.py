"""How commands fail: one sentence, exit code 2."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import NoReturn

import typer

BAD_INPUT = 2
INTERRUPTED = 130  # what a shell expects after Ctrl-C


def fail(sentence: str, *, code: int = BAD_INPUT) -> NoReturn:
    """End the program with a sentence on the error stream."""
    typer.echo(f"mvlvm: {sentence}", err=True)
    raise typer.Exit(code)


def need_matplotlib(what: str, extra: str) -> None:
    """End with a sentence where figures cannot be drawn."""
    if find_spec("matplotlib") is None:
        fail(f'{what} draws figures and needs matplotlib. Install it with: pip install "mvlvm[{extra}]"')


@contextmanager
def interruptible(sentence: str) -> Iterator[None]:
    """End with a sentence, and the exit code that a shell expects, when the user presses Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        fail(sentence, code=INTERRUPTED)
