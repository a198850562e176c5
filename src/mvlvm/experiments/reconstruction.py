"""The reconstruction table: the mean squared error of images rebuilt from their latents."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from mvlvm.experiments.data import load_paper_data, note_on
from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.found import Found
from mvlvm.experiments.methods import MOST_ROWS, OURS, estimator_for
from mvlvm.experiments.pages import Page
from mvlvm.experiments.paper import printed
from mvlvm.experiments.shown import (
    at_point,
    lines_along,
    mean_squared_error,
    note_on_rows,
    table_along,
    unit_pixels,
)
from mvlvm.experiments.spec import Cell, Effort, Grid, Measured
from mvlvm.experiments.tables import Measure, comparison

_PAPERS_D, _PAPER_TABLE = 2, "reconstruction"
_METHODS = (OURS, "MV-ARFLVM", "MV-DGPLVM", "MVAE", "PCA")
_MEANS, _ALIKE = "mean of every pixel", f"{OURS} (views weighed alike)"
_QUICK_ROWS = 200


def _error(view: str, column: str) -> Measure:
    return Measure(f"MSE {view}", column, times=1.0, digits=4, higher_is_better=False)


_MEASURES = {
    "MNIST": (_error("image", ""),),
    "CIFAR": (_error("image", ""),),
    "MNIST-SVHN": (_error("mnist", "(MNIST view)"), _error("svhn", "(SVHN view)")),
    "R-MNIST": (_error("image", ""),),
    "R-CIFAR": (_error("image", ""),),
}
_PAPERS, _SMALL = tuple(_MEASURES)[:3], tuple(_MEASURES)[3:]
_GRIDS = {
    Effort.QUICK: [
        Grid(_PAPERS, _METHODS, {"D": (_PAPERS_D,)}),
        Grid(_PAPERS, (OURS, "PCA"), {"D": (10,)}),
        Grid(("MNIST-SVHN",), (_ALIKE,), {"D": (_PAPERS_D,)}),
        Grid(_PAPERS, (_MEANS,)),
    ],
    Effort.FULL: [
        Grid(_PAPERS, _METHODS, {"D": (_PAPERS_D,)}),
        Grid(_PAPERS, (OURS, "MV-ARFLVM", "PCA"), {"D": (5, 10, 20)}),
        Grid(("MNIST-SVHN",), (_ALIKE,), {"D": (_PAPERS_D, 5, 10, 20)}),
        Grid(_SMALL, _METHODS, {"D": (_PAPERS_D,)}),
        Grid((*_PAPERS, *_SMALL), (_MEANS,)),
    ],
}


def measure(cell: Cell) -> Measured:
    """Fit the images, and rebuild them."""
    most_rows = _QUICK_ROWS if cell.effort is Effort.QUICK else MOST_ROWS.get(cell.method)
    data = load_paper_data(cell.data, seed=cell.seed, effort=cell.effort, most_rows=most_rows)
    views = unit_pixels(data.views)
    if cell.method == _MEANS:
        rebuilt = {name: Y.mean(axis=0, dtype=np.float64) for name, Y in views.items()}
    else:
        rebuilt = _model(cell, views).fit(views).reconstruct()
    errors = {f"MSE {name}": mean_squared_error(Y, rebuilt[name]) for name, Y in views.items()}
    return Measured({**errors, "rows": len(next(iter(views.values())))})


def _model(cell: Cell, views: Mapping[str, Float[np.ndarray, "N _"]]) -> Any:
    if cell.method != _ALIKE:
        return estimator_for(cell, cell.where("D"))
    fewest = min(Y.shape[1] for Y in views.values())
    weights = {name: fewest / Y.shape[1] for name, Y in views.items()}
    return estimator_for(replace(cell, method=OURS), cell.where("D"), {"view_weights": weights})


def write(found: Found) -> Page:
    """Give the paper's table, and the errors along the latent dimension."""
    from mvlvm.plots import plot_curve_panels

    tables, panels, references = [], {}, {}
    for data in found.data:
        here, title = at_point(found, {"D": _PAPERS_D}), f"{data}, {_PAPERS_D} latent dimensions"
        table = comparison(here, data, _MEASURES[data], paper_table=_PAPER_TABLE, title=title)
        tables.append(replace(table, name=f"reconstruction-{data.lower()}"))
        for error in _MEASURES[data] if data in _PAPERS else ():  # others have one dimension
            title = f"{data} {error.column}".strip()
            tables.append(table_along(found, error, data, "D", title=f"{title}, by latent dimensions D"))
            panels[title] = lines_along(found, error.number, data, "D")
            theirs = printed(_PAPER_TABLE, OURS, title)
            references[title] = {} if theirs is None else {f"{OURS}, paper": theirs.mean}
    panels = {title: lines for title, lines in panels.items() if lines}
    x, y = "latent dimensions", "mean squared error"
    curves = plot_curve_panels(panels, x=x, y=y, log="y", references=references) if panels else None
    figures = {} if curves is None else {"by-dimension": curves}
    return Page(tables, figures, [*_NOTES, note_on_rows(found), note_on(found.data)])


_NOTES = (
    """The mean squared error of the training images, whose pixels run from 0 to 1; the paper's numbers suggest that
    unit. It does not say how many latent dimensions the table has, only that two are its default ("the latent space is
    set to 2D by default"), so the paper's numbers stand beside ours with two. The other tables show how the error falls
    with the dimension.""",
    """The error of training images also depends on how many there are: with Q = 2 and P = 50 every pixel has 200
    weights, which are many for 1,000 images and few for 70,000. So R-MNIST (1,000 images) and R-CIFAR (2,000) are
    there, too, in a full run; the paper does not say how many images its table has.""",
    f"""In MNIST-SVHN one view has 784 pixels and the other 3,072, so that the evidence of the second has more to say in
    the shared latents. "{_ALIKE}" gives the views weights (`view_weights`) that make up for it.""",
    f""""{_MEANS}" rebuilds every image as the mean image. A method above it does worse than to say nothing about an
    image; the numbers of a column can be read by this yardstick, the paper's included.""",
)

EXPERIMENT = Experiment(
    name="reconstruction",
    title="Images rebuilt from their latents",
    source="A table of the paper's appendix: mean squared error of images rebuilt from their latents.",
    grids=_GRIDS,
    measure=measure,
    write=write,
    printed={data: _MEASURES[data] for data in _PAPERS},
    printed_at={"D": _PAPERS_D},
)
