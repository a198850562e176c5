"""What more views bring: R² of the latents against the number of views."""

from typing import TYPE_CHECKING, NamedTuple

from mvlvm import plots
from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.found import Found
from mvlvm.experiments.methods import estimator_for
from mvlvm.experiments.pages import Page
from mvlvm.experiments.s_curve import R2, aligned, draw_s_curve, latent_gallery, latent_r2, note_on_seed
from mvlvm.experiments.spec import Cell, Effort, Grid, Measured
from mvlvm.experiments.tables import Table, best_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Kind(NamedTuple):
    """The kernels of views, taken in turn, and the columns of each."""

    kernels: tuple[str, ...]
    n_columns: int


_KINDS = {
    "RBF with 20 columns": _Kind(("rbf",), 20),
    "RBF with 100 columns": _Kind(("rbf",), 100),
    "RBF and Gibbs with 20 columns": _Kind(("rbf", "gibbs"), 20),
}
_METHODS = ("NG-MVLVM", "MV-ARFLVM", "PCA")
_VIEWS = "views"
_NUMBERS = {Effort.QUICK: (1, 2, 4), Effort.FULL: (1, 2, 3, 4, 6)}
# Fewer steps than quick cells take elsewhere: several views cost several times as much.
_QUICK = {"max_iter": 200}


def measure(cell: Cell) -> Measured:
    """Fit so many views. With one seed the first views are the same, however many there are."""
    kind, n_views = _KINDS[cell.data], cell.where(_VIEWS)
    kernels = [kind.kernels[v % len(kind.kernels)] for v in range(n_views)]
    data = draw_s_curve(cell, kernels, n_columns=kind.n_columns)
    settings = _QUICK if cell.effort is Effort.QUICK and cell.method != "PCA" else {}
    latents = estimator_for(cell, settings=settings).fit_transform(dict(data.views))
    return Measured(latent_r2(data, latents), aligned(data, latents))


def write(found: Found) -> Page:
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
    figures = {"curves": _curves(found)} if found.done else {}
    for data in found.data:
        figures |= latent_gallery(found, data, f"latents-{_slug(data)}", _place)
    return Page([_table(found, data) for data in found.data], figures, notes)


def _slug(data: str) -> str:
    return data.lower().replace(" ", "-")


def _numbers(found: Found) -> list[int]:
    return sorted(int(number) for number in found.coordinates(_VIEWS))


def _table(found: Found, data: str) -> Table:
    numbers = _numbers(found)
    spreads = {n: {m: found.spread(R2.number, data, m, {_VIEWS: n}) for m in found.methods} for n in numbers}
    best = {n: best_of(by_method) for n, by_method in spreads.items()}

    def text(method: str, number: int) -> str:
        spread = spreads[number][method]
        written = R2.text(spread) if spread else "-"
        return f"**{written}**" if method in best[number] else written

    head = ["R²", *map(_said, numbers)]
    rows = [[method, *(text(method, number) for number in numbers)] for method in found.methods]
    return Table(f"{found.experiment}-{_slug(data)}", data, [head, *rows])


def _curves(found: Found) -> "Figure":
    panels: dict[str, dict[str, tuple[list[int], list[float], list[float]]]] = {}
    for data in found.data:
        for method in found.methods:
            at = {number: found.spread(R2.number, data, method, {_VIEWS: number}) for number in _numbers(found)}
            there = {number: spread for number, spread in at.items() if spread is not None}
            means, stds = [s.mean for s in there.values()], [s.std for s in there.values()]
            panels.setdefault(data, {})[method] = (list(there), means, stds)
    return plots.plot_curve_panels(panels, x="number of views", y="R² of latents")


def _place(cell: Cell) -> tuple[str, str]:
    return cell.method, _said(cell.where(_VIEWS))


def _said(n_views: int) -> str:
    return f"{n_views} view{'s' if n_views > 1 else ''}"


EXPERIMENT = Experiment(
    name="views",
    title="Latents of more and more views",
    source="The paper's appendix on multi-view synthetic data: R² against the number of views, and the latents.",
    grids={effort: [Grid(list(_KINDS), _METHODS, {_VIEWS: _NUMBERS[effort]})] for effort in Effort},
    measure=measure,
    write=write,
)
