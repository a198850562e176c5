"""The benchmark plan: the tasks of every experiment for a CPU, a GPU, and a trial run of a few seconds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from mvlvm.benchmarks.naive import PAPER_LEARNING_RATE
from mvlvm.benchmarks.peers import METHODS
from mvlvm.benchmarks.tasks import LOW_RANK, MNIST_WITH_LABELS, DataSpec, Task

EXPERIMENTS = ("steps", "accuracy", "quality", "growth", "peers", "walltime", "profile")

# The paper's 1-NN accuracy on MNIST with labels as a view, and on R-MNIST in its single-view table, rounded.
MNIST_TARGET = 0.8272
R_MNIST_TARGET = 0.79
GPU_TARGET = 0.85
N_MNIST = 70_000
_N_MILLION = 1_000_000
MOST_ROUNDS = 10  # maximal number of repetitions of a measurement, with different seeds
_OWN_CHECKPOINTS = (5, 20, 50, 100, 200, 300, 500, 700, 0)
_MNIST_CHECKPOINTS = (40, 50, 60, 80, 100, 150, 200, 300)
# Naive steps are slow and training continues from checkpoint to checkpoint, so the intervals grow geometrically.
_NAIVE_CHECKPOINTS = tuple(sorted({round(10 * 1.15**k) for k in range(50)} | {10_000}))


@dataclass(frozen=True, kw_only=True)
class Quality:
    """A curve of accuracy against time: the data, the checkpoints, the target and the methods."""

    data: DataSpec
    own_checkpoints: tuple[int, ...]
    target: float | None = None
    beside_naive: bool = False
    init: str = "pca"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Sizes of all experiments.

    Attributes:
        rows: number of rows -> number of steps of NG-MVLVM, on `step_data`.
        naive_rows: number of rows -> number of steps of the naive implementation.
        step_rounds: number of alternating repetitions of both, because the speed of a machine fluctuates.
        step_data: the data of the step times and of the scaling with the number of rows.
        accuracy_rows: number of rows for the comparison of precisions.
        accuracy_steps: number of steps before that comparison.
        growth_rows: number of rows -> number of steps.
        around: the reference data from which the other sizes are varied, one at a time.
        growth: axis -> sizes: "M" columns, "V" views, "Q" mixtures, "P" spectral points.
        growth_steps: number of steps at each of these sizes.
        quality: the curves of accuracy against time.
        peers: the data on which all methods are compared.
        methods: names of the methods.
        walltime_rows: numbers of rows at which complete fits are timed, on `step_data`.
        profile_rows: numbers of rows at which a step is profiled.
        profile_steps: number of profiled steps.
        n_steps: limit on the number of steps of every method in a trial run.
        limit_s: time limit of a method in seconds.
        device: "cpu" or "cuda".
        warm_up: whether to fit a few rows before every measurement.
    """

    rows: dict[int, int]
    naive_rows: dict[int, int]
    step_rounds: int = 1
    step_data: str = MNIST_WITH_LABELS
    accuracy_rows: int
    accuracy_steps: int = 200
    growth_rows: dict[int, int]
    around: DataSpec
    growth: dict[str, tuple[int, ...]]
    growth_steps: int = 30
    quality: Sequence[Quality]
    peers: Sequence[DataSpec]
    methods: Sequence[str] = tuple(METHODS)
    walltime_rows: Sequence[int]
    profile_rows: Sequence[int]
    profile_steps: int = 20
    n_steps: int | None = None
    limit_s: float = 600.0
    device: str = "cpu"
    warm_up: bool = True


_OF_ONE_VIEW = ("r-mnist", "bridges")
_PEER_DATA = (DataSpec(name="r-mnist"), DataSpec(name="digits-halves"), DataSpec(name="bridges"))
_PEER_CURVES = tuple(Quality(data=data, own_checkpoints=_OWN_CHECKPOINTS) for data in _PEER_DATA[1:])
_MNIST = DataSpec(name=MNIST_WITH_LABELS, n_samples=N_MNIST)
_GROWTH = {"M": (50, 100, 200, 400, 800, 1600), "V": (1, 2, 4, 8), "Q": (1, 2, 4, 8), "P": (25, 50, 100, 200)}
_R_MNIST = Quality(data=_PEER_DATA[0], own_checkpoints=_OWN_CHECKPOINTS, target=R_MNIST_TARGET)

_R_MNIST_AUTO = Quality(
    data=_PEER_DATA[0], own_checkpoints=(50, 100, 200, 300, 0), target=R_MNIST_TARGET, init="auto"
)  # fmt: skip

CPU = Plan(
    rows={1000: 120, 10_000: 45, N_MNIST: 12}, naive_rows={1000: 60, 10_000: 21, N_MNIST: 9},
    step_rounds=3, accuracy_rows=10_000, accuracy_steps=100,
    growth_rows={1000: 120, 3000: 90, 10_000: 45, 30_000: 21, 100_000: 12},
    around=DataSpec(name=LOW_RANK, n_samples=5000, n_columns=100, n_views=2), growth=_GROWTH,
    quality=[
        _R_MNIST,
        _R_MNIST_AUTO,
        Quality(data=_MNIST, own_checkpoints=_MNIST_CHECKPOINTS, target=MNIST_TARGET, beside_naive=True),
        *_PEER_CURVES,
    ],
    peers=_PEER_DATA, walltime_rows=(500, 1000, 2000, 5000, 10_000, 20_000), profile_rows=(1000, 10_000, N_MNIST),
)  # fmt: skip

CUDA = replace(
    CPU, device="cuda", step_rounds=1,
    rows={1000: 600, 10_000: 600, N_MNIST: 300, _N_MILLION: 60}, naive_rows={1000: 200, 10_000: 100, N_MNIST: 40},
    accuracy_rows=N_MNIST, accuracy_steps=200,
    growth_rows={1000: 600, 10_000: 600, 100_000: 200, 300_000: 100, _N_MILLION: 60}, growth_steps=300,
    quality=[
        _R_MNIST,
        _R_MNIST_AUTO,
        Quality(data=_MNIST, own_checkpoints=(50, 100, 150, 200, 250, 300), target=GPU_TARGET, beside_naive=True),
        *_PEER_CURVES,
    ],
    walltime_rows=(500, 1000, 2000, 5000, 10_000, 20_000, N_MNIST), profile_steps=100,
    methods=("ours", "naive", "GPyTorch BayesianGPLVM"),
)  # fmt: skip

_TRIAL_DATA = DataSpec(name="digits-halves", n_samples=120)
TRIAL = Plan(
    rows={60: 6}, naive_rows={60: 6}, step_data=LOW_RANK, accuracy_rows=60, accuracy_steps=6,
    growth_rows={60: 6, 90: 6}, around=DataSpec(name=LOW_RANK, n_samples=60, n_columns=6, n_views=2),
    growth={"M": (6, 8)}, growth_steps=6,
    quality=[Quality(data=_TRIAL_DATA, own_checkpoints=(5, 10), target=0.05, beside_naive=True)],
    peers=[_TRIAL_DATA], methods=("ours", "PCA"), walltime_rows=(60,), profile_rows=(60,), profile_steps=6,
    n_steps=5, limit_s=30.0, warm_up=False,
)  # fmt: skip


def plan_for(device: str, *, trial: bool, limit_s: float | None = None) -> Plan:
    """Return the plan for a device, or for a trial run of a few seconds."""
    plan = replace(TRIAL, device=device) if trial else CUDA if device == "cuda" else CPU
    return plan if limit_s is None else replace(plan, limit_s=limit_s)


def tasks_of(plan: Plan, experiment: str) -> list[Task]:
    """Return the tasks of an experiment; those of NG-MVLVM and of other methods alternate."""
    tasks = {
        "steps": _step_tasks, "accuracy": _accuracy_tasks, "quality": _quality_tasks, "growth": _growth_tasks,
        "peers": _peer_tasks, "walltime": _walltime_tasks, "profile": _profile_tasks,
    }[experiment](plan)  # fmt: skip
    return [replace(task, device=plan.device, limit_s=plan.limit_s, warm_up=plan.warm_up) for task in tasks]


def growth_axis(plan: Plan, axis: str) -> list[Task]:
    """Return the tasks that vary one size; "N" is the number of rows."""
    if axis == "N":
        return [
            Task(experiment="growth", method="ours", data=DataSpec(name=plan.step_data, n_samples=n), n_steps=steps)
            for n, steps in plan.growth_rows.items()
        ]
    base = Task(experiment="growth", method="ours", data=plan.around, n_steps=plan.growth_steps)
    change = {
        "M": lambda size: replace(base, data=replace(plan.around, n_columns=size)),
        "V": lambda size: replace(base, data=replace(plan.around, n_views=size)),
        "Q": lambda size: replace(base, n_mixtures=size),
        "P": lambda size: replace(base, n_points=size),
    }[axis]
    return [change(size) for size in plan.growth[axis]]


def _step_tasks(plan: Plan) -> list[Task]:
    tasks = []
    for (n, steps), seed in product(plan.rows.items(), range(plan.step_rounds)):
        data = DataSpec(name=plan.step_data, n_samples=n)
        tasks.append(Task(experiment="steps", method="ours", data=data, n_steps=steps, seed=seed))
        if n in plan.naive_rows:
            tasks.append(replace(tasks[-1], method="naive", n_steps=plan.naive_rows[n]))
    return tasks


def _accuracy_tasks(plan: Plan) -> list[Task]:
    data = DataSpec(name=plan.step_data, n_samples=plan.accuracy_rows)
    task = Task(experiment="accuracy", method="ours", data=data, n_steps=plan.accuracy_steps)
    return [
        replace(task, dtype=dtype, learning_rate=rate)
        for rate in (PAPER_LEARNING_RATE, None)
        for dtype in ("auto", "float64")
    ]


def _quality_tasks(plan: Plan) -> list[Task]:
    tasks = []
    for curve in plan.quality:
        own = Task(
            experiment="quality", method="ours", data=curve.data, checkpoints=curve.own_checkpoints,
            target=curve.target, init=curve.init,
        )  # fmt: skip
        tasks.append(own)
        if curve.beside_naive:
            most = max(curve.own_checkpoints) if plan.n_steps else 10_000
            checkpoints = tuple(k for k in _NAIVE_CHECKPOINTS if k <= most)
            tasks.append(replace(own, method="naive", checkpoints=checkpoints))
    return tasks


def _growth_tasks(plan: Plan) -> list[Task]:
    """Return the tasks of all axes; the reference size they share is measured once."""
    return list(dict.fromkeys(task for axis in ("N", *plan.growth) for task in growth_axis(plan, axis)))


def _peer_tasks(plan: Plan) -> list[Task]:
    return [
        Task(experiment="peers", method=method, data=data, n_steps=plan.n_steps)
        for data in plan.peers
        for method in plan.methods
        if METHODS[method].fewest_views == 1 or data.name not in _OF_ONE_VIEW
    ]


def _walltime_tasks(plan: Plan) -> list[Task]:
    sizes = [DataSpec(name=plan.step_data, n_samples=n) for n in plan.walltime_rows]
    return [
        Task(experiment="walltime", method=method, data=data, n_steps=plan.n_steps)
        for data in sizes
        for method in plan.methods
    ]


def _profile_tasks(plan: Plan) -> list[Task]:
    sizes = [DataSpec(name=plan.step_data, n_samples=n) for n in plan.profile_rows]
    return [Task(experiment="profile", method="ours", data=data, n_steps=plan.profile_steps) for data in sizes]
