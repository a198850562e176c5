"""Values that are computed on first use."""

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """A value that is computed on first use, once, however many threads ask for it.

    The function that computes it is then released, with all that it refers to. An exception or an interrupt leaves the
    value to be computed at the next use. Pickling and copying compute it first, so that the result is complete.

    Args:
        compute: returns the value from those of `needs`, in their order.
        needs: values that it depends on, computed before it.

    Example:
        >>> from mvlvm.lazy import Lazy
        >>> root = Lazy(lambda: 2 ** 0.5)
        >>> doubled = Lazy(lambda value: 2 * value, root)
        >>> doubled.is_computed, round(doubled.value, 3), root.is_computed
        (False, 2.828, True)
    """

    def __init__(self, compute: Callable[..., T], *needs: "Lazy[Any]") -> None:
        self._compute: Callable[..., T] | None = compute
        self._needs = needs
        self._value: Any = None
        self._lock = threading.Lock()
        self.seconds = 0.0

    @classmethod
    def known(cls, value: T) -> "Lazy[T]":
        """Return a value that needs no computation."""
        return cls._computed(value, 0.0)

    @classmethod
    def _computed(cls, value: T, seconds: float) -> "Lazy[T]":
        lazy = cls(lambda: value)
        lazy._value, lazy._compute, lazy.seconds = value, None, seconds
        return lazy

    @property
    def is_computed(self) -> bool:
        """Whether the value has been computed."""
        return self._compute is None

    @property
    def value(self) -> T:
        """The value, computed if this is its first use; `seconds` is the time that it took."""
        if self._compute is None:
            return self._value
        arguments = [need.value for need in self._needs]
        with self._lock:
            compute = self._compute
            if compute is not None:
                begin = time.perf_counter()
                self._value = compute(*arguments)
                self.seconds = time.perf_counter() - begin
                self._compute, self._needs = None, ()  # only now, so that an interrupt leaves the value to be computed
        return self._value

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._computed, (self.value, self.seconds)
