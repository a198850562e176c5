"""Quality and run time as functions of sizes.

Heat maps of R² and time over the number of mixtures Q and of spectral points L/2, R² by the number of views, and wall
time by the number of rows.
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
from mvlvm.experiments.result_tables import ExperimentResults, Measure, ResultTable, Spread, best_methods
from mvlvm.experiments.s_curve import R2, aligned_latents, draw_s_curve, latent_gallery, latent_r2, seed_note

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KERNELS = {"RBF": ["rbf"], "Gibbs": ["gibbs"]}
_Q, _P = "Q", "L/2"
_AXES = {
    Effort.QUICK: {_Q: (1, 2, 4), _P: (5, 25, 50)},
    Effort.FULL: {_Q: (1, 2, 3, 4, 5), _P: (5, 10, 25, 50, 100)},
}
# The same number of steps in every cell, so that times measure the cost of a step and not convergence.
_STEPS = {Effort.QUICK: 200, Effort.FULL: 1000}
_WARM_UP_STEPS = 3
_SECONDS = Measure("seconds", "seconds", scale=1.0, digits=1, higher_is_better=False)
_NAMES = ("mixtures, Q", "spectral points per mixture, L/2")


def measure_heat_maps(cell: Cell) -> Measurement:
    """Fit one view with the given numbers of mixtures and points, and measure R² and time."""
    data = draw_s_curve(cell, _KERNELS[cell.data])
    settings = {
        "n_mixtures": cell.coordinate(_Q), "n_points": cell.coordinate(_P), "max_iter": _STEPS[cell.effort], "tol": 0.0,
    }  # fmt: skip
    # the first fit of a process includes the initialisation of libraries
    estimator_for(cell, settings={**settings, "max_iter": _WARM_UP_STEPS}).fit(dict(data.views))
    estimator = estimator_for(cell, settings=settings).fit(dict(data.views))
    seconds = estimator.fit_seconds_["preparing"] + estimator.fit_seconds_["training"]
    latents = estimator.embedding_
    return Measurement({**latent_r2(data, latents), _SECONDS.number: seconds}, aligned_latents(data, latents))


def write_heat_maps(results: ExperimentResults) -> Page:
    """Return the page with heat maps, learned manifolds and tables for each kernel."""
    notes = [
        f"""One view of an S-curve, drawn from a Gaussian process with the kernel named in the figure; the paper does
        not state which kernel it used. L/2 is the number of spectral points per mixture, `n_points`; a fit has Q · L
        features. From its heat maps, whose values are not in its text, the paper chooses Q = 2 and "L = 50", which its
        table states as L/2 = 50. Every fit takes {_STEPS[results.effort]:,} steps; the paper's take 10,000.""",
        """R² is computed after the best affine map. It measures shape: latents that bend or unroll the S differently
        may explain the view equally well. Times are those of preparing the view and of training, after a short warm-up
        fit. Cells that run at the same time on one machine slow each other down, so only rough ratios of times are
        meaningful.""",
        seed_note(results),
    ]
    figures, tables = {}, []
    for data in results.data:
        for what in (R2, _SECONDS):
            tables.append(_heat_map_table(results, data, what))
            figures[f"{data.lower()}-{what.number.lower()}"] = _heat_map(results, data, what)
        figures |= latent_gallery(results, data, f"{data.lower()}-manifolds", _heat_map_panel)
    return Page(tables, figures, notes)


def _spreads(results: ExperimentResults, data: str, what: Measure) -> dict[int, dict[int, Spread | None]]:
    """Return Q -> L/2 -> spread of the measure, or None."""
    mixtures, points = (sorted(int(number) for number in results.coordinates(axis)) for axis in (_Q, _P))
    return {Q: {P: results.spread(what.number, data, OURS, {_Q: Q, _P: P}) for P in points} for Q in mixtures}


def _heat_map_table(results: ExperimentResults, data: str, what: Measure) -> ResultTable:
    spreads = _spreads(results, data, what)
    head = [f"{what.column}: {_NAMES[0]}", *(f"L/2 = {P}" for P in next(iter(spreads.values())))]
    rows = [[str(Q), *(what.text(s) if s else "-" for s in by_points.values())] for Q, by_points in spreads.items()]
    name = f"{results.experiment}-{data.lower()}-{what.number.lower()}"
    return ResultTable(name, f"{data}: {what.column}", [head, *rows])


def _heat_map(results: ExperimentResults, data: str, what: Measure) -> "Figure":
    spreads = _spreads(results, data, what)
    label = f"R² of latents, {data}" if what is R2 else f"seconds per fit, {data}"
    return plots.plot_heat_map(
        _matrix(spreads, "mean"), list(spreads), list(next(iter(spreads.values()))),
        label=label, names=_NAMES, digits=".3f" if what is R2 else ".1f",
        std=_matrix(spreads, "std") if _several_seeds(results) else None,
    )  # fmt: skip


def _several_seeds(results: ExperimentResults) -> bool:
    return len({record.cell.seed for record in results.done}) > 1


def _matrix(spreads: dict[int, dict[int, Spread | None]], part: str) -> Float[np.ndarray, "Q P"]:
    """Return means or standard deviations (Q x P), NaN without results."""
    return np.array([[np.nan if s is None else getattr(s, part) for s in row.values()] for row in spreads.values()])


def _heat_map_panel(cell: Cell) -> tuple[str, str]:
    return f"Q = {cell.coordinate(_Q)}", f"L/2 = {cell.coordinate(_P)}"


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
    """Kernels of the views, used in turn, and the number of columns of each view."""

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
# Fewer steps than other quick cells, because the cost grows with the number of views.
_QUICK_SETTINGS = {"max_iter": 200}


def measure_views(cell: Cell) -> Measurement:
    """Fit the given number of views. With the same seed, the first views are the same whatever their number."""
    kind, n_views = _VIEW_KINDS[cell.data], cell.coordinate(_VIEWS)
    kernels = [kind.kernels[v % len(kind.kernels)] for v in range(n_views)]
    data = draw_s_curve(cell, kernels, n_columns=kind.n_columns)
    settings = _QUICK_SETTINGS if cell.effort is Effort.QUICK and cell.method != "PCA" else {}
    latents = estimator_for(cell, settings=settings).fit_transform(dict(data.views))
    return Measurement(latent_r2(data, latents), aligned_latents(data, latents))


def write_views(results: ExperimentResults) -> Page:
    """Return the page with curves, and a gallery and a table for every kind of view."""
    notes = [
        """Views of one S-curve, each drawn from its own Gaussian process; with the same seed the first views are the
        same whatever their number. The paper states neither the kernels of its views nor their number of columns; here
        they have an RBF kernel, or RBF and Gibbs in turn, and two widths, because a wide view may leave little for
        other views to add.""",
        """R² is computed after the best affine map. It measures shape: a fit that unrolls the S into a line may explain
        the views equally well and have a low R². NG-MVLVM and MV-ARFLVM are initialised by PCA.""",
        seed_note(results),
    ]
    figures = {"curves": _views_curves(results)} if results.done else {}
    for data in results.data:
        figures |= latent_gallery(results, data, f"latents-{_slug(data)}", _views_panel)
    return Page([_views_table(results, data) for data in results.data], figures, notes)


def _slug(data: str) -> str:
    return data.lower().replace(" ", "-")


def _view_counts(results: ExperimentResults) -> list[int]:
    return sorted(int(number) for number in results.coordinates(_VIEWS))


def _views_table(results: ExperimentResults, data: str) -> ResultTable:
    numbers = _view_counts(results)
    spreads = {n: {m: results.spread(R2.number, data, m, {_VIEWS: n}) for m in results.methods} for n in numbers}
    best = {n: best_methods(by_method) for n, by_method in spreads.items()}

    def text(method: str, number: int) -> str:
        spread = spreads[number][method]
        written = R2.text(spread) if spread else "-"
        return f"**{written}**" if method in best[number] else written

    head = ["R²", *map(_views_label, numbers)]
    rows = [[method, *(text(method, number) for number in numbers)] for method in results.methods]
    return ResultTable(f"{results.experiment}-{_slug(data)}", data, [head, *rows])


def _views_curves(results: ExperimentResults) -> "Figure":
    panels: dict[str, dict[str, tuple[list[int], list[float], list[float]]]] = {}
    for data in results.data:
        for method in results.methods:
            at = {number: results.spread(R2.number, data, method, {_VIEWS: number}) for number in _view_counts(results)}
            there = {number: spread for number, spread in at.items() if spread is not None}
            means, stds = [s.mean for s in there.values()], [s.std for s in there.values()]
            panels.setdefault(data, {})[method] = (list(there), means, stds)
    return plots.plot_curve_panels(panels, x="number of views", y="R² of latents")


def _views_panel(cell: Cell) -> tuple[str, str]:
    return cell.method, _views_label(cell.coordinate(_VIEWS))


def _views_label(n_views: int) -> str:
    return f"{n_views} view{'s' if n_views > 1 else ''}"


VIEWS = Experiment(
    name="views",
    title="Latents by number of views",
    source="The paper's appendix on multi-view synthetic data: R² against the number of views, and the latents.",
    grids={effort: [Grid(list(_VIEW_KINDS), _VIEWS_METHODS, {_VIEWS: _N_VIEWS[effort]})] for effort in Effort},
    measure=measure_views,
    write=write_views,
)


_SCALABLE = ("NG-MVLVM", "MV-ARFLVM", "MVAE", "MMVAE", "MV-GPLVM-SVI", "MV-DGPLVM")
_SLOW = ("MV-RFLVM", "MV-NGPLVM", "MV-GPLVM")
_FIT_SECONDS = Measure("seconds", "seconds", scale=1.0, higher_is_better=False)
_WALL_TIME_GRIDS = {
    Effort.QUICK: [Grid(["MNIST"], (*_SCALABLE, *_SLOW), {"N": (100, 200, 400)})],
    Effort.FULL: [
        Grid(["MNIST"], (*_SCALABLE, *_SLOW), {"N": (100, 300, 1000)}),
        Grid(["MNIST"], _SCALABLE, {"N": (3000, 10_000)}),
        Grid(["MNIST"], _SCALABLE[:2], {"N": (70_000,)}),
    ],
}


def measure_wall_time(cell: Cell) -> Measurement:
    """Measure the time of a fit to images with their labels as a second view, without loading of data."""
    data = load_paper_data(
        cell.data, seed=cell.seed, effort=Effort.FULL, max_rows=cell.coordinate("N"), label_view=True
    )
    estimator = estimator_for(cell)
    begin = time.perf_counter()
    estimator.fit(dict(data.views))
    return Measurement({"seconds": time.perf_counter() - begin})


def write_wall_time(results: ExperimentResults) -> Page:
    """Return the page with seconds by method and number of rows."""
    sizes = [int(n) for n in sorted(results.coordinates("N"), key=float)]
    rows, curves = [["method", *(f"{n:,} rows" for n in sizes)]], {}
    for method in results.methods:
        spreads = [results.spread(_FIT_SECONDS.number, "MNIST", method, {"N": n}) for n in sizes]
        rows.append([method, *("-" if spread is None else _FIT_SECONDS.text(spread) for spread in spreads)])
        measured = [
            (n, spread.mean, spread.std) for n, spread in zip(sizes, spreads, strict=True) if spread is not None
        ]
        curves[method] = tuple(np.array(column, dtype=float) for column in zip(*measured, strict=True))
    figure = plots.plot_curves(curves, x="rows", y="seconds per fit", log="xy")
    return Page([ResultTable("wall-time", "Seconds per fit", rows)], {"seconds": figure}, [_WALL_TIME_NOTE])


_WALL_TIME_NOTE = """Every method has its default initialisation, and in a full run its default number of steps. MVAE,
MMVAE, MV-GPLVM-SVI and MV-DGPLVM take the same number of steps, of at most 128 or 200 rows each, whatever the number of
rows: their curves are flat because each row is visited less often as the number of rows grows. NG-MVLVM and MV-ARFLVM
use all rows in every step, and stop when the ELBO has converged. Exact Gaussian processes, which cost N³, and the
Markov chains of MV-RFLVM are limited to 1,000 rows; only NG-MVLVM and MV-ARFLVM are run with 70,000. Cells run in
parallel, so times are rough; `mvlvm bench` measures them one at a time, and compares with other libraries."""

WALL_TIME = Experiment(
    name="wall-time",
    title="Wall time by number of rows",
    source="Figure 3 of the paper: MNIST with its labels as a second view.",
    grids=_WALL_TIME_GRIDS,
    measure=measure_wall_time,
    write=write_wall_time,
)
