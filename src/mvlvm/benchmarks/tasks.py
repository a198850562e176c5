"""The data that costs are measured on: sets by name, MNIST of any length, matrices of any size.

One thing to measure, in words that travel between processes, and what came out of it.

What a fit by any method leaves behind, and who the methods are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from mvlvm import defaults
from mvlvm.datasets import load
from mvlvm.views.scaling import fit_scaling

MNIST_WITH_LABELS = "mnist+label"
LOW_RANK = "low-rank"
_N_MNIST = 70_000
_N_CLASSES = 10
# Beside grey levels up to 255: rows that were drawn twice are not the same, and look as they did.
_NOISE_OF_COPIES = 0.5
# Images have a few strong directions and a long tail of weak ones.
_RANK, _DECAY, _NOISE = 40, 1.0, 0.1
_LARGE = 100_000


@dataclass(frozen=True, kw_only=True)
class DataSpec:
    """Which data.

    Attributes:
        name: of a data set, or `MNIST_WITH_LABELS` or `LOW_RANK`.
        n_samples: how many rows; None for all there are.
        n_columns: of every view of `LOW_RANK`.
        n_views: of `LOW_RANK`.
    """

    name: str
    n_samples: int | None = None
    n_columns: int = 100
    n_views: int = 2


@dataclass(frozen=True)
class Data:
    """Views as numbers, and classes where there are some."""

    views: dict[str, Float[np.ndarray, "N _"]]
    labels: Int[np.ndarray, " N"] | None


def load_data(spec: DataSpec, seed: int = 0) -> Data:
    """Load or make the data.

    Views are float64, float32 where they have more than 100,000 rows.
    """
    if spec.name == LOW_RANK:
        return low_rank(spec.n_samples or 1000, spec.n_columns, spec.n_views, seed)
    if spec.name == MNIST_WITH_LABELS:
        return mnist_with_labels(spec.n_samples or _N_MNIST, seed)
    data = load(spec.name, random_state=seed)
    rows = slice(None)
    if spec.n_samples is not None and data.labels is not None:
        rows = np.random.default_rng(seed).permutation(len(data.labels))[: spec.n_samples]
    views = {name: np.asarray(Y, dtype=np.float64)[rows] for name, Y in data.views.items()}
    return Data(views, None if data.labels is None else data.labels[rows])


def mnist_with_labels(n_samples: int, seed: int) -> Data:
    """Give images of MNIST and their digits, one-hot, as a second view.

    Beyond the 70,000 that there are, rows are drawn again with a little noise.
    """
    mnist = load("mnist", random_state=seed, n_samples=None if n_samples >= _N_MNIST else n_samples)
    images, labels = mnist.views["image"], mnist.labels
    assert labels is not None
    rng, dtype = np.random.default_rng(seed), np.float64 if n_samples <= _LARGE else np.float32
    if n_samples > len(images):
        rows = np.concatenate([np.arange(len(images)), rng.integers(len(images), size=n_samples - len(images))])
        pixels = images[rows].astype(dtype)
        for start in range(len(images), n_samples, _LARGE):  # in portions: the noise is as large as the images
            part = pixels[start : start + _LARGE]
            part += _NOISE_OF_COPIES * rng.standard_normal(part.shape, dtype=np.float32)
        labels = labels[rows]
    else:
        pixels = images.astype(dtype)
    return Data({"image": pixels, "label": np.eye(_N_CLASSES, dtype=dtype)[labels]}, labels)


def low_rank(n_samples: int, n_columns: int, n_views: int, seed: int) -> Data:
    """Make views of one set of factors whose strength falls as that of the components of images does."""
    rng = np.random.default_rng(seed)
    rank = min(_RANK, n_columns)
    factors = rng.standard_normal((n_samples, rank)) / np.arange(1, rank + 1) ** _DECAY
    views = {
        f"view{v}": factors @ rng.standard_normal((rank, n_columns))
        + _NOISE * rng.standard_normal((n_samples, n_columns))
        for v in range(n_views)
    }
    return Data(views, None)


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


ViewArrays = Mapping[str, Float[np.ndarray, "N _"]]
NewViews = Mapping[str, Float[np.ndarray, "K _"]]


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A fit.

    Attributes:
        latents: what rows became.
        n_steps: steps or iterations taken, where they are counted.
        step_ends: seconds from the start of training to the end of every step, where they are known.
        stopped: whether it was stopped at its limit.
        rebuilt: view name -> the view as the method sees it, for methods that can go back.
        bound: on the log evidence in nats, for our own.
    """

    latents: Float[np.ndarray, "N _"]
    n_steps: int | None = None
    step_ends: Sequence[float] = ()
    stopped: bool = False
    rebuilt: ViewArrays | None = None
    bound: float | None = None


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method that can be measured.

    Attributes:
        family: "ours", "plain" (the paper's equations), "Gaussian process", "factor analysis" or "other".
        package: what must be installed, by the name under which it is imported.
        setting: how it was used, in words.
        fit: takes centred and scaled views and a task.
        predict: takes training views, one view of new rows and a task, and gives the new rows of the other view.
        fewest_views: how many views it needs.
    """

    family: str
    package: str
    setting: str
    fit: Callable[[ViewArrays, Task], Fitted]
    predict: Callable[[ViewArrays, NewViews, Task], Float[np.ndarray, "K _"]] | None = None
    fewest_views: int = 1


def standardised(views: ViewArrays) -> dict[str, Float[np.ndarray, "N _"]]:
    """Centre and scale views as the library does by default, and leave constant columns out."""
    return {name: fit_scaling(name, Y, "auto").apply(Y) for name, Y in views.items()}
