"""A whole session: tasks run, outcomes kept, page and figures written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mvlvm.benchmarks.figures import draw_figures
from mvlvm.benchmarks.page import page_text
from mvlvm.benchmarks.plan import Plan, tasks_of
from mvlvm.benchmarks.results import Results
from mvlvm.benchmarks.running import OutcomeFile, Run
from mvlvm.benchmarks.task import Outcome, Task
from mvlvm.benchmarks.worker import work

PAGE, CELLS = "speed.md", "speed.jsonl"


@dataclass(frozen=True)
class Session:
    """Where a benchmark keeps its outcomes, and writes its page.

    Attributes:
        folder: for both.
        trial: a trial runs in this process, and its page says that its numbers mean nothing.
    """

    folder: Path
    trial: bool = False

    @property
    def file(self) -> OutcomeFile:
        """The outcomes."""
        return OutcomeFile(self.folder / CELLS)

    def tasks(self, plan: Plan, experiments: Sequence[str], methods: Sequence[str] = ()) -> list[Task]:
        """Give the tasks of some experiments, of some methods or of all."""
        tasks = [task for experiment in experiments for task in tasks_of(plan, experiment)]
        return [task for task in tasks if not methods or task.method in methods]

    def run(self, tasks: Sequence[Task], say: Callable[[Outcome], None], *, again: bool = False) -> None:
        """Run what has not finished yet."""
        run = Run(self.file, again, work) if self.trial else Run(self.file, again)
        run.all(tasks, say)

    def write_page(self) -> list[Path]:
        """Write page and figures from all outcomes that are kept, and give their paths."""
        results = Results(self.file.read())
        figures = draw_figures(results, self.folder)
        page = self.folder / PAGE
        page.write_text(page_text(results, figures, trial=self.trial))
        return [page, *(self.folder / name for name in figures.values())]
