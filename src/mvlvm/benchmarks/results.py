"""What has been measured, as claims, tables and figures ask for it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mvlvm.benchmarks.growth import log_log_slope
from mvlvm.benchmarks.plan import CPU, CUDA, MOST_ROUNDS, TRIAL, Plan, growth_axis
from mvlvm.benchmarks.task import DONE, STOPPED, Key, Outcome, Task

DEVICES = ("cpu", "cuda")


@dataclass(frozen=True)
class Results:
    """All outcomes, of any number of machines. Of several machines of one kind, that with the most outcomes counts."""

    outcomes: Mapping[Key, Outcome]

    def machine(self, device: str) -> str | None:
        """Give the machine that stands for a device."""
        counts = Counter(outcome.machine for outcome in self.outcomes.values() if outcome.task.device == device)
        return counts.most_common(1)[0][0] if counts else None

    def of(self, experiment: str, device: str) -> list[Outcome]:
        """Give the outcomes of an experiment in the order in which they came."""
        machine = self.machine(device)
        return [o for o in self.outcomes.values() if o.task.experiment == experiment and o.machine == machine]

    def find(self, task: Task, device: str) -> Outcome | None:
        """Give the outcome of a task, if there are numbers of it."""
        found = self.outcomes.get((task.experiment, task.method, task.case, self.machine(device) or ""))
        return found if found is not None and found.status in (DONE, STOPPED) and found.numbers else None

    def number(self, task: Task, device: str, name: str) -> Any:
        """Give one number of a task; None where it was not measured."""
        found = self.find(task, device)
        return None if found is None else found.numbers.get(name)

    def rounds(self, task: Task, device: str) -> list[Outcome]:
        """Give the outcomes of a task with every seed from zero on, all of one run."""
        found = [self.find(replace(task, seed=seed), device) for seed in range(MOST_ROUNDS)]
        outcomes = [outcome for outcome in found if outcome is not None]
        return [outcome for outcome in outcomes if outcome.run == outcomes[0].run]

    def pair(self, task: Task, other: Task, device: str) -> tuple[Outcome, Outcome] | None:
        """Give the outcomes of two tasks if both were measured in one run."""
        first, second = self.find(task, device), self.find(other, device)
        return (first, second) if first and second and first.run == second.run else None

    def growth(self, axis: str, device: str) -> "Growth | None":
        """Give how the cost of a step grows along an axis, in the plan's sizes or in those of a trial."""
        for plan in (CUDA if device == "cuda" else CPU, TRIAL):
            found = [(size_along(axis, task), self.find(task, device)) for task in _axis_tasks(plan, axis)]
            points = [(size, outcome) for size, outcome in found if outcome is not None]
            if len(points) > 1:
                seconds = [float(outcome.numbers["seconds_per_step"]) for _, outcome in points]
                memory = [float(outcome.numbers["peak_bytes"]) for _, outcome in points]
                return Growth(axis, [size for size, _ in points], seconds, memory)
        return None


@dataclass(frozen=True)
class Growth:
    """The cost of a step at several sizes."""

    axis: str
    sizes: Sequence[int]
    seconds: Sequence[float]
    n_bytes: Sequence[float]

    @property
    def slope(self) -> float:
        """The power with which seconds grow."""
        return log_log_slope(self.sizes, self.seconds)


def size_along(axis: str, task: Task) -> int:
    """Give the size of a task along an axis."""
    sizes = {"N": task.data.n_samples, "M": task.data.n_columns, "V": task.data.n_views,
             "Q": task.n_mixtures, "P": task.n_points}  # fmt: skip
    return sizes[axis] or 0


def _axis_tasks(plan: Plan, axis: str) -> list[Task]:
    return growth_axis(plan, axis) if axis == "N" or axis in plan.growth else []
