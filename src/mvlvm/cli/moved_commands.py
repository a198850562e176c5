"""Deprecated commands: measurements are in the folder `benchmarks` of a clone, and not part of the package."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from mvlvm.cli.exit_handling import fail

# Commands pass their arguments on, --help included.
FORWARDING = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
_CLONE = Path(__file__).parents[3]


def bench(context: typer.Context) -> None:
    """Moved to `python -m benchmarks bench`."""
    _forward("bench", ["bench", *context.args])


def reproduce(context: typer.Context) -> None:
    """Moved to `python -m benchmarks reproduce`."""
    _forward("reproduce", ["reproduce", *context.args])


def studies(context: typer.Context) -> None:
    """Moved to `python -m benchmarks`."""
    _forward("studies", context.args)


def _forward(name: str, arguments: Sequence[str]) -> None:
    """Run the command in a clone, and exit with its code; elsewhere, say where it is."""
    replacement = " ".join(["python -m benchmarks", *arguments[:1]])
    if not (_CLONE / "benchmarks" / "__main__.py").is_file():
        fail(f"`mvlvm {name}` is not part of the package any more. In a clone of its repository: {replacement}")
    typer.echo(f"mvlvm: `mvlvm {name}` has moved, and will be removed. Forwarding to: {replacement}", err=True)
    path = os.pathsep.join(filter(None, [str(_CLONE), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "benchmarks", *arguments]
    raise typer.Exit(subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False).returncode)
