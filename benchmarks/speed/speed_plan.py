"""The cells of the speed study: their sizes on a CPU and on a GPU, and those of quick runs.

The settings of a cell name its part and what differs from the defaults of `Sizes`. Numbers of steps and checkpoints
follow from the part, the device, the data and the method.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from benchmarks.cells import QUICK, Cell
from benchmarks.speed.benchmark_data import BRIDGES, DIGITS, LOW_RANK, MNIST, N_MNIST, R_MNIST
from benchmarks.speed.methods import METHODS, NAIVE, OURS
from benchmarks.speed.naive import PAPER_LEARNING_RATE
from mvlvm import defaults

NAME = "speed"
STEPS, ACCURACY, QUALITY, GROWTH, PEERS, PROFILE = "steps", "accuracy", "quality", "growth", "peers", "profile"
PARTS = (STEPS, ACCURACY, QUALITY, GROWTH, PEERS, PROFILE)
DEVICES = ("cpu", "cuda")
N_ROUNDS = 3

# The paper's 1-NN accuracy on MNIST with labels as a view, and on R-MNIST in its single-view table, rounded.
MNIST_TARGET = 0.8272
R_MNIST_TARGET = 0.79
GPU_TARGET = 0.85
N_MILLION = 1_000_000

# Numbers of steps at which the accuracy of NG-MVLVM is measured; 0 is a fit with default parameters.
_CHECKPOINTS = (5, 20, 50, 100, 200, 300, 500, 700, 0)
# Naive steps are slow and training continues from checkpoint to checkpoint, so the intervals grow geometrically.
_NAIVE_CHECKPOINTS = tuple(sorted({round(10 * 1.15**k) for k in range(50)} | {10_000}))
_PEERS = (OURS, NAIVE, "MRD", "BGPLVM", "GPyTorch GPLVM", "MOFA", "GFA", "UMAP", "t-SNE", "Isomap", "PCA")
_PEER_DATA = (R_MNIST, DIGITS, BRIDGES)
_ONE_VIEW = (R_MNIST, BRIDGES)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sizes of the data and of the model.

    Attributes:
        N: number of rows; None for the complete data set.
        M: number of columns of every view, if the data are generated.
        V: number of views, if the data are generated.
        Q: number of mixture components per view.
        P: number of spectral points per component.
        D: number of latent dimensions.
    """

    N: int | None = None
    M: int = 100
    V: int = 2
    Q: int = defaults.N_MIXTURES
    P: int = defaults.N_POINTS
    D: int = defaults.N_COMPONENTS

    @classmethod
    def of(cls, cell: Cell) -> "Sizes":
        """Return the sizes of a cell."""
        varied = {name: cell.settings[name] for name in vars(cls()) if name in cell.settings}
        return replace(_AROUND if cell.data == LOW_RANK else cls(), **varied)


# The sizes from which one at a time is varied.
_AROUND = Sizes(N=5000)


@dataclass(frozen=True, kw_only=True)
class AccuracyCurve:
    """Accuracy against time on one data set.

    Attributes:
        data: name of the data.
        n_rows: number of rows; None for the complete data set.
        checkpoints: numbers of steps of NG-MVLVM.
        target: accuracy at which to stop.
        init: initialisation of NG-MVLVM.
        with_naive: whether to measure the naive implementation, too.
    """

    data: str
    n_rows: int | None = None
    checkpoints: tuple[int, ...] = _CHECKPOINTS
    target: float | None = None
    init: str = "pca"
    with_naive: bool = False


@dataclass(frozen=True, kw_only=True)
class DevicePlan:
    """Sizes of the cells on one device.

    Attributes:
        step_data: data of the step times and of the scaling with the number of rows.
        steps: method -> number of rows -> number of steps.
        n_rounds: number of repetitions of the step times, because the speed of a machine fluctuates.
        accuracy: numbers of rows and steps of the comparison of precisions.
        curves: curves of accuracy against time.
        growth_rows: number of rows -> number of steps.
        growth: name of the varied size -> sizes.
        growth_base: sizes that are not varied, if they differ from the defaults.
        growth_steps: number of steps at each of these sizes.
        peer_data: data on which all methods are compared, with the number of rows if it is not complete.
        peers: names of the methods.
        profile_rows: numbers of rows at which a step is profiled.
        profile_steps: number of profiled steps.
    """

    step_data: str = MNIST
    steps: Mapping[str, Mapping[int, int]]
    n_rounds: int = 1
    accuracy: tuple[int, int]
    curves: Sequence[AccuracyCurve]
    growth_rows: Mapping[int, int]
    growth: Mapping[str, Sequence[int]]
    growth_base: Mapping[str, int]
    growth_steps: int
    peer_data: Mapping[str, int | None]
    peers: Sequence[str]
    profile_rows: Sequence[int]
    profile_steps: int


_R_MNIST = (
    AccuracyCurve(data=R_MNIST, target=R_MNIST_TARGET),
    AccuracyCurve(data=R_MNIST, target=R_MNIST_TARGET, init="auto", checkpoints=(50, 100, 200, 300, 0)),
)
_PEER_CURVES = (AccuracyCurve(data=DIGITS), AccuracyCurve(data=BRIDGES))
_GROWTH = {"M": (50, 100, 200, 400, 800, 1600), "V": (1, 2, 4, 8), "Q": (1, 2, 4, 8), "P": (25, 50, 100, 200)}
_CPU_CHECKPOINTS, _GPU_CHECKPOINTS = (40, 50, 60, 80, 100, 150, 200, 300), (50, 100, 150, 200, 250, 300)

CPU = DevicePlan(
    steps={OURS: {1000: 120, 10_000: 45, N_MNIST: 12}, NAIVE: {1000: 60, 10_000: 21, N_MNIST: 9}},
    n_rounds=N_ROUNDS, accuracy=(10_000, 100),
    curves=(
        *_R_MNIST, AccuracyCurve(data=MNIST, checkpoints=_CPU_CHECKPOINTS, target=MNIST_TARGET, with_naive=True),
        *_PEER_CURVES,
    ),
    growth_rows={1000: 120, 3000: 90, 10_000: 45, 30_000: 21, 100_000: 12}, growth=_GROWTH, growth_base={},
    growth_steps=30, peer_data=dict.fromkeys(_PEER_DATA), peers=_PEERS, profile_rows=(1000, 10_000, N_MNIST),
    profile_steps=20,
)  # fmt: skip

CUDA = replace(
    CPU, n_rounds=1, accuracy=(N_MNIST, 200), growth_steps=300, profile_steps=100,
    steps={
        OURS: {1000: 600, 10_000: 600, N_MNIST: 300, N_MILLION: 60}, NAIVE: {1000: 200, 10_000: 100, N_MNIST: 40},
    },
    curves=(
        *_R_MNIST, AccuracyCurve(data=MNIST, checkpoints=_GPU_CHECKPOINTS, target=GPU_TARGET, with_naive=True),
        *_PEER_CURVES,
    ),
    growth_rows={1000: 600, 10_000: 600, 100_000: 200, 300_000: 100, N_MILLION: 60},
    peers=[name for name in _PEERS if METHODS[name].uses_device],
)  # fmt: skip

_QUICK = DevicePlan(
    step_data=LOW_RANK, steps={OURS: {60: 6}, NAIVE: {60: 6}}, accuracy=(60, 6),
    curves=(AccuracyCurve(data=DIGITS, n_rows=120, checkpoints=(5, 10), target=0.05, with_naive=True),),
    growth_rows={60: 6, 90: 6}, growth={"M": (6, 8)}, growth_base={"N": 60}, growth_steps=6,
    peer_data={DIGITS: 120}, peers=(OURS, NAIVE, "PCA"), profile_rows=(60,), profile_steps=6,
)  # fmt: skip


def plan_for(device: str, *, quick: bool) -> DevicePlan:
    """Return the sizes on a device."""
    return _QUICK if quick else CUDA if device == "cuda" else CPU


def speed_cells(seed: int, quick: bool) -> list[Cell]:
    """Return the cells of both devices; seeds other than 0 repeat the step times.

    Quick cells of a GPU exist only if there is one.
    """
    devices = DEVICES if not quick or torch.cuda.is_available() else DEVICES[:1]
    return [cell for device in devices for cell in _device_cells(device, seed, quick)]


def _device_cells(device: str, seed: int, quick: bool) -> list[Cell]:
    plan = plan_for(device, quick=quick)
    cells = list(_step_cells(plan, device, quick)) if seed < plan.n_rounds else []
    if seed == 0:
        for part_cells in (_accuracy_cells, _curve_cells, _growth_cells, _peer_cells, _profile_cells):
            cells += part_cells(plan, device, quick)
    return [replace(cell, seed=seed) for cell in dict.fromkeys(cells)]


def speed_cell(
    part: str, method: str, data: str, device: str, settings: Mapping[str, Any] | None = None, *, quick: bool = False
) -> Cell:
    """Return a cell with seed 0.

    Args:
        part: one of `PARTS`.
        method: name of the method.
        data: name of the data.
        device: "cpu" or "cuda".
        settings: sizes and options; those that are None are left out.
        quick: whether it is a cell of a quick run.
    """
    chosen = {name: value for name, value in (settings or {}).items() if value is not None}
    size = {QUICK: True} if quick else {}
    return Cell(study=NAME, method=method, data=data, settings={"part": part, **chosen, **size}, device=device)


def _step_cells(plan: DevicePlan, device: str, quick: bool) -> Iterator[Cell]:
    """Yield the cells of both methods in turn, because the speed of a machine fluctuates."""
    for n in plan.steps[OURS]:
        for method, rows in plan.steps.items():
            if n in rows:
                yield speed_cell(STEPS, method, plan.step_data, device, {"N": n}, quick=quick)


def _accuracy_cells(plan: DevicePlan, device: str, quick: bool) -> Iterator[Cell]:
    for rate in (PAPER_LEARNING_RATE, None):
        for dtype in (None, "float64"):
            yield precision_cell(device, rate, dtype, quick=quick)


def precision_cell(device: str, learning_rate: float | None, dtype: str | None, *, quick: bool = False) -> Cell:
    """Return a cell of the comparison of precisions; None is the default learning rate or dtype."""
    plan = plan_for(device, quick=quick)
    settings = {"N": plan.accuracy[0], "learning_rate": learning_rate, "dtype": dtype}
    return speed_cell(ACCURACY, OURS, plan.step_data, device, settings, quick=quick)


def _curve_cells(plan: DevicePlan, device: str, quick: bool) -> Iterator[Cell]:
    for curve in plan.curves:
        for method in (OURS, NAIVE) if curve.with_naive else (OURS,):
            yield curve_cell(curve, method, device, quick=quick)


def curve_cell(curve: AccuracyCurve, method: str, device: str, *, quick: bool = False) -> Cell:
    """Return the cell of a curve of accuracy against time."""
    init = None if curve.init == "pca" else curve.init
    settings = {"N": curve.n_rows, "target": curve.target, "init": init}
    return speed_cell(QUALITY, method, curve.data, device, settings, quick=quick)


def _growth_cells(plan: DevicePlan, device: str, quick: bool) -> Iterator[Cell]:
    """Yield the cells of all axes; the sizes that they share are measured once."""
    for axis in ("N", *plan.growth):
        yield from growth_axis(axis, device, quick=quick).values()


def growth_axis(axis: str, device: str, *, quick: bool = False) -> dict[int, Cell]:
    """Return size -> cell along one axis: "N" rows, "M" columns, "V" views, "Q" mixtures, "P" spectral points."""
    plan = plan_for(device, quick=quick)
    if axis == "N":
        return {n: speed_cell(GROWTH, OURS, plan.step_data, device, {"N": n}, quick=quick) for n in plan.growth_rows}
    default = vars(Sizes())[axis]
    return {
        size: speed_cell(
            GROWTH, OURS, LOW_RANK, device, {**plan.growth_base, axis: None if size == default else size}, quick=quick
        )
        for size in plan.growth.get(axis, ())
    }


def _peer_cells(plan: DevicePlan, device: str, quick: bool) -> Iterator[Cell]:
    for data, n_rows in plan.peer_data.items():
        for method in plan.peers:
            if METHODS[method].fewest_views == 1 or data not in _ONE_VIEW:
                yield speed_cell(PEERS, method, data, device, {"N": n_rows}, quick=quick)


def _profile_cells(plan: DevicePlan, device: str, quick: bool) -> Iterator[Cell]:
    for n in plan.profile_rows:
        yield speed_cell(PROFILE, OURS, plan.step_data, device, {"N": n}, quick=quick)


def n_steps_of(cell: Cell) -> int:
    """Return the number of training steps of a cell in which steps are measured."""
    plan, part = plan_for(cell.device, quick=cell.is_quick), cell.settings["part"]
    if part == STEPS:
        return plan.steps[cell.method][cell.settings["N"]]
    if part == GROWTH and cell.data == plan.step_data and cell.settings["N"] in plan.growth_rows:
        return plan.growth_rows[cell.settings["N"]]
    return {ACCURACY: plan.accuracy[1], GROWTH: plan.growth_steps, PROFILE: plan.profile_steps}[part]


def checkpoints_of(cell: Cell) -> tuple[int, ...]:
    """Return the numbers of steps at which the accuracy of a cell is measured."""
    curves = plan_for(cell.device, quick=cell.is_quick).curves
    curve = next(curve for curve in curves if curve_cell(curve, cell.method, cell.device, quick=cell.is_quick) == cell)
    if cell.method == OURS:
        return curve.checkpoints
    most = max(curve.checkpoints) if cell.is_quick else max(_NAIVE_CHECKPOINTS)
    return tuple(n for n in _NAIVE_CHECKPOINTS if n <= most)
