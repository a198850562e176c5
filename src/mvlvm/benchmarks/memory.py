"""The most memory that a piece of work takes, beyond what was there before."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import torch

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_KILOBYTE = 1024
_FORGET_THE_PEAK = "5"


@dataclass
class Peak:
    """What `peak_memory` has found, in bytes; zero until its block has ended."""

    n_bytes: int = 0


@contextmanager
def peak_memory(device: str) -> Iterator[Peak]:
    """Measure the block's peak: of the process in main memory, or of torch's tensors on a GPU.

    What is in memory when the block begins, such as the data, does not count. For a true number the process should be
    a fresh one: what was freed before may be used again without showing.
    """
    peak = Peak()
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        yield peak
        peak.n_bytes = torch.cuda.max_memory_allocated() - before
        return
    with suppress(OSError):  # where the system does not forget, the highest ever is what there is
        _CLEAR.write_text(_FORGET_THE_PEAK)
    before = _now()
    yield peak
    peak.n_bytes = max(0, _highest() - before)


def _now() -> int:
    """Give the memory in use."""
    return _status("VmRSS") if _STATUS.exists() else _highest()


def _highest() -> int:
    """Give the most memory that was in use since the last reset."""
    if _STATUS.exists():
        return _status("VmHWM")
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * _KILOBYTE


def _status(field: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * _KILOBYTE
