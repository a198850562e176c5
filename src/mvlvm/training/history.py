"""The history of a training run."""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np


class StopReason(StrEnum):
    """Why training ended."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    INTERRUPTED = "interrupted"


@dataclass
class History:
    """The bound and its parts at every step, and why training ended.

    Attributes:
        bound: the objective at every step.
        parts: name -> the parts of the objective at every step.
        seconds: time since the first step began.
        learning_rate: of every step.
        stop_reason: why training ended.
        last_rise: increase of the mean bound over the last two windows of steps at the full learning rate; infinite
            if there were too few steps to tell.
    """

    bound: list[float] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    learning_rate: list[float] = field(default_factory=list)
    stop_reason: StopReason = StopReason.MAX_ITER
    last_rise: float = float("inf")

    def record(self, bound: float, parts: dict[str, float], *, seconds: float, learning_rate: float) -> None:
        """Append one step."""
        self.bound.append(bound)
        self.seconds.append(seconds)
        self.learning_rate.append(learning_rate)
        for name, value in parts.items():
            self.parts.setdefault(name, []).append(value)

    def drop_incomplete_step(self) -> None:
        """Drop a step of which only some columns were recorded, because an exception interrupted it."""
        columns = [self.bound, self.seconds, self.learning_rate, *self.parts.values()]
        n_complete = min(len(column) for column in columns)
        for column in columns:
            del column[n_complete:]

    def extend(self, later: "History") -> None:
        """Append a run that continued this one."""
        before = self.seconds[-1] if self.seconds else 0.0
        for step, bound in enumerate(later.bound):
            parts = {name: values[step] for name, values in later.parts.items()}
            self.record(
                bound, parts, seconds=before + later.seconds[step], learning_rate=later.learning_rate[step]
            )  # fmt: skip
        self.stop_reason, self.last_rise = later.stop_reason, later.last_rise

    def as_arrays(self) -> dict[str, np.ndarray]:
        """Return column name -> array over steps."""
        columns = {"objective": self.bound, **self.parts, "seconds": self.seconds, "learning_rate": self.learning_rate}
        return {name: np.asarray(values, dtype=float) for name, values in columns.items()}
