"""What mixtures and spectral points bring, and what they cost: R² and time over Q and L.

What more views bring: R² of the latents against the number of views.

Wall time of a fit against the number of rows.
"""

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float

from mvlvm import plots
from mvlvm.experiments.cells import Cell, Effort, Grid, Measurement
from mvlvm.experiments.experiment import Experiment, Page
from mvlvm.experiments.paper_data import load_paper_data
from mvlvm.experiments.paper_methods import OURS, estimator_for
from mvlvm.experiments.result_tables import ExperimentResults, Measure, ResultTable, Spread, best_of
from mvlvm.experiments.s_curve import R2, aligned, draw_s_curve, latent_gallery, latent_r2, note_on_seed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KERNELS = {"RBF": ["rbf"], "Gibbs": ["gibbs"]}
_Q, _P = "Q", "L/2"
_AXES = {
    Effort.QUICK: {_Q: (1, 2, 4), _P: (5, 25, 50)},
    Effort.FULL: {_Q: (1, 2, 3, 4, 5), _P: (5, 10, 25, 50, 100)},
}
# As many steps in every cell, so that times say what a step costs and not when a fit is content.
_STEPS = {Effort.QUICK: 200, Effort.FULL: 1000}
_STEPS_BEFORE = 3
_SECONDS = Measure("seconds", "seconds", times=1.0, digits=1, higher_is_better=False)
_NAMES = ("mixtures, Q", "spectral points per mixture, L/2")


def measure_heat_maps(cell: Cell) -> Measurement:
    """Fit one view with so many mixtures and points, and take the time."""
    data = draw_s_curve(cell, _KERNELS[cell.data])
    settings = {
        "n_mixtures": cell.where(_Q), "n_points": cell.where(_P), "max_iter": _STEPS[cell.effort], "tol": 0.0,
    }  # fmt: skip
    # the first fit of a process waits for libraries to wake up
    estimator_for(cell, settings={**settings, "max_iter": _STEPS_BEFORE}).fit(dict(data.views))
    estimator = estimator_for(cell, settings=settings).fit(dict(data.views))
    seconds = estimator.fit_seconds_["preparing"] + estimator.fit_seconds_["training"]
    latents = estimator.embedding_
    return Measurement({**latent_r2(data, latents), _SECONDS.number: seconds}, aligned(data, latents))


def write_heat_maps(found: ExperimentResults) -> Page:
    """Give two heat maps, the manifolds and both tables for each kernel."""
    notes = [
        f"""One view of an S, drawn from a Gaussian process whose kernel names the figure: the paper does not say which
        it took. L/2 is the number of spectral points per mixture, `n_points`; a fit has Q · L features. By its
        heat maps, whose numbers are not in its text, the paper chooses Q = 2 and "L = 50", which its table gives as
        L/2 = 50. Every fit takes {_STEPS[found.effort]:,} steps; the paper's take 10,000.""",
        """R² is after the best affine map. It measures shape: latents that bend or unroll the S otherwise may explain
        the view as well. Times are those of preparing the view and of training, after a short fit that is not counted.
        Cells that run beside each other on one machine slow each other down: times are good for rough ratios.""",
        note_on_seed(found),
    ]
    figures, tables = {}, []
    for data in found.data:
        for what in (R2, _SECONDS):
            tables.append(_heat_map_table(found, data, what))
            figures[f"{data.lower()}-{what.number.lower()}"] = _heat_map(found, data, what)
        figures |= latent_gallery(found, data, f"{data.lower()}-manifolds", _heat_map_panel)
    return Page(tables, figures, notes)


def _spreads(found: ExperimentResults, data: str, what: Measure) -> dict[int, dict[int, Spread | None]]:
    """Give Q -> L/2 -> the number, or None."""
    mixtures, points = (sorted(int(number) for number in found.coordinates(axis)) for axis in (_Q, _P))
    return {Q: {P: found.spread(what.number, data, OURS, {_Q: Q, _P: P}) for P in points} for Q in mixtures}


def _heat_map_table(found: ExperimentResults, data: str, what: Measure) -> ResultTable:
    spreads = _spreads(found, data, what)
    head = [f"{what.column}: {_NAMES[0]}", *(f"L/2 = {P}" for P in next(iter(spreads.values())))]
    rows = [[str(Q), *(what.text(s) if s else "-" for s in by_points.values())] for Q, by_points in spreads.items()]
    name = f"{found.experiment}-{data.lower()}-{what.number.lower()}"
    return ResultTable(name, f"{data}: {what.column}", [head, *rows])


def _heat_map(found: ExperimentResults, data: str, what: Measure) -> "Figure":
    spreads = _spreads(found, data, what)
    label = f"R² of latents, {data}" if what is R2 else f"seconds of a fit, {data}"
    return plots.plot_heat_map(
        _matrix(spreads, "mean"), list(spreads), list(next(iter(spreads.values()))),
        label=label, names=_NAMES, digits=".3f" if what is R2 else ".1f",
        std=_matrix(spreads, "std") if _several_seeds(found) else None,
    )  # fmt: skip


def _several_seeds(found: ExperimentResults) -> bool:
    return len({record.cell.seed for record in found.done}) > 1


def _matrix(spreads: dict[int, dict[int, Spread | None]], part: str) -> Float[np.ndarray, "Q P"]:
    """Give means or standard deviations, NaN where there are none."""
    return np.array([[np.nan if s is None else getattr(s, part) for s in row.values()] for row in spreads.values()])


def _heat_map_panel(cell: Cell) -> tuple[str, str]:
    return f"Q = {cell.where(_Q)}", f"L/2 = {cell.where(_P)}"


HEAT_MAPS = Experiment(
    name="heat-maps",
    title="R² and time over mixtures and spectral points",
    source="The paper's appendix on hyperparameters: heat maps of R² and wall time over Q and L, and the manifolds.",
    grids={effort: [Grid(list(_KERNELS), [OURS], _AXES[effort])] for effort in Effort},
    measure=measure_heat_maps,
    write=write_heat_maps,
)


if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _ViewKind(NamedTuple):
    """The kernels of views, taken in turn, and the columns of each."""

    kernels: tuple[str, ...]
    n_columns: int


_VIEW_KINDS = {
    "RBF with 20 columns": _ViewKind(("rbf",), 20),
    "RBF with 100 columns": _ViewKind(("rbf",), 100),
    "RBF and Gibbs with 20 columns": _ViewKind(("rbf", "gibbs"), 20),
}
_VIEWS_METHODS = ("NG-MVLVM", "MV-ARFLVM", "PCA")
_VIEWS = "views"
_N_VIEWS = {Effort.QUICK: (1, 2, 4), Effort.FULL: (1, 2, 3, 4, 6)}
# Fewer steps than quick cells take elsewhere: several views cost several times as much.
_QUICK_SETTINGS = {"max_iter": 200}


def measure_views(cell: Cell) -> Measurement:
    """Fit so many views. With one seed the first views are the same, however many there are."""
    kind, n_views = _VIEW_KINDS[cell.data], cell.where(_VIEWS)
    kernels = [kind.kernels[v % len(kind.kernels)] for v in range(n_views)]
    data = draw_s_curve(cell, kernels, n_columns=kind.n_columns)
    settings = _QUICK_SETTINGS if cell.effort is Effort.QUICK and cell.method != "PCA" else {}
    latents = estimator_for(cell, settings=settings).fit_transform(dict(data.views))
    return Measurement(latent_r2(data, latents), aligned(data, latents))


def write_views(found: ExperimentResults) -> Page:
    """Give the curves, and a gallery and a table for every kind of views."""
    notes = [
        """Views of one S, each drawn from a Gaussian process of its own; with one seed the first views are the same,
        however many follow. The paper says neither which kernels its views have nor how many columns; here they
        have an RBF kernel, or RBF and Gibbs in turn, and come in two widths, since a wide view may leave little for
        others to add.""",
        """R² is after the best affine map. It measures shape: a fit that unrolls the S into a line may explain the
        views as well, and have a low R². NG-MVLVM and MV-ARFLVM start from principal components.""",
        note_on_seed(found),
    ]
    figures = {"curves": _views_curves(found)} if found.done else {}
    for data in found.data:
        figures |= latent_gallery(found, data, f"latents-{_slug(data)}", _views_panel)
    return Page([_views_table(found, data) for data in found.data], figures, notes)


def _slug(data: str) -> str:
    return data.lower().replace(" ", "-")


def _view_counts(found: ExperimentResults) -> list[int]:
    return sorted(int(number) for number in found.coordinates(_VIEWS))


def _views_table(found: ExperimentResults, data: str) -> ResultTable:
    numbers = _view_counts(found)
    spreads = {n: {m: found.spread(R2.number, data, m, {_VIEWS: n}) for m in found.methods} for n in numbers}
    best = {n: best_of(by_method) for n, by_method in spreads.items()}

    def text(method: str, number: int) -> str:
        spread = spreads[number][method]
        written = R2.text(spread) if spread else "-"
        return f"**{written}**" if method in best[number] else written

    head = ["R²", *map(_views_label, numbers)]
    rows = [[method, *(text(method, number) for number in numbers)] for method in found.methods]
    return ResultTable(f"{found.experiment}-{_slug(data)}", data, [head, *rows])


def _views_curves(found: ExperimentResults) -> "Figure":
    panels: dict[str, dict[str, tuple[list[int], list[float], list[float]]]] = {}
    for data in found.data:
        for method in found.methods:
            at = {number: found.spread(R2.number, data, method, {_VIEWS: number}) for number in _view_counts(found)}
            there = {number: spread for number, spread in at.items() if spread is not None}
            means, stds = [s.mean for s in there.values()], [s.std for s in there.values()]
            panels.setdefault(data, {})[method] = (list(there), means, stds)
    return plots.plot_curve_panels(panels, x="number of views", y="R² of latents")


def _views_panel(cell: Cell) -> tuple[str, str]:
    return cell.method, _views_label(cell.where(_VIEWS))


def _views_label(n_views: int) -> str:
    return f"{n_views} view{'s' if n_views > 1 else ''}"


VIEWS = Experiment(
    name="views",
    title="Latents of more and more views",
    source="The paper's appendix on multi-view synthetic data: R² against the number of views, and the latents.",
    grids={effort: [Grid(list(_VIEW_KINDS), _VIEWS_METHODS, {_VIEWS: _N_VIEWS[effort]})] for effort in Effort},
    measure=measure_views,
    write=write_views,
)


_SCALABLE = ("NG-MVLVM", "MV-ARFLVM", "MVAE", "MMVAE", "MV-GPLVM-SVI", "MV-DGPLVM")
_SLOW = ("MV-RFLVM", "MV-NGPLVM", "MV-GPLVM")
_FIT_SECONDS = Measure("seconds", "seconds", times=1.0, higher_is_better=False)
_WALL_TIME_GRIDS = {
    Effort.QUICK: [Grid(["MNIST"], (*_SCALABLE, *_SLOW), {"N": (100, 200, 400)})],
    Effort.FULL: [
        Grid(["MNIST"], (*_SCALABLE, *_SLOW), {"N": (100, 300, 1000)}),
        Grid(["MNIST"], _SCALABLE, {"N": (3000, 10_000)}),
        Grid(["MNIST"], _SCALABLE[:2], {"N": (70_000,)}),
    ],
}


def measure_wall_time(cell: Cell) -> Measurement:
    """Fit images with their classes as a second view, data loaded beforehand."""
    data = load_paper_data(cell.data, seed=cell.seed, effort=Effort.FULL, most_rows=cell.where("N"), label_view=True)
    estimator = estimator_for(cell)
    begin = time.perf_counter()
    estimator.fit(dict(data.views))
    return Measurement({"seconds": time.perf_counter() - begin})


def write_wall_time(found: ExperimentResults) -> Page:
    """Give seconds by method and rows."""
    sizes = [int(n) for n in sorted(found.coordinates("N"), key=float)]
    rows, curves = [["method", *(f"{n:,} rows" for n in sizes)]], {}
    for method in found.methods:
        spreads = [found.spread(_FIT_SECONDS.number, "MNIST", method, {"N": n}) for n in sizes]
        rows.append([method, *("-" if spread is None else _FIT_SECONDS.text(spread) for spread in spreads)])
        measured = [
            (n, spread.mean, spread.std) for n, spread in zip(sizes, spreads, strict=True) if spread is not None
        ]
        curves[method] = tuple(np.array(column, dtype=float) for column in zip(*measured, strict=True))
    figure = plots.plot_curves(curves, x="rows", y="seconds of a fit", log="xy")
    return Page([ResultTable("wall-time", "Seconds of a fit", rows)], {"seconds": figure}, [_WALL_TIME_NOTE])


_WALL_TIME_NOTE = """Every method starts as it does by default, and at full size takes as many steps. MVAE, MMVAE, MV-GPLVM-SVI
and MV-DGPLVM take the same number of steps, of at most 128 or 200 rows, however many rows there are: their lines are
flat because the more rows there are, the less often each is seen. NG-MVLVM and MV-ARFLVM see all rows in every step,
and end when the bound is flat. Exact Gaussian processes, which cost N³, and the chains of MV-RFLVM are given up to
1,000 rows; only NG-MVLVM and MV-ARFLVM are asked for 70,000. Cells run beside each other, so seconds are rough;
`mvlvm bench` measures them one at a time, with other libraries beside."""

WALL_TIME = Experiment(
    name="wall-time",
    title="Wall time against the number of rows",
    source="Figure 3 of the paper: MNIST with its classes as a second view.",
    grids=_WALL_TIME_GRIDS,
    measure=measure_wall_time,
    write=write_wall_time,
)
