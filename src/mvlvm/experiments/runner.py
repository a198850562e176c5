"""Running cells in parallel worker processes; finished cells are stored as they complete.

`Runner` starts `python -m mvlvm.experiments.runner FOLDER` for every worker. A worker reads cells from its standard
input, one JSON line each, until the input is closed.
"""

import json
import os
import queue
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import mvlvm
from mvlvm.errors import ConvergenceWarning, ViewWarning
from mvlvm.experiments.cells import DONE, FAILED, NOT_INSTALLED, STOPPED, Cell, CellRecord, CellStore, versions
from mvlvm.records import choose_device, describe_machine

OnRecord = Callable[[CellRecord], None]
WORKER = "mvlvm.experiments.runner"
# Prefix of records on standard output, where other libraries may print as well.
MARK = "mvlvm cell: "
# Environment variables that limit the number of threads.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
# Time for a silent process to exit by itself, so that its exit code can be reported.
_EXIT_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Runner:
    """Runs cells within a budget of cores.

    Attributes:
        store: store of finished cells.
        n_processes: number of cells that run at the same time.
        n_threads: number of threads per process.
        limit_s: time limit of a cell in seconds.
    """

    store: CellStore
    n_processes: int = 1
    n_threads: int = 1
    limit_s: float = 3600.0

    def unfinished(self, cells: Sequence[Cell]) -> list[Cell]:
        """Return the cells that are not done, including those that failed."""
        finished = self.store.read()
        return [cell for cell in cells if cell not in finished or finished[cell].status != DONE]

    def run(self, cells: Sequence[Cell], on_record: OnRecord) -> None:
        """Run cells. A failure is recorded and does not stop the other cells.

        Args:
            cells: cells to run, in this order.
            on_record: called with every record.
        """
        pending: queue.SimpleQueue[Cell] = queue.SimpleQueue()
        for cell in cells:
            pending.put(cell)
        stop = threading.Event()
        threads = [_WorkerThread(self, pending, stop, on_record) for _ in range(min(self.n_processes, len(cells)))]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:  # leave no process behind, on KeyboardInterrupt as well
            stop.set()
            for thread in threads:
                thread.kill()
            raise
        for thread in threads:
            if thread.failure is not None:
                raise thread.failure


class _WorkerThread(threading.Thread):
    """Thread that feeds cells to one worker process, and replaces the process if it dies or times out."""

    def __init__(
        self, runner: Runner, pending: "queue.SimpleQueue[Cell]", stop: threading.Event, on_record: OnRecord
    ) -> None:
        super().__init__(daemon=True)
        self.runner, self.pending, self.stop, self.on_record = runner, pending, stop, on_record
        self.process: subprocess.Popen[str] | None = None
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                record = self._finish(self.pending.get_nowait())
                if record is not None:
                    self.runner.store.append(record)
                    self.on_record(record)
        except queue.Empty:
            pass
        except BaseException as failure:
            self.failure = failure
        finally:
            self._end()

    def kill(self) -> None:
        """Kill the process; the thread then ends by itself."""
        if self.process is not None:
            self.process.kill()

    def _end(self) -> int:
        """Release the process and return its exit code."""
        if self.process is None:
            return 0
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # the pipe of a dead process cannot be flushed
                assert pipe is not None
                pipe.close()
        code, self.process = self.process.wait(), None
        return code

    def _finish(self, cell: Cell) -> CellRecord | None:
        """Return the record of a cell, or None if the run was stopped in the meantime."""
        self.process = self.process or _start_worker(self.runner)
        process, late = self.process, threading.Event()
        alarm = threading.Timer(self.runner.limit_s, lambda: (late.set(), process.kill()))
        alarm.start()
        try:
            line = _send(process, cell)
        finally:
            alarm.cancel()
        if line is not None:
            return CellRecord.from_json(json.loads(line))
        if self.stop.is_set():
            return None
        with suppress(subprocess.TimeoutExpired):
            process.wait(_EXIT_TIMEOUT_S)
        code = self._end()
        if late.is_set():
            return self._failure_record(cell, STOPPED, f"stopped after {self.runner.limit_s:.0f} s")
        return self._failure_record(cell, FAILED, f"the worker process exited with code {code}")

    def _failure_record(self, cell: Cell, status: str, note: str) -> CellRecord:
        machine = describe_machine(choose_device("auto"))
        return CellRecord(cell=cell, status=status, seconds=0.0, machine=machine, versions=versions(), note=note)


def _start_worker(runner: Runner) -> "subprocess.Popen[str]":
    here = str(Path(mvlvm.__file__).parents[1])
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    threads = dict.fromkeys(_THREADS, str(runner.n_threads))
    return subprocess.Popen(
        [sys.executable, "-m", WORKER, str(runner.store.folder)], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, **threads, "PYTHONPATH": path},
    )  # fmt: skip


def _send(process: "subprocess.Popen[str]", cell: Cell) -> str | None:
    """Send a cell to a worker and return the line of its record; None if the worker died."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(cell.as_json()) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            if line.startswith(MARK):
                return line.removeprefix(MARK)
    except (BrokenPipeError, ValueError):
        pass
    return None


class Forecast:
    """Estimate of the remaining time from the cells that have finished.

    Args:
        cells: all cells to run.
        n_processes: number of cells that run at the same time.
    """

    def __init__(self, cells: Sequence[Cell], n_processes: int) -> None:
        self._left, self._n_processes = Counter((cell.experiment, cell.method) for cell in cells), n_processes
        self._seconds: dict[tuple[str, str], list[float]] = {}

    def update(self, record: CellRecord) -> None:
        """Take a finished cell into account."""
        kind = record.cell.experiment, record.cell.method
        self._left[kind] -= 1
        self._seconds.setdefault(kind, []).append(record.seconds)

    @property
    def seconds(self) -> float:
        """Remaining seconds.

        A cell is expected to take the mean time of the finished cells with the same experiment and method, or of all
        finished cells if there are none.
        """
        known = [s for seconds in self._seconds.values() for s in seconds]
        if not known:
            return float("inf")
        run_cell = sum(n * fmean(self._seconds.get(kind, known)) for kind, n in self._left.items())
        return run_cell / self._n_processes

    @property
    def description(self) -> str:
        """Remaining time as text."""
        minutes, seconds = divmod(round(self.seconds), 60)
        return f"{minutes} min" if minutes else f"{seconds} s"


def run_cell(cell: Cell, store: CellStore) -> CellRecord:
    """Run a cell, save its arrays and return its record; exceptions are part of the record."""
    from mvlvm.experiments.catalogue import get_experiment

    begin, status, numbers, note = time.perf_counter(), DONE, {}, ""
    try:
        with warnings.catch_warnings():
            # expected: fits with a fixed number of steps, and constant pixels
            for expected in (ConvergenceWarning, ViewWarning):
                warnings.simplefilter("ignore", expected)
            measured = get_experiment(cell.experiment).measure(cell)
        numbers = {name: float(value) for name, value in measured.numbers.items()}
        store.save_arrays(cell, measured.arrays)
    except ModuleNotFoundError as error:
        status, note = NOT_INSTALLED, str(error)
    except Exception as error:
        status, note = FAILED, f"{type(error).__name__}: {error}"
    seconds = round(time.perf_counter() - begin, 3)
    machine = describe_machine(choose_device("auto"))
    return CellRecord(
        cell=cell, status=status, seconds=seconds, machine=machine, versions=versions(), numbers=numbers, note=note
    )


def main(folder: Path) -> None:
    """Run the cells read from standard input, one after another."""
    store = CellStore(folder)
    for line in _lines():
        record = run_cell(Cell.from_json(json.loads(line)), store)
        print(f"\n{MARK}{json.dumps(record.as_json(), allow_nan=True)}", flush=True)


def _lines() -> Iterator[str]:
    """Yield input lines; exit as soon as the input is closed, because the parent process has ended."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield lines.get()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
