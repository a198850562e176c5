"""Limits on the memory that a file may request, checked before any of it is allocated.

A small file can declare, or decompress to, an array that is larger than the memory of the machine.
"""

import math
import os
from contextlib import suppress
from pathlib import Path

from mvlvm.checks import check_number
from mvlvm.errors import ViewError

# Reading a table needs up to three times its size, and the caller needs memory as well.
_DEFAULT_SHARE = 0.25
# Where the operating system does not report the memory of the machine.
_DEFAULT_BYTES = 2.0 * 2**30
_MEMORY_INFO = Path("/proc/meminfo")
_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


class SizeLimit:
    """A limit on the size of tables in memory, shared by all files of one call of `read`.

    Args:
        max_bytes: the limit in bytes; None for a quarter of the available memory.
    """

    def __init__(self, max_bytes: float | int | None = None) -> None:
        if max_bytes is None:
            share = _DEFAULT_SHARE * available_memory()
            self.n_bytes = share if math.isfinite(share) else _DEFAULT_BYTES
            self._origin = " (a quarter of the available memory)"
        else:
            self.n_bytes, self._origin = check_number(max_bytes, "max_bytes", positive=True), ""
        self.remaining = self.n_bytes

    def check(self, source: object, n_bytes: float | int, *, whole: bool = True) -> None:
        """Check that data of a given size are within the limit.

        Args:
            source: the file, or the array in a file, for the message.
            n_bytes: the size that it declares.
            whole: whether this is the size of all its data, rather than of what was read so far.

        Raises:
            ViewError: they are not.
        """
        if n_bytes > self.remaining:
            used = self.n_bytes - self.remaining
            before = f" of which {size_text(used)} are used by what was read before," if used else ""
            declared = f"declares {size_text(n_bytes)}" if whole else f"holds at least {size_text(n_bytes)}"
            enough = f"max_bytes={math.ceil(n_bytes + used)} or more" if whole else "a larger max_bytes"
            raise ViewError(
                f"{source} {declared} of data in memory, and the limit is {size_text(self.n_bytes)}{self._origin},"
                f"{before} so it was not read; if the file can be trusted, raise the limit with {enough}."
            )

    def reserve(self, source: object, n_bytes: float | int) -> None:
        """Check that data of a given size are within the limit, and count them."""
        self.check(source, n_bytes)
        self.remaining -= n_bytes


def available_memory() -> float:
    """Return the memory in bytes that can be allocated without swapping, infinity if it is unknown."""
    found = []
    with suppress(OSError, ValueError, IndexError):
        line = next(line for line in _MEMORY_INFO.read_text().splitlines() if line.startswith("MemAvailable:"))
        found.append(1024.0 * float(line.split()[1]))
    with suppress(OSError, ValueError):  # "max" if the container has no limit
        found.append(float(_CONTAINER_LIMIT.read_text()))
    return min(found) if found else physical_memory()


def physical_memory() -> float:
    """Return the physical memory in bytes, infinity if the operating system does not report it."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def size_text(n_bytes: float | int) -> str:
    """Return a size in bytes as text with a unit.

    Example:
        >>> size_text(300), size_text(5 * 2**30), size_text(8 * 2**40)
        ('300 bytes', '5.0 GiB', '8.0 TiB')
    """
    if n_bytes < 1024:
        return f"{n_bytes:.0f} bytes"
    power = min(int(math.log(n_bytes, 1024)), len(_UNITS) - 1)
    return f"{n_bytes / 1024**power:,.1f} {_UNITS[power]}"
