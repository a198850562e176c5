"""The study of single-view methods with their defaults on R-MNIST, compared with the values printed in the paper."""

from math import hypot, sqrt

from benchmarks.cells import Cell, Grid, Measurement
from benchmarks.paper.paper_methods import estimator_for
from benchmarks.paper.paper_tables import Printed, printed
from benchmarks.quality.prediction_scores import reduced
from benchmarks.quality.quality_page import standard_error, total_seconds, with_error
from benchmarks.results import MeanStd, Results
from benchmarks.study import Claim, PagePart, Study, Verdict, cells_of_grids, within
from benchmarks.tables import Measure, markdown
from mvlvm import datasets
from mvlvm.evaluation import nearest_neighbour_accuracy

DATA = "r-mnist"
# Uses the labels of all rows, so that its accuracy is not comparable with that of the others.
SUPERVISED = "linear discriminant analysis"
METHODS = (
    "PCA", SUPERVISED, "latent Dirichlet allocation", "Isomap", "HPF", "BGPLVM", "GPLVM-SVI", "DGPLVM", "VAE", "NBVAE",
    "DCA", "CVQ-VAE", "RFLVM", "ARFLVM", "NG-MVLVM",
)  # fmt: skip
# Methods that are defined well enough in the paper to be reproduced: they must not be further below it than this.
REPRODUCIBLE = ("PCA", "Isomap", "VAE", "BGPLVM", "GPLVM-SVI", "ARFLVM")
LARGEST_GAP = 5.0
# Number of runs behind a value of the paper.
_PAPER_RUNS = 5
_ACCURACY = Measure("accuracy", "here")

_WHAT = """
R-MNIST, 1,000 digits drawn by the seed, two latent dimensions, five-fold accuracy of 1-NN in percent; every method with
its defaults. The paper's "LDA" is ambiguous, so that both methods of this name are listed with its value. Linear
discriminant analysis uses the labels of all rows, so that its accuracy says nothing about new rows, and is not ranked.
"Total seconds" includes loading and evaluation.
"""


def measure_baseline(cell: Cell) -> Measurement:
    """Return the five-fold 1-NN accuracy in two latent dimensions, with default parameters."""
    data = reduced(cell, datasets.load(DATA, random_state=cell.seed))
    assert data.labels is not None
    latents = estimator_for(cell).fit_transform(data.views, data.labels)
    return Measurement({"accuracy": nearest_neighbour_accuracy(latents, data.labels)})


def paper_value(method: str) -> Printed:
    """Return the accuracy of the paper's single-view table in percent."""
    value = printed("single-view", method, "R-MNIST KNN")
    assert value is not None
    return value


def _gap(found: MeanStd, paper: Printed) -> float:
    """Return the difference from the paper in points."""
    return _ACCURACY.scale * found.mean - paper.mean


def baselines_page(results: Results) -> list[PagePart]:
    """Return the comparison with the paper."""
    methods = results.methods
    texts = _ACCURACY.column_texts(results, DATA, methods, mark_best=False)
    texts |= _ACCURACY.column_texts(results, DATA, [method for method in methods if method != SUPERVISED])
    rows = [["method", "paper", _ACCURACY.column, "difference", "total seconds"]]
    for method in methods:
        paper, found = paper_value(method), results.mean_std("accuracy", DATA, method)
        assert found is not None
        theirs, gap = f"{paper.mean:.1f} ± {paper.std:.1f}", f"{_gap(found, paper):+.1f}"
        rows.append([method, theirs, texts[method], gap, total_seconds(results, DATA, method)])
    return ["## Comparison with the paper", markdown(rows)]


def _claim(method: str) -> Claim:
    """Return the claim that a method is at most a few points below the paper."""

    def judge(results: Results) -> Verdict | None:
        paper, found = paper_value(method), results.mean_std("accuracy", DATA, method)
        if found is None:
            return None
        gap = _gap(found, paper)
        error = hypot(_ACCURACY.scale * standard_error(found), paper.std / sqrt(_PAPER_RUNS))
        text = with_error(f"{gap:+.1f} points", error)
        return within(gap, text, lowest=-LARGEST_GAP, standard_error=error)

    return Claim(f"{method}: at most {LARGEST_GAP:g} points below the paper", judge)


BASELINES = Study(
    name="baselines",
    title="Single-view methods on R-MNIST",
    what=_WHAT,
    group="quality",
    cells=cells_of_grids("baselines", [Grid([DATA], METHODS)]),
    measure=measure_baseline,
    page=baselines_page,
    claims=tuple(_claim(method) for method in REPRODUCIBLE),
)
