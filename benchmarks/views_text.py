"""What the page about views says in words, and what it is held to. No number here was measured.

The page breaks the lines of paragraphs anew.
"""

from collections.abc import Callable

from result_page import Claim, Results, Section

INTRODUCTION = """
# Views as people have them

Missing entries, missing views, new rows, and prediction with error bars, on real data and beside other methods.

`make results-views` makes this page; every number comes from `benchmarks/results/views.jsonl`, where each method has a
line per seed. Version {version}. Measured with the schedule of that
time, a learning rate of 0.02 that fell over 1000 steps.
Rivals and the time of placing ran on two CPU cores, our fits of `cll` on one core
each, those of the other sets on one H200, many at a time; so compare no seconds between them. A seed decides which rows
or entries are hidden, and is the `random_state` of the fit. "Ours" is `NGMVLVM` with the settings named below and
defaults elsewhere; no setting was chosen per seed. RMSE is in standardised units: a column's errors are divided by its
standard deviation among the entries that the methods may see, so that always answering the mean gives about 1. "Seconds
in all" is everything that a method did on a seed, loading, fitting and predicting. Where a rival is run with several
settings, the verdict below compares with the setting that has the lowest mean error on the hidden entries themselves.
That is a choice no user could make; it favours the rival.
"""

FIGURE = """
## Can the error bars be trusted?

![How often the truth fell inside intervals of given probability]({name})

**How to read it.** For every probability, the share of hidden entries that fell inside the central interval of that
probability, over all seeds together. On the diagonal the error bars are as wide as they should be; below it they are
too narrow. The intervals are those of a normal distribution with the predicted mean and standard deviation. Data with
heavy tails, or pixels that are mostly zero, lie above the diagonal in the middle and close to it at the end even with
the right standard deviation.
"""


SECTIONS = (
    Section(
        "digits-halves",
        "Half a digit from the other half",
        """
`digits-halves`: 1,797 digits of 8 x 8 pixels, cut into a left and a right half. Four fifths of the rows are
fitted; on the others the right half is predicted from the left. Ours: `n_components=8`, `max_iter=500`. The rivals
regress on the raw pixels of the left half, which served them better than scaled ones. Columns that are constant in
training do not count.""",
        {"RMSE": "RMSE", "covers 50": "inside 50 %", "covers 80": "inside 80 %", "covers 95": "inside 95 %",
         "log density": "log density", "tempering": "tempering"},
        """
**How to read it.** Ridge regression is the best linear answer; neighbours are hard to beat where rows abound and
each looks like some others. Both learn only how to get from left to right. Ours is fitted once and would answer the
other way round, or with any pixels missing. A few pixels at the rim are almost always blank: divided by their tiny
spread, one stray stroke weighs heavily in everybody's RMSE. Log density is in nats per entry of the same units.""",
        curve="digits-halves: right half from left",
    ),
    Section(
        "mfeat",
        "Gaps of six views",
        """
`mfeat`: 2,000 handwritten digits described by six sets of features, 649 columns together. A fifth of the pairs of
row and view is removed, and a fifth of the remaining entries is hidden one by one. All methods see all rows. Ours:
`n_components=10`, `scale="column"`, `max_iter=500`, then `impute()`. mofapy2 has as many factors. `KNNImputer` and
`IterativeImputer` work on the columns of all views side by side, standardised; the latter regresses each column on 50
others (`BayesianRidge`, `n_nearest_features=50`, `max_iter=5`; it still improves with more rounds).""",
        {"RMSE all": "RMSE", "RMSE views": "removed views", "RMSE entries": "scattered entries",
         "covers 95": "inside 95 %", "log density": "log density"},
        """
**How to read it.** Ours and mofapy2 pass everything through ten numbers per row; `IterativeImputer` has no such
bottleneck, copies from the columns most alike, and gives neither an embedding nor, as it is run here, error bars. It
is printed as a measure of what is in the data, not as a rival of the same kind. A scattered entry has neighbours in
its own view to be guessed from; an entry of a removed view has not, so the two columns are different tasks.""",
        curve="mfeat: hidden entries of six views",
    ),
    Section(
        "breast-tcga",
        "Proteins from RNA",
        """
`breast-tcga`: 220 tumours with mRNA and miRNA, 150 of them with proteins. The proteins of 50 are hidden and
predicted. Ours (`n_components=10`, `max_iter=500`) is fitted without these 50 rows, which are new to it. mofapy2
cannot take new rows: it is fitted to all 220 with the hidden proteins missing. Ridge regresses the proteins on
principal scores of each RNA view, which are taken from all 220 rows.""",
        {"RMSE": "RMSE", "covers 50": "inside 50 %", "covers 80": "inside 80 %", "covers 95": "inside 95 %",
         "log density": "log density", "tempering": "tempering"},
        """
**How to read it.** There are 100 rows to learn proteins from and 50 to be judged by, so a linear model with the right
penalty is a strong rival, and part of the spread over seeds is that of the split, which all methods share. Both rivals
have seen the RNA of the rows in question while fitting; ours has not. A method that is not below the column means has
learned nothing of use.""",
        curve="breast-tcga: proteins from mRNA and miRNA",
    ),
    Section(
        "cll",
        "A label from views full of gaps",
        """
`cll`: 200 patients, four views (drugs, mutations, protein, bioenergetics) with all their gaps, fitted in one call
(`n_components=5`, `max_iter=500`). The column of the label, IGHV status, is taken out of the mutations. Then the label
is read off the latents by logistic regression: balanced accuracy, five folds. Beside it the same from the response
to drugs, 310 columns with gaps filled by means, on the same rows: those with drugs and a known label.""",
        {"with drugs": "rows with drugs", "all labelled": "all labelled rows"},
        """
**How to read it.** The label was never shown to the fit, but the rows in question were: these are latents of a fit
to everybody. Five numbers per patient stand against 310. "All labelled rows" includes patients whose drugs were never
measured, for whom drugs alone have no answer.""",
    ),
    *(
        Section(
            f"transform-{name}",
            f"New rows among old ones: {name}",
            f"""
{data} Two latent dimensions, {settings}. "Placed": four fifths of the rows are fitted and the rest is placed by
`transform`. "Fitted together": one fit to all rows. In both, the percentage of those remaining rows whose nearest row
among the four fifths has their label.""",
            {"accuracy": "1-NN accuracy, %"},
            reading,
            digits=1,
        )
        for name, data, settings, reading in (
            ("r-mnist", "`r-mnist`: 1,000 digits of 28 x 28 pixels, drawn by the seed.", "defaults",
             """
**How to read it.** The second row is what the first would be if placing lost nothing. It has an advantage beside
that: a quarter more rows to learn from. With 200 rows placed, one percent is two rows."""),
            ("mfeat", "`mfeat`: 2,000 digits, six complete views.", "`max_iter=500`",
             """
**How to read it.** As above, with 400 rows placed: one percent is four rows."""),
        )
    ),
    Section(
        "speed",
        "Ten thousand new rows",
        """
10,000 rows of `mnist` are fitted (`max_iter=300`, two latent dimensions; not counted), and 10,000 others are placed
by `transform`.""",
        {"rows": "rows placed", "seconds": "seconds to place them", "threads": "threads",
         "accuracy": "1-NN accuracy, %"},
        """
**How to read it.** A time on one machine with two cores, once; the last column has the fit in it.""",
        digits=0,
    ),
)  # fmt: skip


def times(rival: str, number: str = "RMSE") -> Callable[[Results], float]:
    """Compare our error with a rival's, at its best setting, as a ratio."""
    return lambda results: results.mean("ours", number) / results.best(rival, number)


CLAIMS = (
    Claim("digits-halves", "RMSE below ridge's: ratio below 1", times("ridge"), highest=1),
    Claim("digits-halves", "RMSE at most 3 % above the better of 5-NN and 10-NN: ratio at most 1.03",
          lambda results: results.mean("ours", "RMSE") / min(results.best(k, "RMSE") for k in ("5-NN", "10-NN")),
          highest=1.03),
    Claim("digits-halves", "95 % intervals hold 0.90 to 0.98", lambda results: results.mean("ours", "covers 95"),
          lowest=0.90, highest=0.98),
    Claim("mfeat", "RMSE below the column means': ratio below 1", times("column means", "RMSE all"), highest=1),
    Claim("mfeat", "RMSE below KNNImputer's: ratio below 1", times("KNNImputer", "RMSE all"), highest=1),
    Claim("mfeat", "RMSE below mofapy2's: ratio below 1", times("mofapy2", "RMSE all"), highest=1),
    Claim("breast-tcga", "RMSE below mofapy2's: ratio below 1", times("mofapy2"), highest=1),
    Claim("breast-tcga", "RMSE at most 3 % above ridge's: ratio at most 1.03", times("ridge"), highest=1.03),
    Claim("breast-tcga", "95 % intervals hold 0.90 to 0.98", lambda results: results.mean("ours", "covers 95"),
          lowest=0.90, highest=0.98),
    Claim("cll", "balanced accuracy at most 0.05 below drugs alone: difference at least -0.05",
          lambda results: results.mean("ours", "with drugs") - results.mean("drugs alone", "with drugs"),
          lowest=-0.05),
    *(
        Claim(f"transform-{name}", "placed rows within 3 points of a fit to all rows: difference at least -3",
              lambda results: results.mean("placed", "accuracy") - results.mean("fitted together", "accuracy"),
              lowest=-3, digits=1)
        for name in ("r-mnist", "mfeat")
    ),
    Claim("speed", "10,000 rows placed in less than 60 seconds", lambda results: results.mean("ours", "seconds"),
          highest=60, digits=0),
)  # fmt: skip
