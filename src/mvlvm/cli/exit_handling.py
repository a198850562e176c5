"""How commands report results, progress and errors, and their exit codes."""

import contextlib
import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, TextIO

import typer

FAILED = 1  # the data or the computation
BAD_INPUT = 2  # the command line
INTERRUPTED = 130  # shell convention for termination by Ctrl-C


class UsageError(Exception):
    """A command line that cannot be carried out, such as one with an unknown view or an output that exists."""


@dataclass(frozen=True)
class Output:
    """How a command reports.

    Attributes:
        quiet: whether to hide progress and notes.
        as_json: whether to print one JSON object on stdout; everything else goes to stderr.
        debug: whether to show the traceback of an error.
        stdout: the stream for the JSON object.
    """

    quiet: bool = False
    as_json: bool = False
    debug: bool = False
    stdout: TextIO = field(default_factory=lambda: sys.stdout)

    def note(self, text: str) -> None:
        """Print a note on stderr, unless quiet."""
        if not self.quiet:
            typer.echo(text, err=True)

    def result(self, values: Mapping[str, Any]) -> None:
        """Print the result as a JSON object on stdout, if requested; values that JSON cannot represent are null."""
        if self.as_json:
            typer.echo(json.dumps(_finite(values)), file=self.stdout)

    @contextmanager
    def errors(self, interrupted: str) -> Iterator[None]:
        """Report any error as one sentence on stderr and exit; print warnings in the same form.

        Args:
            interrupted: the message after Ctrl-C.
        """
        try:
            # the library prints to stdout, which belongs to the result
            with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
                warnings.showwarning = _show_warning
                warnings.simplefilter("default")
                for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
                    warnings.simplefilter("ignore", category)
                yield
        except (KeyboardInterrupt, UsageError) as error:
            by_user = isinstance(error, KeyboardInterrupt)
            self._fail(error, interrupted if by_user else str(error), INTERRUPTED if by_user else BAD_INPUT)
        except (typer.Exit, typer.Abort):
            raise
        except MemoryError as error:
            self._fail(error, f"There is not enough memory ({error}). Select fewer rows or columns.", FAILED)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            self._fail(error, f"{where}{error.strerror or error}", FAILED)
        except Exception as error:
            known = isinstance(error, ValueError | ArithmeticError | ModuleNotFoundError | RuntimeError)
            advice = "" if known else " This is an error of mvlvm: please report it with the output of --debug."
            self._fail(error, (str(error) if known else repr(error)) + advice, FAILED)

    def _fail(self, error: BaseException, message: str, code: int) -> NoReturn:
        if self.debug:
            traceback.print_exception(error)
        self.result({"error": message, "exit_code": code})
        fail(message, code=code)


def fail(message: str, *, code: int = BAD_INPUT) -> NoReturn:
    """Print a message on stderr and exit."""
    typer.echo(f"mvlvm: {message}", err=True)
    raise typer.Exit(code)


def need_matplotlib(what: str, extra: str) -> None:
    """Exit with a message if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        fail(f'{what} draws figures and requires matplotlib. Install it with: pip install "mvlvm[{extra}]"')


def check_folder(option: str, folder: Path) -> None:
    """Exit with a message if a folder does not exist and cannot be created; creates nothing."""
    nearest = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not nearest.is_dir():
        fail(
            f"{option} must be a folder that can be created. Got {folder}: {nearest} is a file. Choose another folder."
        )
    if not os.access(nearest, os.W_OK):
        fail(f"{option} must be a folder that can be created. Got {folder}: permission denied. Choose another folder.")


@contextmanager
def interruptible(message: str) -> Iterator[None]:
    """Exit with a message and the conventional exit code if the user presses Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        fail(message, code=INTERRUPTED)


def _show_warning(message: Warning | str, *details: Any) -> None:
    typer.echo(f"mvlvm: warning: {message}", err=True)


def _finite(value: Any) -> Any:
    """Replace numbers that JSON does not have, NaN and infinity, by None."""
    if isinstance(value, Mapping):
        return {str(name): _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value
