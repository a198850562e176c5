"""Ctrl-C during a fit: it ends the training after the current step, and nothing is left half done."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupts:
    """While the block runs, Ctrl-C can be deferred: it then requests a stop instead of raising KeyboardInterrupt.

    An exception may be raised between any two bytecodes, for example after a parameter was updated and before the
    history was. So from the first training step on, Ctrl-C only sets `requested`, which the training loop checks after
    every step. A second Ctrl-C raises KeyboardInterrupt at once.

    Outside the main thread, and where a program handles SIGINT itself, nothing is changed.

    Attributes:
        requested: whether Ctrl-C was pressed since `defer` was called.
    """

    def __init__(self) -> None:
        self.requested = False
        self._deferred = self._installed = False

    def __enter__(self) -> "Interrupts":
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._installed = True
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def defer(self) -> None:
        """Defer interrupts from now on."""
        self._deferred = True

    def raise_if_requested(self, *_: Any) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was pressed; to be called from time to time by long computations."""
        if self.requested:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested or not self._deferred:
            raise KeyboardInterrupt
        self.requested = True
