"""Benchmark runs: every task in a fresh process, outcomes in a JSON-lines file, the result page from all outcomes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import mvlvm
from mvlvm.benchmarks.comparison import Results
from mvlvm.benchmarks.measurement import MARK, work
from mvlvm.benchmarks.plan import Plan, tasks_of
from mvlvm.benchmarks.speed_page import draw_figures, page_text
from mvlvm.benchmarks.tasks import DONE, FAILED, SKIPPED, STOPPED, Key, Outcome, Task
from mvlvm.records import RESULTS_VERSION, append_line, describe_machine, read_lines

# Time beyond a task's limit for loading data, warm-up and evaluation.
_GRACE_S = 120.0
_GRACE_SHARE = 1.5
# Tasks with any other status are run again: a package may have been installed since.
_SETTLED = (DONE, STOPPED, SKIPPED)

Say = Callable[[Outcome], None]


@dataclass(frozen=True)
class OutcomeFile:
    """File of outcomes, one JSON line each; of repeated tasks, the last outcome counts."""

    path: Path

    def read(self) -> dict[Key, Outcome]:
        """Return the outcomes of this version of the library, by key."""
        outcomes = read_lines(self.path, Outcome.from_json)
        return {outcome.key: outcome for outcome in outcomes if outcome.version == RESULTS_VERSION}

    def append(self, outcome: Outcome) -> None:
        """Append an outcome to the file."""
        append_line(self.path, outcome.as_json())

    def merge(self, others: Iterable[Path]) -> int:
        """Append the outcomes of other files; return the number of new ones."""
        known, new = self.read(), 0
        for path in others:
            for key, outcome in OutcomeFile(path).read().items():
                if known.get(key) != outcome:
                    self.append(outcome)
                    new += 1
        return new


@dataclass(frozen=True)
class Run:
    """One run of the benchmark.

    Attributes:
        file: file of outcomes.
        again: whether to repeat tasks that have already finished.
        measure: function that returns the status, numbers and note of a task.
        began: start time.
    """

    file: OutcomeFile
    again: bool = False
    measure: Callable[[Task], dict[str, Any]] = field(default_factory=lambda: in_fresh_process)
    began: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def all(self, tasks: Sequence[Task], say: Say) -> None:
        """Run tasks sequentially; the failure of one does not stop the others."""
        found = {} if self.again else self.file.read()
        for task in tasks:
            machine = describe_machine(task.device)
            known = found.get((task.experiment, task.method, task.case, machine))
            if known is not None and known.status in _SETTLED:
                say(known)
                continue
            too_much = next((before for before in found.values() if _was_too_much(before, task, machine)), None)
            answer = _not_tried(too_much) if too_much else self.measure(task)
            outcome = Outcome(task=task, machine=machine, version=RESULTS_VERSION, run=self.began, **answer)
            self.file.append(outcome)
            found[outcome.key] = outcome
            say(outcome)


def in_fresh_process(task: Task) -> dict[str, Any]:
    """Measure a task in a subprocess, which is terminated at its time limit."""
    limit = task.limit_s * _GRACE_SHARE + _GRACE_S
    here = str(Path(mvlvm.__file__).parents[1])
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        done = subprocess.run(
            [sys.executable, "-m", "mvlvm.benchmarks.measurement"], input=json.dumps(task.as_json()), text=True,
            capture_output=True, timeout=limit, check=False, start_new_session=True,
            env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {
            "status": STOPPED,
            "numbers": {},
            "note": f"stopped after {limit:.0f} s, and could not say how far it was",
        }
    for line in reversed(done.stdout.splitlines()):
        if line.startswith(MARK):
            return json.loads(line.removeprefix(MARK))
    last_words = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    return {"status": FAILED, "numbers": {}, "note": f"its process ended with {done.returncode}: {last_words}"}


def _was_too_much(before: Outcome, task: Task, machine: str) -> bool:
    """Return whether a method was stopped on fewer rows of the same data."""
    if before.machine != machine or before.status != STOPPED or task.experiment != "walltime":
        return False
    rows, more = before.task.data.n_samples, task.data.n_samples
    same = (before.task.experiment, before.task.method) == (task.experiment, task.method)
    return same and rows is not None and more is not None and rows < more


def _not_tried(before: Outcome) -> dict[str, Any]:
    return {"status": SKIPPED, "numbers": {}, "note": f"not tried: stopped at {before.task.data.n_samples:,} rows"}


PAGE, CELLS = "speed.md", "speed.jsonl"


@dataclass(frozen=True)
class Session:
    """Folder of a benchmark, with its outcomes and result page.

    Attributes:
        folder: folder of the outcomes, the page and its figures.
        trial: whether this is a trial run, which runs in this process and marks the page as meaningless.
    """

    folder: Path
    trial: bool = False

    @property
    def file(self) -> OutcomeFile:
        """The file of outcomes."""
        return OutcomeFile(self.folder / CELLS)

    def tasks(self, plan: Plan, experiments: Sequence[str], methods: Sequence[str] = ()) -> list[Task]:
        """Return the tasks of some experiments, for some methods or for all."""
        tasks = [task for experiment in experiments for task in tasks_of(plan, experiment)]
        return [task for task in tasks if not methods or task.method in methods]

    def run(self, tasks: Sequence[Task], say: Callable[[Outcome], None], *, again: bool = False) -> None:
        """Run the tasks that have not finished yet; call `say` with every outcome."""
        run = Run(self.file, again, work) if self.trial else Run(self.file, again)
        run.all(tasks, say)

    def write_page(self) -> list[Path]:
        """Write the page and its figures from all outcomes; return their paths."""
        results = Results(self.file.read())
        figures = draw_figures(results, self.folder)
        page = self.folder / PAGE
        page.write_text(page_text(results, figures, trial=self.trial))
        return [page, *(self.folder / name for name in figures.values())]
