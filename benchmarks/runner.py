"""Running the cells of studies in worker processes; every record is stored as soon as its cell ends.

Workers are those of pebble: a task that exceeds its time limit is killed with its process, and a process that dies does
not affect the others. A worker ends when its parent process ends, whatever the reason.
"""

import os
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from multiprocessing import get_context, parent_process
from statistics import fmean
from typing import Any

from pebble import ProcessExpired, ProcessFuture, ProcessPool

from benchmarks.cells import (
    DONE,
    FAILED,
    NOT_INSTALLED,
    SKIPPED,
    STOPPED,
    Cell,
    Measurement,
    Origin,
    Record,
    failed_record,
    finished_record,
)
from benchmarks.provenance import choose_device, current_code, describe_machine
from benchmarks.store import Store
from benchmarks.study import Study
from mvlvm.errors import ConvergenceWarning, ViewWarning
from mvlvm.time_limit import stop_after

MeasureCell = Callable[[Cell], Measurement]
OnRecord = Callable[[Record], None]
# Environment variables that limit the number of threads of numerical libraries.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
# A method is asked to stop at the limit. It is killed if it has not done so after this time.
_GRACE_SHARE, _GRACE_S = 0.5, 120.0


@dataclass(frozen=True)
class Runner:
    """Runs cells in worker processes.

    Attributes:
        n_processes: number of cells that run at the same time.
        fresh_process: whether every cell runs in a new process, as measurements of time and memory require.
        limit: time limit of a cell in seconds.
        n_threads: number of threads per process.
        grace: seconds after which a cell that does not stop at its limit is killed; None for half of the limit plus two
            minutes, in which a method may evaluate its unfinished fit.
    """

    n_processes: int = 1
    fresh_process: bool = False
    limit: float = 3600.0
    n_threads: int = 1
    grace: float | None = None

    def run(
        self, cells: Sequence[Cell], studies: Mapping[str, Study], store: Store, on_record: OnRecord, *,
        again: bool = False,
    ) -> None:  # fmt: skip
        """Run cells and store their records. A failure is recorded and does not stop the other cells.

        Args:
            cells: cells to run, in this order.
            studies: the studies of the cells by name; their `measure` is a module-level function.
            store: store of the records.
            on_record: called with every record after it has been stored.
            again: whether to run cells that have a finished record. Otherwise a cell that another run on the same store
                finishes in the meantime is not run.
        """
        started = datetime.now(UTC).isoformat(timespec="seconds")
        pending, running = list(reversed(cells)), dict[ProcessFuture, Cell]()
        current_code()  # the code of this run, before any change of the source

        def finish(record: Record) -> None:
            store.append(record)
            on_record(record)

        with self._environment():
            pool = self._pool()
            try:
                while pending or running:
                    while pending and len(running) < self.n_processes:
                        cell = pending.pop()
                        study, records = studies[cell.study], store.read(cell.study)
                        known = records.get(cell)
                        if known is not None and known.status == DONE and not again:
                            on_record(known)
                        elif reason := study.skip(cell, records) if study.skip else "":
                            finish(self._failure(cell, SKIPPED, reason, started))
                        else:
                            running[self._schedule(pool, study.measure, cell, started)] = cell
                    finished, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in finished:
                        finish(self._record(future, running.pop(future), started))  # pyright: ignore[reportArgumentType]
            finally:  # kills running cells, on KeyboardInterrupt for example: no process is left behind
                pool.stop()
                pool.join()

    def _pool(self) -> ProcessPool:
        return ProcessPool(
            max_workers=self.n_processes, max_tasks=int(self.fresh_process), context=get_context("spawn"),
            initializer=_initialize_worker,
        )  # fmt: skip

    def _schedule(self, pool: ProcessPool, measure: MeasureCell, cell: Cell, started: str) -> ProcessFuture:
        grace = _GRACE_SHARE * self.limit + _GRACE_S if self.grace is None else self.grace
        return pool.schedule(run_cell, args=(cell, measure, self.limit, started), timeout=self.limit + grace)

    def _record(self, future: ProcessFuture, cell: Cell, started: str) -> Record:
        try:
            return future.result()
        except TimeoutError:
            return self._failure(cell, STOPPED, f"killed: it did not stop at its limit of {self.limit:g} s", started)
        except ProcessExpired as error:
            return self._failure(cell, FAILED, f"its process ended with exit code {error.exitcode}", started)
        except Exception as error:  # the record could not be sent, for example
            return self._failure(cell, FAILED, f"{type(error).__name__}: {error}", started)

    def _failure(self, cell: Cell, status: str, note: str, started: str) -> Record:
        return failed_record(cell, status, note, _origin(cell, self.limit, started))

    @contextmanager
    def _environment(self) -> Iterator[None]:
        """Limit the threads of worker processes, which inherit the environment."""
        before = {name: os.environ.get(name) for name in _THREADS}
        os.environ.update(dict.fromkeys(_THREADS, str(self.n_threads)))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def unfinished(store: Store, cells: Sequence[Cell], limit: float = inf) -> list[Cell]:
    """Return the cells without a finished record.

    Args:
        store: store of the records.
        cells: cells to look up.
        limit: a cell that was stopped at this time limit or a later one has finished.
    """
    records: Mapping[str, Mapping[Cell, Record]] = {name: store.read(name) for name in {cell.study for cell in cells}}

    def is_finished(record: Record | None) -> bool:
        return record is not None and (record.status == DONE or (record.status == STOPPED and record.limit >= limit))

    return [cell for cell in cells if not is_finished(records[cell.study].get(cell))]


def run_cell(cell: Cell, measure: MeasureCell, limit: float, started: str = "") -> Record:
    """Measure a cell within a time limit; exceptions and non-finite values are part of the record.

    At the limit the running computation is interrupted as by Ctrl-C: a method that keeps its unfinished fit is
    evaluated, and the record is "stopped" with values; otherwise it is "stopped" without values.
    """
    begin, timer = time.perf_counter(), None
    try:
        with warnings.catch_warnings(), stop_after(limit) as timer:
            # expected: fits with a fixed number of steps, and constant pixels
            for expected in (ConvergenceWarning, ViewWarning):
                warnings.simplefilter("ignore", expected)
            measured = measure(cell)
        if timer.reached:
            measured = Measurement(measured.metrics, measured.arrays, stopped=True)
        return finished_record(cell, measured, _origin(cell, limit, started, begin))
    except KeyboardInterrupt:
        if timer is None or not timer.reached:
            raise
        return failed_record(cell, STOPPED, f"stopped after {limit:g} s", _origin(cell, limit, started, begin))
    except ModuleNotFoundError as error:
        return failed_record(cell, NOT_INSTALLED, str(error), _origin(cell, limit, started, begin))
    except Exception as error:
        note = f"{type(error).__name__}: {error}"
        return failed_record(cell, FAILED, note, _origin(cell, limit, started, begin))


def _origin(cell: Cell, limit: float, started: str, begin: float | None = None) -> Origin:
    """Return the origin of a record of this process, with the time since `begin`."""
    seconds = 0.0 if begin is None else round(time.perf_counter() - begin, 3)
    return Origin(seconds, describe_machine(choose_device(cell.device)), current_code(), started, limit)


def _initialize_worker() -> None:
    """Silence the libraries that methods use, and end this process together with its parent."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.__stdout__.fileno() if sys.__stdout__ else 1)
        os.dup2(nowhere.fileno(), sys.__stderr__.fileno() if sys.__stderr__ else 2)
    _die_with_parent()


def _die_with_parent() -> None:
    """Kill this process when its parent ends, even if the parent was killed or this process never yields."""
    parent = parent_process()
    if parent is None:
        return
    if sys.platform == "linux":
        import ctypes

        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)

    def wait_for_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait_for_parent, daemon=True).start()


class Forecast:
    """Estimate of the remaining time from the cells that have finished.

    Args:
        cells: all cells to run.
        n_processes: number of cells that run at the same time.
    """

    def __init__(self, cells: Sequence[Cell], n_processes: int) -> None:
        self._left, self._n_processes = Counter((cell.study, cell.method) for cell in cells), n_processes
        self._seconds: dict[Any, list[float]] = {}

    def update(self, record: Record) -> None:
        """Take a finished cell into account."""
        kind = record.cell.study, record.cell.method
        self._left[kind] -= 1
        self._seconds.setdefault(kind, []).append(record.seconds)

    @property
    def seconds(self) -> float:
        """Remaining seconds.

        A cell is expected to take the mean time of the finished cells with the same study and method, or of all
        finished cells if there are none.
        """
        known = [s for seconds in self._seconds.values() for s in seconds]
        if not known:
            return float("inf")
        return sum(n * fmean(self._seconds.get(kind, known)) for kind, n in self._left.items()) / self._n_processes

    @property
    def description(self) -> str:
        """Remaining time as text."""
        minutes, seconds = divmod(round(self.seconds), 60)
        return f"{minutes} min" if minutes else f"{seconds} s"
