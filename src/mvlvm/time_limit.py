"""A time limit for fits of any method."""

import signal
import sys
import threading
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NoReturn

# Not SIGINT where there is a choice: Ctrl-C keeps its own meaning.
_SIGNAL = getattr(signal, "SIGALRM", signal.SIGINT)
# Delay before an interrupt that Python has ignored is repeated.
_RETRY_S = 0.01


@dataclass(eq=False)
class TimeLimit:
    """A time limit; `reached` is True once it has interrupted the block."""

    seconds: float | int
    reached: bool = False


# Limits of the blocks that contain the current call, as in the decimal contexts of the standard library.
_LIMITS: ContextVar[tuple[TimeLimit, ...]] = ContextVar("limits", default=())


def is_limit_reached() -> bool:
    """Return whether a `stop_after` block that contains the call has been interrupted.

    A method that keeps its unfinished fit ends normally; this tells the fit from a complete one.
    """
    return any(limit.reached for limit in _LIMITS.get())


def _interrupt_main_thread() -> None:
    kill_thread = getattr(signal, "pthread_kill", None)
    if kill_thread is None:
        interrupt_main(_SIGNAL)
    else:  # also ends blocking calls such as sleep
        kill_thread(threading.main_thread().ident or 0, _SIGNAL)


def _start_timer(seconds: float | int, function: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(seconds, function)
    timer.daemon = True
    timer.start()
    return timer


@contextmanager
def stop_after(seconds: float | int) -> Iterator[TimeLimit]:
    """Interrupt the block after a number of seconds, as Ctrl-C would.

    A method that keeps its unfinished fit on Ctrl-C (NGMVLVM, the PyTorch baselines and those of GPy) ends its fit, and
    the block continues; any other computation raises KeyboardInterrupt. Only the main thread can be interrupted, and it
    notices at the next bytecode: a single long call into a compiled library ends first.

    Args:
        seconds: time limit.

    Yields:
        The limit, whose `reached` says whether it interrupted the block.

    Example:
        >>> from mvlvm import baselines
        >>> with baselines.stop_after(60) as limit:
        ...     latents = baselines.get("PCA")(1).fit_transform([[1.0, 2.0], [2.0, 0.0], [4.0, 1.0]])
        >>> limit.reached
        False

    Raises:
        ValueError: it is not called from the main thread.
    """
    limit, is_over, lock = TimeLimit(seconds), False, threading.Lock()

    def interrupt() -> None:
        with lock:
            if not is_over:
                limit.reached = True
                _interrupt_main_thread()

    def raise_interrupt(*_: Any) -> NoReturn:
        raise KeyboardInterrupt

    def try_again(ignored: Any) -> None:
        # Python ignores exceptions in finalisers and weak reference callbacks, which may run when the signal arrives
        if limit.reached and ignored.exc_type is KeyboardInterrupt:
            _start_timer(_RETRY_S, interrupt)
        else:
            hook(ignored)

    if threading.current_thread() is not threading.main_thread():
        raise ValueError("stop_after interrupts the main thread and must be called from it. Run the fit there.")
    handler, hook = signal.signal(_SIGNAL, raise_interrupt), sys.unraisablehook
    sys.unraisablehook = try_again
    timer, token = _start_timer(seconds, interrupt), _LIMITS.set((*_LIMITS.get(), limit))
    try:
        yield limit
    finally:
        try:
            timer.cancel()
            with lock:
                is_over = True
        finally:  # the limit may be reached at this very moment
            _LIMITS.reset(token)
            signal.signal(_SIGNAL, handler)
            sys.unraisablehook = hook
