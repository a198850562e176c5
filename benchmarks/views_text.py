"""Text of the page on views, and the targets it is checked against. No number here was measured.

The page re-wraps the lines of paragraphs.
"""

from collections.abc import Callable

from result_page import Claim, Results, Section

INTRODUCTION = """
# Missing entries, new rows and predictions

Missing entries, missing views, new rows, and prediction with error bars, on real data and compared with other methods.

`make results-views` generates this page; every number comes from `benchmarks/results/views.jsonl`, where each method
has one line per seed. Version {version}. Measured with an earlier learning-rate schedule, from 0.02 with cosine decay
over 1000 steps; the current default holds a rate of 0.05 until the bound has converged ([schedules](schedules.md)).
Other methods and the timing of `transform` ran on two CPU cores, our fits of `cll` on one core each, those of the other
data sets on one H200, many at a time; run times are therefore not comparable. A seed determines the missing rows or
entries, and is the `random_state` of the fit. "Ours" is `NGMVLVM` with the settings named below and defaults elsewhere;
no setting was chosen per seed. RMSE is in standardised units: the errors of a column are divided by the standard
deviation of its observed entries, so that predicting the mean gives about 1. "Total seconds" includes loading, fitting
and predicting for one seed. Where a rival is run with several settings, the verdict below uses the setting with the
lowest mean error on the missing entries. No user could make this choice; it favours the rival.
"""

FIGURE = """
## Calibration

![Coverage of the predictive intervals by their probability]({name})

**How to read it.** For every probability, the share of missing entries inside the central interval of that probability,
over all seeds. On the diagonal the intervals are calibrated; below it they are too narrow. The intervals are those of a
normal distribution with the predicted mean and standard deviation. Data with heavy tails, or pixels that are mostly
zero, lie above the diagonal in the middle and close to it at the end even if the standard deviation is correct.
"""


SECTIONS = (
    Section(
        "digits-halves",
        "Right half of a digit from its left half",
        """
`digits-halves`: 1,797 digits of 8 x 8 pixels, divided into a left and a right half. Four fifths of the rows are fitted;
for the others the right half is predicted from the left. Ours: `n_components=8`, `max_iter=500`. The rivals are
regressions on the raw pixels of the left half, which are better for them than scaled pixels. Columns that are constant
in the training rows are excluded.""",
        {"RMSE": "RMSE", "covers 50": "inside 50 %", "covers 80": "inside 80 %", "covers 95": "inside 95 %",
         "log density": "log density", "tempering": "tempering"},
        """
**How to read it.** Ridge regression is the best linear predictor; nearest neighbours are hard to beat with many similar
rows. Both learn only to predict the right half from the left. Our model is fitted once and can also predict the left
half, or any missing pixels. A few pixels at the border are almost always zero: divided by their small standard
deviation, a single stroke has a large effect on the RMSE of every method. Log density is in nats per entry in the same
units.""",
        curve="digits-halves: right half from left",
    ),
    Section(
        "mfeat",
        "Missing entries in six views",
        """
`mfeat`: 2,000 handwritten digits described by six sets of features, 649 columns in total. A fifth of the pairs of row
and view is removed, and a fifth of the remaining entries is removed at random. All methods see all rows. Ours:
`n_components=10`, `scale="column"`, `max_iter=500`, then `impute()`. mofapy2 has the same number of factors.
`KNNImputer` and `IterativeImputer` use the standardised columns of all views; the latter regresses each column on 50
others (`BayesianRidge`, `n_nearest_features=50`, `max_iter=5`; it still improves with more iterations).""",
        {"RMSE all": "RMSE", "RMSE views": "missing views", "RMSE entries": "missing entries",
         "covers 95": "inside 95 %", "log density": "log density"},
        """
**How to read it.** Our model and mofapy2 represent a row by ten numbers; `IterativeImputer` has no such bottleneck,
predicts from the most similar columns, and returns neither an embedding nor, as it is run here, error bars. It shows
what the data contain and is not a rival of the same kind. A missing entry can be predicted from other entries of its
view; an entry of a missing view cannot, so the two columns are different tasks.""",
        curve="mfeat: missing entries of six views",
    ),
    Section(
        "breast-tcga",
        "Proteins from RNA",
        """
`breast-tcga`: 220 tumours with mRNA and miRNA, 150 of them with proteins. The proteins of 50 are removed and predicted.
Ours (`n_components=10`, `max_iter=500`) is fitted without these 50 rows, which are new to it. mofapy2 cannot predict
new rows: it is fitted to all 220 with these proteins missing. Ridge regresses the proteins on principal scores of each
RNA view, computed from all 220 rows.""",
        {"RMSE": "RMSE", "covers 50": "inside 50 %", "covers 80": "inside 80 %", "covers 95": "inside 95 %",
         "log density": "log density", "tempering": "tempering"},
        """
**How to read it.** There are 100 rows to learn proteins from and 50 test rows, so a linear model with a good penalty is
a strong rival, and part of the spread over seeds is due to the split, which all methods share. Both rivals use the RNA
of the test rows during fitting; ours does not. A method that is not below the column means has learned nothing
useful.""",
        curve="breast-tcga: proteins from mRNA and miRNA",
    ),
    Section(
        "cll",
        "A label from views with missing entries",
        """
`cll`: 200 patients, four views (drugs, mutations, protein, bioenergetics) with all their missing entries, fitted in one
call (`n_components=5`, `max_iter=500`). The column of the label, IGHV status, is excluded from the mutations. The label
is then predicted from the latents by logistic regression: balanced accuracy, five folds. This is compared with the drug
responses, 310 columns with missing entries replaced by means, on the same rows: those with drugs and a known
label.""",
        {"with drugs": "rows with drugs", "all labelled": "all labelled rows"},
        """
**How to read it.** The label is not used by the fit, but the test rows are: the latents come from one fit to all rows.
Five numbers per patient are compared with 310. "All labelled rows" includes patients without drug responses, for whom
drugs alone give no prediction.""",
    ),
    *(
        Section(
            f"transform-{name}",
            f"Out-of-sample rows: {name}",
            f"""
{data} Two latent dimensions, {settings}. "Placed": four fifths of the rows are fitted, and the latents of the others
are inferred by `transform`. "Fitted together": one fit to all rows. For both, the percentage of the other rows whose
nearest row among the four fifths has the same label.""",
            {"accuracy": "1-NN accuracy, %"},
            reading,
            digits=1,
        )
        for name, data, settings, reading in (
            ("r-mnist", "`r-mnist`: 1,000 digits of 28 x 28 pixels, drawn by the seed.", "defaults",
             """
**How to read it.** The second row is the accuracy without any loss from out-of-sample inference. It also has the
advantage of a quarter more rows to learn from. With 200 new rows, one percent is two rows."""),
            ("mfeat", "`mfeat`: 2,000 digits, six complete views.", "`max_iter=500`",
             """
**How to read it.** As above, with 400 new rows: one percent is four rows."""),
        )
    ),
    Section(
        "speed",
        "Ten thousand new rows",
        """
10,000 rows of `mnist` are fitted (`max_iter=300`, two latent dimensions; not timed), and the latents of 10,000 new rows
are inferred by `transform`.""",
        {"rows": "new rows", "seconds": "seconds for `transform`", "threads": "threads",
         "accuracy": "1-NN accuracy, %"},
        """
**How to read it.** A single timing on one machine with two cores; the total includes the fit.""",
        digits=0,
    ),
)  # fmt: skip


def times(rival: str, number: str = "RMSE") -> Callable[[Results], float]:
    """Return a function of results: our error relative to a rival's at its best setting."""
    return lambda results: results.mean("ours", number) / results.best(rival, number)


CLAIMS = (
    Claim("digits-halves", "RMSE below that of ridge: ratio below 1", times("ridge"), highest=1),
    Claim("digits-halves", "RMSE at most 3 % above the better of 5-NN and 10-NN: ratio at most 1.03",
          lambda results: results.mean("ours", "RMSE") / min(results.best(k, "RMSE") for k in ("5-NN", "10-NN")),
          highest=1.03),
    Claim("digits-halves", "coverage of 95 % intervals between 0.90 and 0.98",
          lambda results: results.mean("ours", "covers 95"), lowest=0.90, highest=0.98),
    Claim("mfeat", "RMSE below that of column means: ratio below 1", times("column means", "RMSE all"), highest=1),
    Claim("mfeat", "RMSE below that of KNNImputer: ratio below 1", times("KNNImputer", "RMSE all"), highest=1),
    Claim("mfeat", "RMSE below that of mofapy2: ratio below 1", times("mofapy2", "RMSE all"), highest=1),
    Claim("breast-tcga", "RMSE below that of mofapy2: ratio below 1", times("mofapy2"), highest=1),
    Claim("breast-tcga", "RMSE at most 3 % above that of ridge: ratio at most 1.03", times("ridge"), highest=1.03),
    Claim("breast-tcga", "coverage of 95 % intervals between 0.90 and 0.98",
          lambda results: results.mean("ours", "covers 95"), lowest=0.90, highest=0.98),
    Claim("cll", "balanced accuracy at most 0.05 below drugs alone: difference at least -0.05",
          lambda results: results.mean("ours", "with drugs") - results.mean("drugs alone", "with drugs"),
          lowest=-0.05),
    *(
        Claim(f"transform-{name}", "`transform` within 3 points of a fit to all rows: difference at least -3",
              lambda results: results.mean("placed", "accuracy") - results.mean("fitted together", "accuracy"),
              lowest=-3, digits=1)
        for name in ("r-mnist", "mfeat")
    ),
    Claim("speed", "`transform` of 10,000 rows in less than 60 seconds",
          lambda results: results.mean("ours", "seconds"), highest=60, digits=0),
)  # fmt: skip
