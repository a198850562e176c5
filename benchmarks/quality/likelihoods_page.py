"""The study of likelihoods, and its page."""

from benchmarks.quality.quality_page import (
    QualitySection,
    ahead_of,
    largest_within,
    section_parts,
    smallest_within,
    task_cells,
)
from benchmarks.quality.real_likelihoods import (
    CLASSIFIERS,
    LABEL_SETTINGS,
    LIKELIHOOD_TASKS,
    WITHOUT_LATENTS,
    measure_likelihood,
)
from benchmarks.quality.synthetic_likelihoods import (
    FACTOR_NAMES,
    FACTOR_NUMBERS,
    N_FITTED,
    N_NEW_ENTRIES,
    N_NEW_LABELS,
    SPECIFIED,
    TRUTH,
    UNSPECIFIED,
)
from benchmarks.results import Results
from benchmarks.study import Claim, PagePart, Study
from benchmarks.tables import Measure

_WHAT = """
Counts, binary data, classes and heavy tails, each with its own likelihood and compared with a Gaussian view of the same
data; labels that are missing during fitting; private dimensions; and the number of dimensions. A seed determines the
random data and the test rows, and is the `random_state` of the fit. Fits are `NGMVLVM` with the settings named below
and defaults elsewhere; no setting was chosen per seed or per likelihood. Log densities are means per entry, in nats and
in the units of the data: higher is better. "Total seconds" includes everything that a method did for one seed. Cells
run several at a time and partly on different machines, so times only indicate orders of magnitude.

**Comparison of a Gaussian view with a count model.** The probability of an integer and a density are different
quantities: a narrow density can exceed 1 at an integer. The predictive distribution of the Gaussian is therefore
rounded to the possible integers: a value has the probability of the interval from one half below to one half above it,
and the lowest and the highest value also have the probability of the tails. These probabilities sum to one without any
mass on impossible values, which is the most favourable treatment of the Gaussian. Its plain density is also printed.
"""

_SYNTHETIC_TASK = f"""
{{what}} {{views}} Two latent factors and smooth functions of them; {N_FITTED} rows are fitted (`n_components=2`,
`max_iter=1000`), and {{target}} others is predicted from the first. "True functions" is the score with the true
functions and the true latents of the new rows: on average no method can be better."""

_TWO_VIEWS = "Forty columns are divided into two views of twenty, both with this likelihood."
_SECOND_VIEW = f"the second view of {N_NEW_ENTRIES}"


def _plain(metric: str, column: str, digits: int = 3, *, higher: bool = True) -> Measure:
    return Measure(metric, column, scale=1.0, digits=digits, higher_is_better=higher)


def _synthetic_section(
    name: str, title: str, what: str, reading: str, *, views: str = _TWO_VIEWS, target: str = _SECOND_VIEW
) -> QualitySection:
    column = "log probability" if name == "categorical" else "log density"
    plain = [] if name == "student-t" else [_plain("plain density", "plain density")]
    return QualitySection(
        data=f"synthetic-{name}", title=f"Data from the model: {title}",
        task=_SYNTHETIC_TASK.format(what=what, views=views, target=target),
        methods=list(LIKELIHOOD_TASKS[f"synthetic-{name}"]), columns=[_plain("log density", column), *plain],
        ranked=["log density"], references=[TRUTH], reading=reading, each=["log density"],
    )  # fmt: skip


SYNTHETIC = {
    "student-t": _synthetic_section(
        "student-t", "heavy tails", "Noise of Student's t distribution with 3 degrees of freedom and scale 0.3.", """
**How to read it.** A Gaussian view increases its noise variance because of single outliers, which lowers the density of
all other entries. Both are densities of real numbers and directly comparable."""),
    "bernoulli": _synthetic_section(
        "bernoulli", "binary data", "Ones with probability sigma(f), where f has standard deviation 2.", """
**How to read it.** The mean of the Gaussian view is unbounded: it is inaccurate where ones are rare or almost certain,
and its noise variance is the same there as in the middle."""),
    "poisson": _synthetic_section(
        "poisson", "counts", "Poisson counts with a mean of e^f, where f has mean 0.5.", """
**How to read it.** The variance of counts increases with their mean. A Gaussian view has one noise variance; logarithms
help with large counts and hurt with small ones, including zero."""),
    "negative-binomial": _synthetic_section(
        "negative-binomial", "overdispersed counts",
        "Negative binomial counts with a mean of e^f, where f has mean 1.5, and dispersion 2.", """
**How to read it.** As for Poisson counts, with heavier tails. In addition to the function, the dispersion of every
column is learned."""),
    "categorical": _synthetic_section(
        "categorical", "classes", """
Five classes with softmax probabilities are the second view; the first is a Gaussian table of ten columns with noise of
0.3.""", """
**How to read it.** The log probability of the true class. The Gaussian view has five one-hot columns; its predicted
means are clipped to [0.001, 0.999] and normalised to probabilities.""",
        views="The label can only be predicted from the table.", target=f"the label of {N_NEW_LABELS}"),
}  # fmt: skip

BINARY = QualitySection(
    data="binary-mnist", title="Binary digits",
    task="""
`r-mnist`: 1,000 digits of 28 x 28 pixels, drawn by the seed; pixels above half of the maximum are 1, the others 0. The
left and the right halves are two views. 800 rows are fitted (`n_components=10`, `max_iter=1000`) and reconstructed; for
200 others the right half is predicted from the left. Log loss in nats per pixel, lower is better. Means of Gaussian
views are clipped to [0.001, 0.999]; those of Bernoulli views are probabilities, clipped only to 1e-7 from 0 and 1.
"Pixel means" predicts the share of ones of every pixel.""",
    methods=list(LIKELIHOOD_TASKS["binary-mnist"]),
    columns=[_plain("reconstructed", "reconstructed", 4, higher=False),
             _plain("predicted", "right half of new rows", 4, higher=False)],
    ranked=["reconstructed", "predicted"],
    reading="""
**How to read it.** The first column is on fitted rows, so it also rewards memorisation. The second is on new rows,
where confident errors have the largest cost.""",
    each=["reconstructed", "predicted"],
)  # fmt: skip

_LABEL_DATA = {
    "bridges": "`bridges`: 214 days, four counts of cyclists each, fitted as Gaussian; weekday or weekend.",
    "r-mnist": "`r-mnist`: 1,000 digits of 28 x 28 pixels, drawn by the seed.",
    "mfeat": "`mfeat`: 2,000 digits, six views.",
}


def _label_section(name: str) -> QualitySection:
    more, steps = LABEL_SETTINGS[name]
    return QualitySection(
        data=f"labels-{name}", title=f"Missing labels: {name}",
        task=f"""
{_LABEL_DATA[name]} Every seed removes the labels of a different fifth of the rows during fitting, in a categorical view
"label" in addition to the data (`max_iter={steps}`). Classification accuracy in percent on those rows. "Predict" is
`predict(target="label")` from their other views, as for new rows; "reconstruct" is the reconstruction of the fit
itself; "1-NN" is the label of the nearest row in the latent space with a known label. Two latent dimensions as in the
paper, and {more}. The other methods are classifiers on the standardised columns of all views: logistic regression,
1-NN, and a random forest of 500 trees.""",
        methods=list(LIKELIHOOD_TASKS[f"labels-{name}"]),
        columns=[Measure("predict", "predict"), Measure("reconstruct", "reconstruct"),
                 Measure("1-NN", "1-NN on latents"), _plain("log density", "log density", 1)],
        ranked=["predict"],
        reading="""
**How to read it.** A classifier has one task and uses all columns; NG-MVLVM represents a row by a few numbers that also
have to explain the data. Two dimensions are for visualisation, not for classification. The test labels do not influence
the fit, unlike in the paper's protocol.""",
        each=["predict"],
    )  # fmt: skip


LABELS = {name: _label_section(name) for name in LABEL_SETTINGS}

PRIVATE = QualitySection(
    data="shared-private", title="Private dimensions",
    task="""
`shared-private`: two views of 20 columns, 300 rows, smooth functions of one shared factor and of one private factor per
view. It is fitted once with `n_components=1, n_private={"a": 1, "b": 1}` and once with `n_components=3`, where the
structure is not specified. "Off pattern" is the larger of two relevances, that of a in the private dimension of b and
that of b in the private dimension of a, each relative to the largest relevance of the view. "On pattern" is the
smallest relevance that should not be small. The last columns are absolute correlations of the latents with the true
factors.""",
    methods=list(LIKELIHOOD_TASKS["shared-private"]),
    columns=[_plain("off pattern", "off pattern", higher=False), _plain("on pattern", "on pattern"),
             *(_plain(name, name) for name in FACTOR_NAMES)],
    reading="""
**How to read it.** With `n_private` off-pattern relevance is zero by construction; the question is whether the latents
are the true factors. With three dimensions for both views the relevances have to recover the pattern; dimensions were
matched to the pattern in the most favourable way.""",
    each=["off pattern", "shared"],
)  # fmt: skip

COMPONENTS = QualitySection(
    data="components", title="Number of dimensions",
    task="""
`n_components="auto"` on `factors`, two views of 40 columns and 300 rows that are smooth functions of 3, 5 or 8 factors,
and on `mfeat`, whose number of factors is unknown. `max_iter=1000`.""",
    methods=list(LIKELIHOOD_TASKS["components"]),
    columns=[_plain("inferred", "inferred", 1), _plain("true", "true", 1),
             _plain("absolute error", "absolute error", 1, higher=False)],
    reading="""
**How to read it.** The number of dimensions kept. A strongly nonlinear factor can take two dimensions.""",
    each=["inferred"],
)  # fmt: skip

COUNTS = QualitySection(
    data="citeseq-pbmc", title="Proteins of cells from their RNA",
    task="""
`citeseq-pbmc`: 500 cells, raw counts of the 500 most variable genes and of 49 proteins. 400 cells are fitted
(`n_components=10`, `max_iter=1000`, nothing else set), and the proteins of 100 others are predicted from their RNA. The
Gaussian views are fitted to log(1 + y), in one case after scaling the RNA of every cell to the same total; proteins are
not scaled. Their densities are those of the counts: by the change of variables log p(y) = log p(z) - log(1 + y) with z
= log(1 + y). "As integers" is the probability of the interval around the count instead. The last method fits a negative
binomial distribution to every protein by maximum likelihood, the same for all cells.""",
    methods=list(LIKELIHOOD_TASKS["citeseq-pbmc"]),
    columns=[_plain("log density", "log density"), _plain("as integers", "as integers")],
    ranked=["log density", "as integers"],
    reading="""
**How to read it.** A method that is not above the last row has learned nothing useful about single cells. Proteins of
cells vary over orders of magnitude, which suits logarithms, so the Gaussian on logarithms is a strong method; a Poisson
model cannot represent overdispersion between cells.

A few cells have far more protein than their RNA suggests (clumps of cells or of antibody). Count models have lighter
tails than a log-normal distribution, so that such cells lower their mean log density most, and the order of the methods
depends on which cells a seed holds out.""",
    each=["log density", "as integers"],
)  # fmt: skip

SECTIONS = (*SYNTHETIC.values(), BINARY, *LABELS.values(), PRIVATE, COMPONENTS, COUNTS)


def _label_claim(section: QualitySection, more: int) -> Claim:
    method = f"NG-MVLVM, {more} dimensions"
    statement = f"accuracy of `predict` with {more} dimensions above that of the best classifier, in points"
    return ahead_of(section, statement, method, list(CLASSIFIERS), "predict")


CLAIMS = (
    *(
        ahead_of(section, "log density above that of the best Gaussian view", name, section.family("gaussian"),
                 "log density")
        for name, section in SYNTHETIC.items()
    ),
    ahead_of(BINARY, "log loss of `reconstruct` below that of the Gaussian", "bernoulli", ["gaussian"],
             "reconstructed"),
    ahead_of(BINARY, "log loss of new right halves below that of the Gaussian", "bernoulli", ["gaussian"],
             "predicted"),
    *(_label_claim(section, LABEL_SETTINGS[name][0]) for name, section in LABELS.items()),
    largest_within(PRIVATE, "off-pattern relevance below 5 % on every seed, private dimensions specified",
                   [SPECIFIED], "off pattern", highest=0.05),
    largest_within(PRIVATE, "off-pattern relevance below 5 % on every seed, three dimensions of both views",
                   [UNSPECIFIED], "off pattern", highest=0.05),
    smallest_within(PRIVATE, "correlation of latents and true factors at least 0.9 on every seed, private dimensions "
                    "specified", SPECIFIED, FACTOR_NAMES, lowest=0.9),
    largest_within(COMPONENTS, "3, 5 and 8 factors: absolute error at most 1 on every seed",
                   [f"{n} factors" for n in FACTOR_NUMBERS], "absolute error", highest=1.0),
    ahead_of(COUNTS, "log density above that of the Gaussian on logarithms", "negative-binomial",
             COUNTS.family("gaussian"), "log density"),
    ahead_of(COUNTS, "log density above that of the Gaussian on logarithms, as integers", "negative-binomial",
             COUNTS.family("gaussian"), "as integers"),
    ahead_of(COUNTS, "log density above that of poisson", "negative-binomial", ["poisson"], "log density"),
    ahead_of(COUNTS, "log density above that without latents", "negative-binomial", [WITHOUT_LATENTS], "log density"),
)  # fmt: skip


def likelihoods_page(results: Results) -> list[PagePart]:
    """Return the sections of the page."""
    return [part for section in SECTIONS for part in section_parts(section, results)]


LIKELIHOODS = Study(
    name="likelihoods",
    title="Likelihoods",
    what=_WHAT,
    group="quality",
    cells=task_cells("likelihoods", {data: list(methods) for data, methods in LIKELIHOOD_TASKS.items()}, {}),
    measure=measure_likelihood,
    page=likelihoods_page,
    claims=CLAIMS,
)
