"""What mixtures and spectral points bring, and what they cost: R² and time over Q and L."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from mvlvm import plots
from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.found import Found, Spread
from mvlvm.experiments.methods import OURS, estimator_for
from mvlvm.experiments.pages import Page
from mvlvm.experiments.s_curve import R2, aligned, draw_s_curve, latent_gallery, latent_r2, note_on_seed
from mvlvm.experiments.spec import Cell, Effort, Grid, Measured
from mvlvm.experiments.tables import Measure, Table

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


def measure(cell: Cell) -> Measured:
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
    return Measured({**latent_r2(data, latents), _SECONDS.number: seconds}, aligned(data, latents))


def write(found: Found) -> Page:
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
            tables.append(_table(found, data, what))
            figures[f"{data.lower()}-{what.number.lower()}"] = _heat_map(found, data, what)
        figures |= latent_gallery(found, data, f"{data.lower()}-manifolds", _place)
    return Page(tables, figures, notes)


def _spreads(found: Found, data: str, what: Measure) -> dict[int, dict[int, Spread | None]]:
    """Give Q -> L/2 -> the number, or None."""
    mixtures, points = (sorted(int(number) for number in found.coordinates(axis)) for axis in (_Q, _P))
    return {Q: {P: found.spread(what.number, data, OURS, {_Q: Q, _P: P}) for P in points} for Q in mixtures}


def _table(found: Found, data: str, what: Measure) -> Table:
    spreads = _spreads(found, data, what)
    head = [f"{what.column}: {_NAMES[0]}", *(f"L/2 = {P}" for P in next(iter(spreads.values())))]
    rows = [[str(Q), *(what.text(s) if s else "-" for s in by_points.values())] for Q, by_points in spreads.items()]
    name = f"{found.experiment}-{data.lower()}-{what.number.lower()}"
    return Table(name, f"{data}: {what.column}", [head, *rows])


def _heat_map(found: Found, data: str, what: Measure) -> "Figure":
    spreads = _spreads(found, data, what)
    label = f"R² of latents, {data}" if what is R2 else f"seconds of a fit, {data}"
    return plots.plot_heat_map(
        _matrix(spreads, "mean"), list(spreads), list(next(iter(spreads.values()))),
        label=label, names=_NAMES, digits=".3f" if what is R2 else ".1f",
        std=_matrix(spreads, "std") if _several_seeds(found) else None,
    )  # fmt: skip


def _several_seeds(found: Found) -> bool:
    return len({record.cell.seed for record in found.done}) > 1


def _matrix(spreads: dict[int, dict[int, Spread | None]], part: str) -> Float[np.ndarray, "Q P"]:
    """Give means or standard deviations, NaN where there are none."""
    return np.array([[np.nan if s is None else getattr(s, part) for s in row.values()] for row in spreads.values()])


def _place(cell: Cell) -> tuple[str, str]:
    return f"Q = {cell.where(_Q)}", f"L/2 = {cell.where(_P)}"


EXPERIMENT = Experiment(
    name="heat-maps",
    title="R² and time over mixtures and spectral points",
    source="The paper's appendix on hyperparameters: heat maps of R² and wall time over Q and L, and the manifolds.",
    grids={effort: [Grid(list(_KERNELS), [OURS], _AXES[effort])] for effort in Effort},
    measure=measure,
    write=write,
)
