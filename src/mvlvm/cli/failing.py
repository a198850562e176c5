"""How commands fail: one sentence, exit code 2."""

from typing import NoReturn

import typer

_BAD_INPUT = 2


def fail(sentence: str) -> NoReturn:
    """End the program with a sentence on the error stream."""
    typer.echo(f"mvlvm: {sentence}", err=True)
    raise typer.Exit(_BAD_INPUT)
