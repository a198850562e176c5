"""Running cells in parallel processes, keeping what has finished."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import mvlvm
from mvlvm.experiments.spec import Cell
from mvlvm.experiments.store import DONE, FAILED, STOPPED, Record, Store, versions
from mvlvm.experiments.worker import MARK
from mvlvm.records.machine import choose_device, describe_machine

Say = Callable[[Record], None]


@dataclass(frozen=True)
class Runner:
    """Runs cells within a budget of cores.

    Attributes:
        store: where finished cells are kept.
        n_processes: how many cells run at a time.
        n_threads: that each of them may use.
        limit_s: seconds after which a cell is stopped.
    """

    store: Store
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
        hands = [_Hand(self, waiting, stop, say) for _ in range(min(self.n_processes, len(cells)))]
        for hand in hands:
            hand.start()
        try:
            for hand in hands:
                hand.join()
        except BaseException:  # an interrupt, too, must leave no process behind
            stop.set()
            for hand in hands:
                hand.end()
            raise
        for hand in hands:
            if hand.failure is not None:
                raise hand.failure


class _Hand(threading.Thread):
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
            self.end()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _finish(self, cell: Cell) -> Record | None:
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
            return Record.from_json(json.loads(line))
        if self.stop.is_set():
            return None
        code, self.process = process.wait(), None
        if late.is_set():
            return self._lost(cell, STOPPED, f"stopped after {self.runner.limit_s:.0f} s")
        return self._lost(cell, FAILED, f"its process ended with {code}")

    def _lost(self, cell: Cell, status: str, note: str) -> Record:
        machine = describe_machine(choose_device("auto"))
        return Record(cell=cell, status=status, seconds=0.0, machine=machine, versions=versions(), note=note)


def _start(runner: Runner) -> "subprocess.Popen[str]":
    here = str(Path(mvlvm.__file__).parents[1])
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    threads = str(runner.n_threads)
    return subprocess.Popen(
        [sys.executable, "-m", "mvlvm.experiments.worker", str(runner.store.folder)], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads},
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
