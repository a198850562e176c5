"""Benchmark tasks and their data: what to measure, on which data, and the records of outcomes and fits."""

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
# Relative to grey levels up to 255: makes repeated rows distinct without changing their appearance.
_NOISE_OF_COPIES = 0.5
# The spectrum of images: a few strong components and a long tail of weak ones.
_RANK, _DECAY, _NOISE = 40, 1.0, 0.1
_LARGE = 100_000


@dataclass(frozen=True, kw_only=True)
class DataSpec:
    """Specification of benchmark data.

    Attributes:
        name: name of a data set, or `MNIST_WITH_LABELS` or `LOW_RANK`.
        n_samples: number of rows; None for the complete data set.
        n_columns: number of columns of every view of `LOW_RANK`.
        n_views: number of views of `LOW_RANK`.
    """

    name: str
    n_samples: int | None = None
    n_columns: int = 100
    n_views: int = 2


@dataclass(frozen=True)
class Data:
    """Views as numeric arrays, and class labels if there are any."""

    views: dict[str, Float[np.ndarray, "N _"]]
    labels: Int[np.ndarray, " N"] | None


def load_data(spec: DataSpec, seed: int = 0) -> Data:
    """Load or generate the data of a specification.

    Returns:
        Views in float64, or in float32 if they have more than 100,000 rows, and class labels.
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
    """Return MNIST images with their one-hot labels as a second view.

    Rows beyond the 70,000 of the data set are repetitions with a little noise.
    """
    mnist = load("mnist", random_state=seed, n_samples=None if n_samples >= _N_MNIST else n_samples)
    images, labels = mnist.views["image"], mnist.labels
    assert labels is not None
    rng, dtype = np.random.default_rng(seed), np.float64 if n_samples <= _LARGE else np.float32
    if n_samples > len(images):
        rows = np.concatenate([np.arange(len(images)), rng.integers(len(images), size=n_samples - len(images))])
        pixels = images[rows].astype(dtype)
        for start in range(
            len(images), n_samples, _LARGE
        ):  # in chunks, because the noise takes as much memory as the images
            part = pixels[start : start + _LARGE]
            part += _NOISE_OF_COPIES * rng.standard_normal(part.shape, dtype=np.float32)
        labels = labels[rows]
    else:
        pixels = images.astype(dtype)
    return Data({"image": pixels, "label": np.eye(_N_CLASSES, dtype=dtype)[labels]}, labels)


def low_rank(n_samples: int, n_columns: int, n_views: int, seed: int) -> Data:
    """Generate views from common factors whose variance decays like that of the principal components of images."""
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
    """One measurement of one method on one data set, serialisable as JSON.

    Attributes:
        experiment: the quantity to measure: "steps", "quality", "growth" and so on.
        method: name of the method.
        data: specification of the data.
        n_components: number of latent dimensions, D.
        n_mixtures: number of mixture components per view, Q, if the method has any.
        n_points: number of spectral points per component, P, if the method has any.
        n_steps: number of steps or iterations; None for the method's own stopping rule.
        checkpoints: numbers of steps at which accuracy is measured; 0 is a fit with all defaults.
        target: accuracy at which to stop.
        dtype: dtype of NG-MVLVM, "auto" or "float64".
        init: initialisation of NG-MVLVM.
        learning_rate: learning rate of NG-MVLVM; None for the default.
        limit_s: time limit in seconds.
        device: "cpu" or "cuda".
        seed: random seed of the data and of the fit.
        warm_up: whether to fit a few rows first, to exclude the time of imports and compilation.
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
        """Identifier of the task among those of the same experiment and method."""
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
        """Name of the method, with its initialisation if that is not PCA."""
        return self.method if self.init == "pca" else f"{self.method}, init='{self.init}'"

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON-serialisable values."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Task":
        """Restore a record from the result of `as_json`."""
        known = {**fields, "data": DataSpec(**fields["data"]), "checkpoints": tuple(fields["checkpoints"])}
        return cls(**known)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Outcome of a task.

    Attributes:
        task: the task.
        status: "done", "stopped" at the time limit, "not installed", "failed", or "not tried" because the method was
            stopped on less data.
        numbers: name -> measured value; curves are lists.
        note: description of an error or of the reason why the task was stopped.
        machine: description of the machine.
        version: version of the library.
        run: start time of the benchmark run; ratios are computed within one run.
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
        """Identifier of the outcome among those of the same library version."""
        return self.task.experiment, self.task.method, self.task.case, self.machine

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON-serialisable values."""
        return {**asdict(self), "task": self.task.as_json()}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Outcome":
        """Restore a record from the result of `as_json`."""
        return cls(**{**fields, "task": Task.from_json(fields["task"])})


ViewArrays = Mapping[str, Float[np.ndarray, "N _"]]
NewViews = Mapping[str, Float[np.ndarray, "K _"]]


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """Result of a fit by any method.

    Attributes:
        latents: latents of the rows, shape (N, D).
        n_steps: number of steps or iterations, if the method reports it.
        step_ends: seconds from the start of training to the end of every step, if known.
        stopped: whether the fit was stopped at its time limit.
        rebuilt: view name -> reconstruction, for methods that can reconstruct.
        bound: evidence lower bound in nats, for NG-MVLVM.
    """

    latents: Float[np.ndarray, "N _"]
    n_steps: int | None = None
    step_ends: Sequence[float] = ()
    stopped: bool = False
    rebuilt: ViewArrays | None = None
    bound: float | None = None


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method in the benchmark.

    Attributes:
        family: "ours", "plain" (the paper's equations), "Gaussian process", "factor analysis" or "other".
        package: import name of the required package.
        setting: description of the settings.
        fit: function of standardised views and a task.
        predict: function of training views, one view of new rows and a task; returns their other view.
        fewest_views: minimal number of views.
    """

    family: str
    package: str
    setting: str
    fit: Callable[[ViewArrays, Task], Fitted]
    predict: Callable[[ViewArrays, NewViews, Task], Float[np.ndarray, "K _"]] | None = None
    fewest_views: int = 1


def standardised(views: ViewArrays) -> dict[str, Float[np.ndarray, "N _"]]:
    """Return the views centred and scaled as by default in the library, without constant columns."""
    return {name: fit_scaling(name, Y, "auto").apply(Y) for name, Y in views.items()}
