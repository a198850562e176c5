"""Quality as a function of sizes: R² and time over mixtures Q and spectral points L/2, and R² by number of views."""

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float

from benchmarks.cells import Cell, Grid, Measurement
from benchmarks.paper.paper_methods import OURS, estimator_for
from benchmarks.paper.paper_tables import Lead, verdict_on_leads
from benchmarks.paper.s_curve import R2, aligned_latents, draw_s_curve, latent_gallery, latent_r2, seed_note
from benchmarks.results import MeanStd, Results, difference, method_difference, points_of, seeds_of
from benchmarks.study import NO, YES, Claim, PageFigure, PagePart, Study, Verdict, cells_of_grids
from benchmarks.tables import Measure, ResultTable, curves_along

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KERNELS = {"RBF": ["rbf"], "Gibbs": ["gibbs"]}
_Q, _P = "Q", "L/2"
_PAPERS_CHOICE = {_Q: 2, _P: 50}
# The same number of steps in every cell, so that times measure the cost of a step and not convergence.
_N_STEPS, _N_QUICK_STEPS = 1000, 200
_WARM_UP_STEPS = 3
_SECONDS = Measure("seconds", "seconds", scale=1.0, digits=1, higher_is_better=False)
_NAMES = ("mixtures, Q", "spectral points per mixture, L/2")


def measure_heat_maps(cell: Cell) -> Measurement:
    """Fit one view with the given numbers of mixtures and points, and measure R² and time."""
    data = draw_s_curve(cell, _KERNELS[cell.data])
    settings = {
        "n_mixtures": cell.settings[_Q], "n_points": cell.settings[_P], "max_iter": _n_steps(cell.is_quick), "tol": 0.0,
    }  # fmt: skip
    # the first fit of a process includes the initialisation of libraries
    estimator_for(cell, settings={**settings, "max_iter": _WARM_UP_STEPS}).fit(dict(data.views))
    estimator = estimator_for(cell, settings=settings).fit(dict(data.views))
    seconds = estimator.fit_seconds_["preparing"] + estimator.fit_seconds_["training"]
    latents = estimator.embedding_
    return Measurement({**latent_r2(data, latents), _SECONDS.metric: seconds}, aligned_latents(data, latents))


def _n_steps(quick: bool) -> int:
    return _N_QUICK_STEPS if quick else _N_STEPS


def heat_maps_page(results: Results) -> list[PagePart]:
    """Return the page with heat maps, learned manifolds and tables for each kernel."""
    notes = [
        f"""One view of an S-curve, drawn from a Gaussian process with the kernel named in the figure; the paper does
        not state which kernel it used. L/2 is the number of spectral points per mixture, `n_points`; a fit has Q · L
        features. From its heat maps, whose values are not in its text, the paper chooses Q = 2 and "L = 50", which its
        table states as L/2 = 50. Every fit takes {_n_steps(results.quick):,} steps; the paper's take 10,000.""",
        """R² is computed after the best affine map. It measures shape: latents that bend or unroll the S differently
        may explain the view equally well. Times are those of preparing the view and of training, after a short warm-up
        fit. Cells that run at the same time on one machine slow each other down, so only rough ratios of times are
        meaningful. Tables and heat maps show mean ± standard deviation over seeds.""",
        seed_note(results),
    ]
    figures, tables = [], []
    for data in results.data:
        for what in (R2, _SECONDS):
            tables.append(_heat_map_table(results, data, what))
            figures.append(_heat_map(results, data, what))
        caption = f"Latents by Q and L/2, {data} kernel"
        figures.append(latent_gallery(results, data, f"{data.lower()}-manifolds", caption, _heat_map_panel))
    return ["## Protocol", *notes, "## Results", *figures, *tables]


_HeatMap = Mapping[int, Mapping[int, MeanStd | None]]


def _values(results: Results, data: str, what: Measure) -> _HeatMap:
    """Return Q -> L/2 -> mean and standard deviation of the measure, or None."""
    mixtures, points = (sorted(int(number) for number in points_of(results, axis)) for axis in (_Q, _P))
    return {Q: {P: results.mean_std(what.metric, data, OURS, {_Q: Q, _P: P}) for P in points} for Q in mixtures}


def _heat_map_table(results: Results, data: str, what: Measure) -> ResultTable:
    values = _values(results, data, what)
    head = [f"{what.column}: {_NAMES[0]}", *(f"L/2 = {P}" for P in next(iter(values.values())))]
    rows = [[str(Q), *(what.text(value) for value in by_points.values())] for Q, by_points in values.items()]
    name = f"{results.study}-{data.lower()}-{what.metric.lower()}"
    return ResultTable(name, f"{data}: {what.column}", [head, *rows])


def _heat_map(results: Results, data: str, what: Measure) -> PageFigure:
    label = f"R² of latents, {data}" if what is R2 else f"seconds per fit, {data}"

    def draw() -> "Figure":
        from mvlvm import plots

        values = _values(results, data, what)
        return plots.plot_heat_map(
            _matrix(values, "mean"), list(values), list(next(iter(values.values()))),
            label=label, names=_NAMES, digits=".3f" if what is R2 else ".1f",
            std=_matrix(values, "std") if len(seeds_of(results)) > 1 else None,
        )  # fmt: skip

    return PageFigure(f"{data.lower()}-{what.metric.lower()}", f"Heat map over Q and L/2: {label} kernel", draw)


def _matrix(values: _HeatMap, part: str) -> Float[np.ndarray, "Q P"]:
    """Return means or standard deviations (Q x P), NaN without results."""
    return np.array([[np.nan if v is None else getattr(v, part) for v in row.values()] for row in values.values()])


def _heat_map_panel(cell: Cell) -> tuple[str, str]:
    return f"Q = {cell.settings[_Q]}", f"L/2 = {cell.settings[_P]}"


def _no_choice_is_better(results: Results) -> Verdict | None:
    """Compare R² at the paper's choice with R² at every other choice, for both kernels."""
    gains, n_compared = [], 0
    for data in results.data:
        chosen = results.by_seed(R2.metric, data, OURS, _PAPERS_CHOICE)
        for Q, P in product(points_of(results, _Q), points_of(results, _P)):
            gap = difference(results.by_seed(R2.metric, data, OURS, {_Q: Q, _P: P}), chosen)
            if gap is not None and {_Q: Q, _P: P} != _PAPERS_CHOICE:
                n_compared += 1
                gains += [gap.mean] if gap.is_clear and gap.mean > 0 else []
    if not n_compared:
        return None
    most = f", by at most {max(gains):.3f}" if gains else ""
    return Verdict(f"{len(gains)} of {n_compared} clearly higher{most}", NO if gains else YES)


def _grids(mixtures: tuple[int, ...], points: tuple[int, ...]) -> list[Grid]:
    return [Grid(list(_KERNELS), [OURS], {_Q: mixtures, _P: points})]


HEAT_MAPS = Study(
    name="heat-maps",
    title="R² and time over mixtures and spectral points",
    what="The paper's appendix on hyperparameters: heat maps of R² and wall time over Q and L, and the manifolds.",
    group="paper",
    cells=cells_of_grids(
        "heat-maps", _grids((1, 2, 3, 4, 5), (5, 10, 25, 50, 100)), quick=_grids((1, 2, 4), (5, 25, 50))
    ),
    measure=measure_heat_maps,
    page=heat_maps_page,
    claims=[Claim("No other Q and L/2 has a higher R² than the paper's Q = 2, L/2 = 50", _no_choice_is_better)],
    marks=False,
)


class _ViewKind(NamedTuple):
    """Kernels of the views, used in turn, and the number of columns of each view."""

    kernels: tuple[str, ...]
    n_columns: int


_VIEW_KINDS = {
    "RBF with 20 columns": _ViewKind(("rbf",), 20),
    "RBF with 100 columns": _ViewKind(("rbf",), 100),
    "RBF and Gibbs with 20 columns": _ViewKind(("rbf", "gibbs"), 20),
}
_VIEWS_METHODS = (OURS, "MV-ARFLVM", "PCA")
_VIEWS = "views"
_N_VIEWS, _N_QUICK_VIEWS = (1, 2, 3, 4, 6), (1, 2, 4)
# Fewer steps than other quick cells, because the cost grows with the number of views.
_QUICK_SETTINGS = {"max_iter": 200}


def measure_views(cell: Cell) -> Measurement:
    """Fit the given number of views. With the same seed, the first views are the same whatever their number."""
    kind, n_views = _VIEW_KINDS[cell.data], cell.settings[_VIEWS]
    kernels = [kind.kernels[v % len(kind.kernels)] for v in range(n_views)]
    data = draw_s_curve(cell, kernels, n_columns=kind.n_columns)
    settings = _QUICK_SETTINGS if cell.is_quick and cell.method != "PCA" else {}
    latents = estimator_for(cell, settings=settings).fit_transform(dict(data.views))
    return Measurement(latent_r2(data, latents), aligned_latents(data, latents))


def views_page(results: Results) -> list[PagePart]:
    """Return the page with curves, and a gallery and a table for every kind of view."""
    notes = [
        """Views of one S-curve, each drawn from its own Gaussian process; with the same seed the first views are the
        same whatever their number. The paper states neither the kernels of its views nor their number of columns; here
        they have an RBF kernel, or RBF and Gibbs in turn, and two widths, because a wide view may leave little for
        other views to add.""",
        """R² is computed after the best affine map. It measures shape: a fit that unrolls the S into a line may explain
        the views equally well and have a low R². NG-MVLVM and MV-ARFLVM are initialised by PCA. In the figure, bands
        of one standard deviation end at the largest possible R² of 1.""",
        seed_note(results),
    ]
    caption = "R² of the latents by number of views, for every kind of view"
    curves = [PageFigure("curves", caption, lambda: _views_curves(results))] if results.done else []
    galleries = [
        latent_gallery(results, data, f"latents-{_slug(data)}", f"Latents by number of views, {data}", _views_panel)
        for data in results.data
    ]
    tables = [_views_table(results, data) for data in results.data]
    return ["## Protocol", *notes, "## Results", *curves, *galleries, *tables]


def _slug(data: str) -> str:
    return data.lower().replace(" ", "-")


def _view_counts(results: Results) -> list[int]:
    return sorted(int(number) for number in points_of(results, _VIEWS))


def _views_table(results: Results, data: str) -> ResultTable:
    numbers = _view_counts(results)
    columns = {n: R2.column_texts(results.at({_VIEWS: n}), data, results.methods) for n in numbers}
    rows = [[method, *(column[method] for column in columns.values())] for method in results.methods]
    return ResultTable(f"{results.study}-{_slug(data)}", data, [["R²", *map(_views_label, numbers)], *rows])


def _views_curves(results: Results) -> "Figure":
    from mvlvm import plots

    panels = {data: curves_along(results, R2.metric, data, _VIEWS) for data in results.data}
    return plots.plot_curve_panels(panels, x="number of views", y="R² of latents", limits=(None, 1.0))


def _views_panel(cell: Cell) -> tuple[str, str]:
    return cell.method, _views_label(cell.settings[_VIEWS])


def _views_label(n_views: int) -> str:
    return f"{n_views} view{'s' if n_views > 1 else ''}"


def _r2_rises(results: Results) -> Verdict | None:
    """Compare R² with the largest and the smallest number of views, for every kind of view."""
    counts, leads = _view_counts(results), dict[str, Lead | None]()
    for data in results.data:
        few, many = (results.by_seed(R2.metric, data, OURS, {_VIEWS: n}) for n in (counts[0], counts[-1]))
        gap = difference(many, few)
        leads[data] = None if gap is None else Lead(OURS, _views_label(counts[0]), gap)
    return verdict_on_leads(leads)


def _many_views_are_better_used(results: Results) -> Verdict | None:
    """Compare R² with the R² of PCA, the initialisation, at the largest number of views."""
    n_views, leads = max(_view_counts(results), default=0), dict[str, Lead | None]()
    for data in results.data:
        gap = method_difference(results, R2.metric, data, OURS, "PCA", {_VIEWS: n_views})
        leads[data] = None if gap is None else Lead(OURS, "PCA", gap)
    return verdict_on_leads(leads)


def _views_grids(n_views: tuple[int, ...]) -> list[Grid]:
    return [Grid(list(_VIEW_KINDS), _VIEWS_METHODS, {_VIEWS: n_views})]


VIEWS = Study(
    name="views",
    title="Latents by number of views",
    what="The paper's appendix on multi-view synthetic data: R² against the number of views, and the latents.",
    group="paper",
    cells=cells_of_grids("views", _views_grids(_N_VIEWS), _views_grids(_N_QUICK_VIEWS)),
    measure=measure_views,
    page=views_page,
    claims=[
        Claim(f"R² of {OURS} is higher with the largest number of views than with one", _r2_rises),
        Claim(f"With the largest number of views, R² of {OURS} is above that of PCA", _many_views_are_better_used),
    ],
)
