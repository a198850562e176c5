"""How commands fail: one sentence, exit code 2."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

BAD_INPUT = 2
INTERRUPTED = 130  # what a shell expects after Ctrl-C


def fail(sentence: str, *, code: int = BAD_INPUT) -> NoReturn:
    """End the program with a sentence on the error stream."""
    typer.echo(f"mvlvm: {sentence}", err=True)
    raise typer.Exit(code)


@contextmanager
def interruptible(sentence: str) -> Iterator[None]:
    """End with a sentence, and the exit code that a shell expects, when the user presses Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        fail(sentence, code=INTERRUPTED)
