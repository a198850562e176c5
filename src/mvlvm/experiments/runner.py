"""Running cells in parallel processes, keeping what has finished.

A process that runs cells, a JSON line of its input each, for as long as the input is open.

`python -m mvlvm.experiments.runner FOLDER` is started by `runner.py`.
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

Say = Callable[[CellRecord], None]
WORKER = "mvlvm.experiments.runner"
# Where the libraries of a cell read how many threads they may use.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
# What a process that has stopped talking is given to end by itself, so that its exit code can be told.
_SECONDS_TO_DIE = 10.0


@dataclass(frozen=True)
class Runner:
    """Runs cells within a budget of cores.

    Attributes:
        store: where finished cells are kept.
        n_processes: how many cells run at a time.
        n_threads: that each of them may use.
        limit_s: seconds after which a cell is stopped.
    """

    store: CellStore
    n_processes: int = 1
    n_threads: int = 1
    limit_s: float = 3600.0

    def left(self, cells: Sequence[Cell]) -> list[Cell]:
        """Give the cells that have not finished; one that failed is tried again."""
        finished = self.store.read()
        return [cell for cell in cells if cell not in finished or finished[cell].status != DONE]

    def run(self, cells: Sequence[Cell], say: Say) -> None:
        """Run cells; one that fails is recorded and does not keep the rest from running.

        Args:
            cells: what to run, in this order.
            say: is told of every record.
        """
        waiting: queue.SimpleQueue[Cell] = queue.SimpleQueue()
        for cell in cells:
            waiting.put(cell)
        stop = threading.Event()
        hands = [_WorkerThread(self, waiting, stop, say) for _ in range(min(self.n_processes, len(cells)))]
        for hand in hands:
            hand.start()
        try:
            for hand in hands:
                hand.join()
        except BaseException:  # an interrupt, too, must leave no process behind
            stop.set()
            for hand in hands:
                hand.kill()
            raise
        for hand in hands:
            if hand.failure is not None:
                raise hand.failure


class _WorkerThread(threading.Thread):
    """One process, and the cells it is given; a process that dies or takes too long is replaced."""

    def __init__(self, runner: Runner, waiting: "queue.SimpleQueue[Cell]", stop: threading.Event, say: Say) -> None:
        super().__init__(daemon=True)
        self.runner, self.waiting, self.stop, self.say = runner, waiting, stop, say
        self.process: subprocess.Popen[str] | None = None
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                record = self._finish(self.waiting.get_nowait())
                if record is not None:
                    self.runner.store.append(record)
                    self.say(record)
        except queue.Empty:
            pass
        except BaseException as failure:
            self.failure = failure
        finally:
            self._end()

    def kill(self) -> None:
        """End the process, whatever it is doing; the thread then ends by itself."""
        if self.process is not None:
            self.process.kill()

    def _end(self) -> int:
        """Let go of the process, and give what it ended with."""
        if self.process is None:
            return 0
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # a pipe whose reader has died cannot be flushed
                assert pipe is not None
                pipe.close()
        code, self.process = self.process.wait(), None
        return code

    def _finish(self, cell: Cell) -> CellRecord | None:
        """Give the record of a cell; None if everything was stopped meanwhile."""
        self.process = self.process or _start(self.runner)
        process, late = self.process, threading.Event()
        alarm = threading.Timer(self.runner.limit_s, lambda: (late.set(), process.kill()))
        alarm.start()
        try:
            line = _ask(process, cell)
        finally:
            alarm.cancel()
        if line is not None:
            return CellRecord.from_json(json.loads(line))
        if self.stop.is_set():
            return None
        with suppress(subprocess.TimeoutExpired):
            process.wait(_SECONDS_TO_DIE)
        code = self._end()
        if late.is_set():
            return self._lost(cell, STOPPED, f"stopped after {self.runner.limit_s:.0f} s")
        return self._lost(cell, FAILED, f"its process ended with {code}")

    def _lost(self, cell: Cell, status: str, note: str) -> CellRecord:
        machine = describe_machine(choose_device("auto"))
        return CellRecord(cell=cell, status=status, seconds=0.0, machine=machine, versions=versions(), note=note)


def _start(runner: Runner) -> "subprocess.Popen[str]":
    here = str(Path(mvlvm.__file__).parents[1])
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    threads = dict.fromkeys(_THREADS, str(runner.n_threads))
    return subprocess.Popen(
        [sys.executable, "-m", WORKER, str(runner.store.folder)], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, **threads, "PYTHONPATH": path},
    )  # fmt: skip


def _ask(process: "subprocess.Popen[str]", cell: Cell) -> str | None:
    """Give a process a cell, and wait for its line; None if it died."""
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
    """How long the rest will take, judged by what has finished.

    Args:
        cells: all that is to be run.
        n_processes: at a time.
    """

    def __init__(self, cells: Sequence[Cell], n_processes: int) -> None:
        self._left, self._n_processes = Counter((cell.experiment, cell.method) for cell in cells), n_processes
        self._seconds: dict[tuple[str, str], list[float]] = {}

    def take(self, record: CellRecord) -> None:
        """Learn from a cell that has finished."""
        kind = record.cell.experiment, record.cell.method
        self._left[kind] -= 1
        self._seconds.setdefault(kind, []).append(record.seconds)

    @property
    def seconds(self) -> float:
        """The rest: cells of a kind take as long as those that have finished, others as long as all on average."""
        known = [s for seconds in self._seconds.values() for s in seconds]
        if not known:
            return float("inf")
        work = sum(n * fmean(self._seconds.get(kind, known)) for kind, n in self._left.items())
        return work / self._n_processes

    @property
    def words(self) -> str:
        """The rest, as people say it."""
        minutes, seconds = divmod(round(self.seconds), 60)
        return f"{minutes} min" if minutes else f"{seconds} s"


# Other libraries print what they like; this line is ours.
MARK = "mvlvm cell: "


def work(cell: Cell, store: CellStore) -> CellRecord:
    """Run a cell, keep its arrays, and give its record; whatever goes wrong is part of it."""
    from mvlvm.experiments.catalogue import get_experiment

    begin, status, numbers, note = time.perf_counter(), DONE, {}, ""
    try:
        with warnings.catch_warnings():
            # fits of fixed length need not say so in every cell, nor constant pixels
            for expected in (ConvergenceWarning, ViewWarning):
                warnings.simplefilter("ignore", expected)
            measured = get_experiment(cell.experiment).measure(cell)
        numbers = {name: float(value) for name, value in measured.numbers.items()}
        store.keep_arrays(cell, measured.arrays)
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
    """Run the cells that come in, one after another."""
    store = CellStore(folder)
    for line in _lines():
        record = work(Cell.from_json(json.loads(line)), store)
        print(f"\n{MARK}{json.dumps(record.as_json(), allow_nan=True)}", flush=True)


def _lines() -> Iterator[str]:
    """Give lines as they come in; when there are no more, who asked is gone, and a cell that is being run is no use."""
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
