"""Where a record comes from: the machine, the device and the code."""

import os
import platform
import subprocess
from functools import cache
from pathlib import Path

import mvlvm
from benchmarks.cells import Code

PACKAGE = Path(mvlvm.__file__).parent
_CPU_INFO = Path("/proc/cpuinfo")


def choose_device(asked: str) -> str:
    """Return "cpu" or "cuda" for a requested device.

    Raises:
        ValueError: the name is unknown, or no GPU is available.
    """
    import torch  # takes a second, which workers that need only the commit do not wait for

    if asked not in ("auto", "cpu", "cuda"):
        raise ValueError(f"The device must be 'auto', 'cpu' or 'cuda'. Got {asked!r}.")
    if asked == "cuda" and not torch.cuda.is_available():
        raise ValueError("The device 'cuda' needs a GPU that torch can use, but none was found. Use 'cpu' or 'auto'.")
    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return asked


def describe_machine(device: str) -> str:
    """Return the name of the GPU, or of the CPU with the number of cores in use, and the versions of torch and Python.

    Args:
        device: "cpu" or "cuda".
    """
    import torch

    versions = f"torch {torch.__version__.split('+')[0]}, Python {platform.python_version()}"
    if device == "cuda":
        return f"{torch.cuda.get_device_name(0)}, {versions}"
    threads, cores = torch.get_num_threads(), os.cpu_count() or 1
    used = f"{cores} cores" if threads == cores else f"{threads} of {cores} cores"
    return f"{_processor()}, {used}, {versions}"


def wait_for(device: str) -> None:
    """Wait until a GPU has finished all queued work."""
    if device == "cuda":
        import torch

        torch.cuda.synchronize()


def repository() -> Path | None:
    """Return the root of the git repository that tracks the source of the package, or None."""
    try:
        root = git(PACKAGE, "rev-parse", "--show-toplevel")
        git(PACKAGE, "ls-files", "--error-unmatch", "__init__.py")
    except (OSError, subprocess.CalledProcessError):
        return None
    return Path(root)


def current_code() -> Code:
    """Return the commit of the package, with a mark if its source has changes; outside a repository, its version.

    The result is that of the first call: changes of the source during a run do not affect modules already imported.
    """
    return _current_code()


@cache
def _current_code() -> Code:
    if repository() is None:
        return Code(mvlvm.__version__)
    changes = git(PACKAGE, "status", "--porcelain", "--", ".")
    return Code(git(PACKAGE, "rev-parse", "HEAD"), dirty=bool(changes))


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return its output."""
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _processor() -> str:
    """Return the model name of the CPU if available, else its architecture."""
    if _CPU_INFO.exists():
        for line in _CPU_INFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
