"""The study of missing entries, out-of-sample rows and cross-view prediction, and its page."""

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.quality.cross_view import COLUMN_MEANS, PREDICTION_TASKS, measure_prediction
from benchmarks.quality.out_of_sample import ALL_ROWS, DRUGS, OURS, TRANSFORM
from benchmarks.quality.quality_page import (
    QualitySection,
    ahead_of,
    difference_within,
    mean_within,
    ratio_within,
    section_parts,
    task_cells,
)
from benchmarks.results import Results
from benchmarks.study import PageFigure, PagePart, Study
from benchmarks.tables import Measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WHAT = """
Missing entries, missing views, out-of-sample rows, and prediction with error bars, on real data and compared with other
methods. A seed determines the missing rows or entries, and is the `random_state` of the fit. NG-MVLVM has the settings
named below and defaults elsewhere; no setting was chosen per seed. RMSE is in standardised units: the errors of a
column are divided by the standard deviation of its observed entries, so that predicting the mean gives about 1. If
another method is run with several settings, the claims use its setting with the lowest mean error on the missing
entries, a choice in its favour that no user could make. "Total seconds" includes loading, fitting and predicting for
one seed. Cells run several at a time and partly on different machines, so that times only indicate orders of magnitude.
"""

_CALIBRATION = """
**How to read it.** For every probability, the share of missing entries inside the central interval of that probability,
over all seeds. On the diagonal the intervals are calibrated; below it they are too narrow. The intervals are those of a
normal distribution with the predicted mean and standard deviation. Data with heavy tails, or pixels that are mostly
zero, lie above the diagonal in the middle and close to it at the end even if the standard deviation is correct.
"""


def _error(metric: str, column: str) -> Measure:
    return Measure(metric, column, scale=1.0, digits=3, higher_is_better=False)


def _plain(metric: str, column: str, digits: int = 3) -> Measure:
    return Measure(metric, column, scale=1.0, digits=digits)


_INTERVALS = tuple(_plain(f"covers {percent}", f"inside {percent} %") for percent in (50, 80, 95))
_LOG_DENSITY, _TEMPERING = _plain("log density", "log density"), _plain("tempering", "tempering")

DIGITS = QualitySection(
    data="digits-halves",
    title="Right half of a digit from its left half",
    task="""
`digits-halves`: 1,797 digits of 8 x 8 pixels, divided into a left and a right half. Four fifths of the rows are fitted;
for the others the right half is predicted from the left. NG-MVLVM: `n_components=8`, `max_iter=500`. The other methods
are regressions on the raw pixels of the left half, which all have the same unit. Columns that are constant in the
training rows are excluded.""",
    methods=list(PREDICTION_TASKS["digits-halves"]),
    columns=[_error("RMSE", "RMSE"), *_INTERVALS, _LOG_DENSITY, _TEMPERING],
    ranked=["RMSE"],
    reading="""
**How to read it.** Ridge regression is the best linear predictor; nearest neighbours are a strong method if there are
many similar rows. Both learn only to predict the right half from the left. NG-MVLVM is fitted once and can also predict
the left half, or any missing pixels. A few pixels at the border are almost always zero: divided by their small standard
deviation, a single stroke has a large effect on the RMSE of every method. Log density is in nats per entry in the same
units. "Inside 95 %" is the share of entries inside the central 95 % interval. "Tempering" is the power to which the
likelihood of a new row is raised ([new rows](../new_rows.md)).""",
    curve="digits-halves: right half from left",
)

MFEAT = QualitySection(
    data="mfeat",
    title="Missing entries in six views",
    task="""
`mfeat`: 2,000 handwritten digits described by six sets of features, 649 columns in total. A fifth of the pairs of row
and view is removed, and a fifth of the remaining entries is removed at random. All methods see all rows. NG-MVLVM:
`n_components=10`, `scale="column"`, `max_iter=500`, then `impute()`. MOFA has the same number of factors. `KNNImputer`
and `IterativeImputer` use the standardised columns of all views; the latter regresses each column on 50 others
(`BayesianRidge`, `n_nearest_features=50`, `max_iter=5`).""",
    methods=list(PREDICTION_TASKS["mfeat"]),
    columns=[
        _error("RMSE all", "RMSE"), _error("RMSE views", "missing views"), _error("RMSE entries", "missing entries"),
        _INTERVALS[-1], _LOG_DENSITY,
    ],
    ranked=["RMSE all", "RMSE views", "RMSE entries"],
    reading="""
**How to read it.** NG-MVLVM and MOFA represent a row by ten numbers; `IterativeImputer` has no such bottleneck,
predicts from the most similar columns, and returns neither an embedding nor, as it is run here, error bars. It shows
what the data contain. A missing entry can be predicted from other entries of its view; an entry of a missing view
cannot, so the two columns are different tasks.""",
    curve="mfeat: missing entries of six views",
)  # fmt: skip

BREAST = QualitySection(
    data="breast-tcga",
    title="Proteins from RNA",
    task="""
`breast-tcga`: 220 tumours with mRNA and miRNA, 150 of them with proteins. The proteins of 50 are removed and predicted.
NG-MVLVM (`n_components=10`, `max_iter=500`) is fitted without these 50 rows, which are out-of-sample. MOFA is fitted to
all 220 rows with these proteins missing. Ridge regresses the proteins on principal scores of each RNA view, computed
from all 220 rows.""",
    methods=list(PREDICTION_TASKS["breast-tcga"]),
    columns=[_error("RMSE", "RMSE"), *_INTERVALS, _LOG_DENSITY, _TEMPERING],
    ranked=["RMSE"],
    reading="""
**How to read it.** There are 100 rows to learn proteins from and 50 test rows, so a linear model with a good penalty is
a strong method, and part of the spread over seeds is due to the split, which all methods share. MOFA and ridge
regression use the RNA of the test rows during fitting; NG-MVLVM does not. A method that is not below the column means
has learned nothing useful.""",
    curve="breast-tcga: proteins from mRNA and miRNA",
)

CLL = QualitySection(
    data="cll",
    title="A label from views with missing entries",
    task="""
`cll`: 200 patients, four views (drugs, mutations, protein, bioenergetics) with all their missing entries, fitted in one
call (`n_components=5`, `max_iter=500`). The column of the label, IGHV status, is excluded from the mutations. The label
is then predicted from the latents by logistic regression: balanced accuracy, five folds. This is compared with the drug
responses, 310 columns with missing entries replaced by means, on the same rows: those with drugs and a known
label.""",
    methods=list(PREDICTION_TASKS["cll"]),
    columns=[_plain("with drugs", "rows with drugs"), _plain("all labelled", "all labelled rows")],
    ranked=["with drugs"],
    reading="""
**How to read it.** The label is not used by the fit, but the test rows are: the latents come from one fit to all rows.
Five numbers per patient are compared with 310. "All labelled rows" includes patients without drug responses, for whom
drugs alone give no prediction.""",
)


def _transform_section(name: str, data: str, settings: str, reading: str) -> QualitySection:
    return QualitySection(
        data=f"transform-{name}",
        title=f"Out-of-sample rows: {name}",
        task=f"""
{data} Two latent dimensions, {settings}. "Transform": four fifths of the rows are fitted, and the latents of the others
are inferred by `transform`. "All rows fitted": one fit to all rows. For both, the percentage of the other rows whose
nearest row among the four fifths has the same label.""",
        methods=list(PREDICTION_TASKS[f"transform-{name}"]),
        columns=[Measure("accuracy", "1-NN accuracy, %")],
        ranked=["accuracy"],
        reading=reading,
    )


TRANSFORMED = (
    _transform_section(
        "r-mnist", "`r-mnist`: 1,000 digits of 28 x 28 pixels, drawn by the seed.", "`max_iter=1000`", """
**How to read it.** The second row is the accuracy without any loss from out-of-sample inference. It also has the
advantage of a quarter more rows to learn from. With 200 new rows, one percent is two rows."""),
    _transform_section("mfeat", "`mfeat`: 2,000 digits, six complete views.", "`max_iter=500`", """
**How to read it.** As above, with 400 new rows: one percent is four rows."""),
)  # fmt: skip

MANY_ROWS = QualitySection(
    data="mnist-10000",
    title="Ten thousand new rows",
    task="""
10,000 rows of `mnist` are fitted (`max_iter=300`, two latent dimensions; not timed), and the latents of 10,000 new rows
are inferred by `transform`.""",
    methods=list(PREDICTION_TASKS["mnist-10000"]),
    columns=[
        _plain("rows", "new rows", 0), _plain("seconds", "seconds for `transform`", 0), _plain("threads", "threads", 0),
        Measure("accuracy", "1-NN accuracy, %", digits=0),
    ],
    reading="""
**How to read it.** A single timing, with other cells running at the same time: an order of magnitude. The total
includes the fit.""",
)  # fmt: skip

SECTIONS = (DIGITS, MFEAT, BREAST, CLL, *TRANSFORMED, MANY_ROWS)

CLAIMS = (
    ahead_of(DIGITS, "RMSE below that of ridge", OURS, ["ridge"], "RMSE"),
    ratio_within(DIGITS, "RMSE at most 3 % above the better of 5-NN and 10-NN", OURS, ["5-NN", "10-NN"], "RMSE",
                 highest=1.03),
    mean_within(DIGITS, "coverage of 95 % intervals between 0.90 and 0.98", OURS, "covers 95", lowest=0.90,
                highest=0.98),
    ahead_of(MFEAT, "RMSE below that of column means", OURS, [COLUMN_MEANS], "RMSE all"),
    ahead_of(MFEAT, "RMSE below that of KNNImputer", OURS, MFEAT.family("KNNImputer"), "RMSE all"),
    ahead_of(MFEAT, "RMSE below that of MOFA", OURS, MFEAT.family("MOFA"), "RMSE all"),
    ahead_of(BREAST, "RMSE below that of MOFA", OURS, BREAST.family("MOFA"), "RMSE"),
    ratio_within(BREAST, "RMSE at most 3 % above that of ridge", OURS, BREAST.family("ridge"), "RMSE", highest=1.03),
    mean_within(BREAST, "coverage of 95 % intervals between 0.90 and 0.98", OURS, "covers 95", lowest=0.90,
                highest=0.98),
    difference_within(CLL, "balanced accuracy at most 0.05 below drugs alone", OURS, DRUGS, "with drugs",
                      lowest=-0.05),
    *(
        difference_within(section, "accuracy of `transform` at most 3 points below that of a fit to all rows",
                          TRANSFORM, ALL_ROWS, "accuracy", lowest=-0.03)
        for section in TRANSFORMED
    ),
)  # fmt: skip


def cross_view_page(results: Results) -> list[PagePart]:
    """Return the sections of the page, and the calibration figure."""
    parts = [part for section in SECTIONS for part in section_parts(section, results)]
    curves = reliability_curves(results)
    if not curves:
        return parts

    def draw() -> "Figure":
        from mvlvm.plots import plot_reliability

        return plot_reliability(curves)

    caption = "Coverage of the predictive intervals by their probability"
    return [*parts, "## Calibration", PageFigure("calibration", caption, draw), _CALIBRATION]


def reliability_curves(results: Results) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the coverage of intervals over all entries of all seeds, for sections with error bars."""
    curves = {}
    for section in SECTIONS:
        records = section.complete(results).select(section.data, OURS) if section.curve else []
        metrics = [record.metrics for record in records]
        if metrics:
            weights = [values["entries"] for values in metrics]
            observed = np.average([values["observed"] for values in metrics], axis=0, weights=weights)
            curves[section.curve] = (np.array(metrics[0]["expected"]), observed)
    return curves


CROSS_VIEW = Study(
    name="cross-view",
    title="Missing entries, new rows and cross-view prediction",
    what=_WHAT,
    group="quality",
    cells=task_cells(
        "cross-view", {data: list(methods) for data, methods in PREDICTION_TASKS.items()}, {"mnist-10000": 1}
    ),
    measure=measure_prediction,
    page=cross_view_page,
    claims=CLAIMS,
)
