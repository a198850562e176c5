"""One thing to measure, in words that travel between processes, and what came out of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from mvlvm import defaults
from mvlvm.benchmarks.data import DataSpec

Key = tuple[str, str, str, str]
DONE, STOPPED, ABSENT, FAILED, SKIPPED = "done", "stopped", "not installed", "failed", "not tried"


@dataclass(frozen=True, kw_only=True)
class Task:
    """One method on one set of data.

    Attributes:
        experiment: what is to be measured: "steps", "quality", "growth" and so on.
        method: whose work it is.
        data: on what.
        n_components: latent dimensions, D.
        n_mixtures: mixtures of a view, Q, for the methods that have some.
        n_points: spectral points per mixture, P, likewise.
        n_steps: steps or iterations to take; None for what the method takes by itself.
        checkpoints: numbers of steps after which quality is measured; 0 is a fit at all defaults.
        target: quality at which to stop.
        dtype: of our fits, "auto" or "float64".
        init: where our fits start.
        learning_rate: of our fits; None is the default.
        limit_s: seconds after which it is stopped.
        device: "cpu" or "cuda".
        seed: of the data and the fit.
        warm_up: whether a few rows are fitted first, so that imports and compilers do not count.
    """

    experiment: str
    method: str
    data: DataSpec
    n_components: int = defaults.N_COMPONENTS
    n_mixtures: int = defaults.N_MIXTURES
    n_points: int = defaults.N_POINTS
    n_steps: int | None = None
    checkpoints: tuple[int, ...] = ()
    target: float | None = None
    dtype: str = "auto"
    init: str = "pca"
    learning_rate: float | None = None
    limit_s: float = 600.0
    device: str = "cpu"
    seed: int = 0
    warm_up: bool = True

    @property
    def case(self) -> str:
        """What tells it from other tasks of the same experiment and method."""
        data = self.data
        size = "all" if data.n_samples is None else str(data.n_samples)
        shape = f" M={data.n_columns} V={data.n_views}" if data.name == "low-rank" else ""
        precision = "" if self.dtype == "auto" else f" {self.dtype}"
        start = "" if self.init == "pca" else f" init={self.init}"
        again = "" if self.seed == 0 else f" seed={self.seed}"
        rate = "" if self.learning_rate is None else f" rate={self.learning_rate:g}"
        sizes = f"D={self.n_components} Q={self.n_mixtures} P={self.n_points}"
        return f"{data.name} N={size}{shape} {sizes}{precision}{start}{rate}{again}"

    @property
    def who(self) -> str:
        """The method, and its start where it is another."""
        return self.method if self.init == "pca" else f"{self.method}, init='{self.init}'"

    def as_json(self) -> dict[str, Any]:
        """Give it as JSON takes it."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Task":
        """Read what `as_json` gave."""
        known = {**fields, "data": DataSpec(**fields["data"]), "checkpoints": tuple(fields["checkpoints"])}
        return cls(**known)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a task.

    Attributes:
        task: the task.
        status: "done", "stopped" at its limit, "not installed", "failed", or "not tried" because less was too much.
        numbers: name -> what was measured; curves are lists.
        note: in words, what is wrong.
        machine: in words.
        version: the library's version.
        run: when the run began; ratios are taken within one.
    """

    task: Task
    status: str
    machine: str
    version: str
    run: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def key(self) -> Key:
        """What tells it from others of its version."""
        return self.task.experiment, self.task.method, self.task.case, self.machine

    def as_json(self) -> dict[str, Any]:
        """Give it as JSON takes it."""
        return {**asdict(self), "task": self.task.as_json()}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Outcome":
        """Read what `as_json` gave."""
        return cls(**{**fields, "task": Task.from_json(fields["task"])})
