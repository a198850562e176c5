"""Wall time of a fit against the number of rows."""

import time

import numpy as np

from mvlvm import plots
from mvlvm.experiments.data import load_paper_data
from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.found import Found
from mvlvm.experiments.methods import estimator_for
from mvlvm.experiments.pages import Page
from mvlvm.experiments.spec import Cell, Effort, Grid, Measured
from mvlvm.experiments.tables import Measure, Table

_SCALABLE = ("NG-MVLVM", "MV-ARFLVM", "MVAE", "MMVAE", "MV-GPLVM-SVI", "MV-DGPLVM")
_SLOW = ("MV-RFLVM", "MV-NGPLVM", "MV-GPLVM")
_SECONDS = Measure("seconds", "seconds", times=1.0, higher_is_better=False)
_GRIDS = {
    Effort.QUICK: [Grid(["MNIST"], (*_SCALABLE, *_SLOW), {"N": (100, 200, 400)})],
    Effort.FULL: [
        Grid(["MNIST"], (*_SCALABLE, *_SLOW), {"N": (100, 300, 1000)}),
        Grid(["MNIST"], _SCALABLE, {"N": (3000, 10_000)}),
        Grid(["MNIST"], _SCALABLE[:2], {"N": (70_000,)}),
    ],
}


def measure(cell: Cell) -> Measured:
    """Fit images with their classes as a second view, data loaded beforehand."""
    data = load_paper_data(cell.data, seed=cell.seed, effort=Effort.FULL, most_rows=cell.where("N"), label_view=True)
    estimator = estimator_for(cell)
    begin = time.perf_counter()
    estimator.fit(dict(data.views))
    return Measured({"seconds": time.perf_counter() - begin})


def write(found: Found) -> Page:
    """Give seconds by method and rows."""
    sizes = [int(n) for n in sorted(found.coordinates("N"), key=float)]
    rows, curves = [["method", *(f"{n:,} rows" for n in sizes)]], {}
    for method in found.methods:
        spreads = [found.spread(_SECONDS.number, "MNIST", method, {"N": n}) for n in sizes]
        rows.append([method, *("-" if spread is None else _SECONDS.text(spread) for spread in spreads)])
        measured = [
            (n, spread.mean, spread.std) for n, spread in zip(sizes, spreads, strict=True) if spread is not None
        ]
        curves[method] = tuple(np.array(column, dtype=float) for column in zip(*measured, strict=True))
    figure = plots.plot_curves(curves, x="rows", y="seconds of a fit", log="xy")
    return Page([Table("wall-time", "Seconds of a fit", rows)], {"seconds": figure}, [_NOTE])


_NOTE = """Every method starts as it does by default, and at full size takes as many steps. MVAE, MMVAE, MV-GPLVM-SVI
and MV-DGPLVM take the same number of steps, of at most 128 or 200 rows, however many rows there are: their lines are
flat because the more rows there are, the less often each is seen. NG-MVLVM and MV-ARFLVM see all rows in every step,
and end when the bound is flat. Exact Gaussian processes, which cost N³, and the chains of MV-RFLVM are given up to
1,000 rows; only NG-MVLVM and MV-ARFLVM are asked for 70,000. Cells run beside each other, so seconds are rough;
`mvlvm bench` measures them one at a time, with other libraries beside."""

EXPERIMENT = Experiment(
    name="wall-time",
    title="Wall time against the number of rows",
    source="Figure 3 of the paper: MNIST with its classes as a second view.",
    grids=_GRIDS,
    measure=measure,
    write=write,
)
