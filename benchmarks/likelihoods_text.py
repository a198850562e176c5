"""What the page about likelihoods says in words, and what it is held to. No number here was measured.

The page breaks the lines of paragraphs anew.
"""

from collections.abc import Callable
from functools import partial

from result_page import Claim, Results, Section

INTRODUCTION = """
# Views of every kind

Counts, zeros and ones, classes and heavy tails, each with a likelihood of its own beside a Gaussian view of the same
numbers; labels that were missing during fitting; dimensions that only one view has; and how many there are.

`make results-likelihoods` makes this page; every number comes from `benchmarks/results/likelihoods.jsonl`, where each
method has a line per seed. Version {version}. Measured with the schedule of that
time, a learning rate of 0.02 that fell over 1000 steps.
A seed decides what is drawn and which rows are held out, and is the
`random_state` of the fit. Fits are `NGMVLVM` with the settings named below and defaults elsewhere; no setting was
chosen per seed or per likelihood. Log densities are means per entry, in nats and in the data's units: higher is better.
Each section names the machines. A GPU is used by our model only; the other methods run on the CPU beside it, so compare
no seconds between them. "Seconds in all" is everything that a method did on a seed.

**How a Gaussian view is compared with a count model.** A probability of an integer and a density are different things:
a narrow density can exceed 1 at an integer. So the Gaussian's predictive distribution is rounded to the integers that
there are: a value gets the probability of the interval from half below it to half above it, and the lowest and the
highest value also get all that lies beyond. These probabilities sum to one, and none is lost to values that cannot be,
which is the most favourable reading for the Gaussian. Its plain density is printed beside it.
"""

_TASK = """
{what} {cut} Two latent factors, smooth functions of them; 300 rows are fitted (`n_components=2`, `max_iter=1000`), and
{target} of {n_new} others {is_are} predicted{source}. "True functions" is what someone would score who knew the
functions that the data were drawn from, and the latents of the new rows: no method can do better on average."""

_HALVES = {
    "cut": "Forty columns are cut into two views of twenty, both with that likelihood.", "target": "the second view",
    "n_new": 100, "is_are": "is", "source": " from the first",
}  # fmt: skip


def _own(kind: str, title: str, what: str, reading: str, *, integers: bool = True) -> Section:
    columns = {"log density": "log density"} | ({"plain density": "plain density"} if integers else {})
    return Section(
        f"own-{kind}", f"Own model: {title}", _TASK.format(what=what, **_HALVES), columns, reading, each=["log density"]
    )


OWN = (
    _own("student-t", "heavy tails", "Noise of Student's t distribution with 3 degrees of freedom and scale 0.3.", """
**How to read it.** A Gaussian view has to widen its noise until single wild entries fit in, and pays for it on all
others. Both are densities of real numbers and compare as they are.""", integers=False),
    _own("bernoulli", "zeros and ones", "Ones with probability sigma(f), where f has standard deviation 2.", """
**How to read it.** The Gaussian view's mean is a straight line to what is bounded: it is off where ones are rare or
almost sure, and its noise is as wide there as in the middle."""),
    _own("poisson", "counts", "Poisson counts with a mean of e^f; a typical mean is 1.6.", """
**How to read it.** A small mean goes with a small spread, and a large one with a large spread. A Gaussian view has one
noise for the whole view; logarithms help with large counts and hurt with small ones, to which zero belongs."""),
    _own("negative-binomial", "counts that vary more",
         "Negative binomial counts with a mean of e^f, typically 4.5, and dispersion 2.", """
**How to read it.** As for Poisson counts, with longer tails. Beside the function the dispersion of every column is
learned."""),
    Section(
        "own-categorical", "Own model: classes",
        _TASK.format(
            what="Five classes with softmax probabilities, beside a Gaussian view of ten columns with noise of 0.3.",
            cut="A label has nothing to be predicted from but another view.", target="the label", n_new=300,
            is_are="is", source=" from the other view",
        ),
        {"log density": "log probability", "plain density": "plain density"},
        """
**How to read it.** The log probability of the right class. The Gaussian view has five columns of zeros and ones; its
predicted means are clipped to [0.001, 0.999] and divided by their sum, which makes probabilities of them.""",
        each=["log density"],
    ),
)  # fmt: skip

BINARY = Section(
    "binary-mnist", "Black and white digits",
    """
`r-mnist`: 1,000 digits of 28 x 28 pixels, drawn by the seed; pixels above half of the maximum are 1, the others 0. The
left and the right halves are two views. 800 rows are fitted (`n_components=10`, `max_iter=1000`) and reconstructed;
of 200 others the right half is predicted from the left. Log loss in nats per pixel, lower is better. Means of Gaussian
views are clipped to [0.001, 0.999]; those of bernoulli views are probabilities, and only kept 1e-7 away from 0 and 1.
"Pixel means" answers the share of ones of every pixel.""",
    {"reconstructed": "reconstructed", "predicted": "right half of new rows"},
    """
**How to read it.** The first column is what was asked for: rows that were fitted, so it rewards memory as well. The
second is on rows that the model has not seen, where a pixel that is confidently wrong costs most.""",
    each=["reconstructed", "predicted"], digits=4,
)  # fmt: skip

_LABELS = {
    "bridges": ("`bridges`: 214 days, four counts of cyclists each, fitted as Gaussian; weekday or weekend.", 1000, 5),
    "r-mnist": ("`r-mnist`: 1,000 digits of 28 x 28 pixels, drawn by the seed.", 1000, 10),
    "mfeat": ("`mfeat`: 2,000 digits, six views.", 500, 10),
}

LABELS = tuple(
    Section(
        f"labels-{name}", f"Labels that were missing: {name}",
        f"""
{what} Every seed hides the labels of another fifth of the rows during fitting, in a categorical view
"label" beside the data (`max_iter={steps}`). Percent right among those rows. "Predict" is `predict(target="label")`
from their other views, as if the rows were new; "reconstruct" is what the fit itself says of them; "1-NN" takes the
label of the nearest row, in the latent space, whose label is known. Two latent dimensions as in the paper, and
{more}. The others are classifiers of the raw columns of all views side by side, standardised: logistic regression,
the nearest row, and a random forest of 500 trees.""",
        {"predict": "predict", "reconstruct": "reconstruct", "1-NN": "1-NN on latents", "log density": "log density"},
        """
**How to read it.** A classifier has one task and all columns at hand; ours passes everything through a few numbers per
row that also have to explain the data. Two dimensions are for looking at, not for classifying. The test rows' labels
are nowhere in the fit, unlike in the paper's protocol.""",
        each=["predict"], digits=1,
    )
    for name, (what, steps, more) in _LABELS.items()
)  # fmt: skip

PRIVATE = Section(
    "private", "Dimensions that only one view has",
    """
`shared-private`: two views of 20 columns, 300 rows, smooth functions of one factor that both see and of one that only
that view sees. It is fitted once with `n_components=1, n_private={"a": 1, "b": 1}` and once with `n_components=3`,
where nothing says which view has what. "Off pattern" is the larger of two shares: of a in b's own dimension, and of b
in a's, each as a part of the row's largest relevance. "On pattern" is the smallest share that should not be small. The
last columns are correlations, without sign, of the latents with the true factors.""",
    {"off pattern": "off pattern", "on pattern": "on pattern", "shared": "shared", "own of a": "a's own",
     "own of b": "b's own"},
    """
**How to read it.** With `n_private` off-pattern relevance is zero because the model has no such connection; what has to
be shown is that the latents are the true factors. With three dimensions for both views the relevances have to find the
pattern themselves; which dimension is which was chosen to suit the pattern best.""",
    each=["off pattern", "shared"],
)  # fmt: skip

COMPONENTS = Section(
    "components", "How many dimensions",
    """
`n_components="auto"` on `factors`, two views of 40 columns and 300 rows that are smooth functions of 3, 5 or 8
factors, and on `mfeat`, whose number nobody knows. `max_iter=1000`.""",
    {"found": "found", "made of": "made of", "off by": "off by"},
    """
**How to read it.** The number that was kept. Dimensions may be bent: a factor that is strongly curved can take two.""",
    each=["found"], digits=1,
)  # fmt: skip

COUNTS = Section(
    "citeseq-pbmc", "Proteins of cells from their RNA",
    """
`citeseq-pbmc`: 500 cells, raw counts of the 500 most variable genes and of 49 proteins. 400 cells are fitted
(`n_components=10`, `max_iter=1000`, nothing else set), and the proteins of 100 others are predicted from their RNA. The
Gaussian views are fitted to log(1 + y), in one case after the RNA of every cell was scaled to the same total; proteins
are not scaled. Their densities are those of the counts: by the change of variables log p(y) = log p(z) - log(1 + y)
with z = log(1 + y). "As integers" is their probability of the interval about the count instead. The last method gives
every protein a negative binomial distribution by maximum likelihood, the same for all cells.""",
    {"log density": "log density", "as integers": "as integers"},
    """
**How to read it.** A method that is not above the last row has learned nothing of use about single cells. Proteins of
cells vary over orders of magnitude, which suits logarithms, so the Gaussian on them is a serious rival; a Poisson model
has no room for cells that differ more than chance makes them differ.

What decides is a few cells with ten to a hundred times the protein that their RNA suggests (clumps of cells or of
antibody). On seed 4 three of the hundred new cells cost the negative binomial about 33, 23 and 10 nats per entry:
count models have lighter tails than the logarithm of a normal variable. On seeds 0 to 2, which have fewer such cells,
the negative binomial is ahead of all others on average; over all five seeds it is not.""",
    each=["log density", "as integers"],
)  # fmt: skip

MATHEMATICS = Section(
    "mathematics", "The mathematics",
    """
For random means, variances and entries: log densities against SciPy's; expected log densities over a normal f against
a sum over 4,001 points (classes: 80 x 80 x 80 Gauss-Hermite points); and, for a Gaussian view, the bound of the
explicit posterior of the weights at its optimum against the collapsed evidence. Largest absolute differences, and for
expectations also relative to the value where that is above 1.""",
    {"density": "log density", "expected": "expected log density", "expected, relative": "the same, relative",
     "bound minus evidence": "bound minus evidence"},
    """
**How to read it.** What is left is rounding, and the error of the quadrature and mixtures that make the expectations
fast. That of negative binomial counts is (y + r) times that of a softplus.""",
    digits=1, notation="e",
)  # fmt: skip

SECTIONS = (*OWN, BINARY, *LABELS, PRIVATE, COMPONENTS, COUNTS, MATHEMATICS)


def above(method: str, rival: str, number: str = "log density") -> Callable[[Results], float]:
    """Compare a method with the best of the rivals whose names have a part in common, as a difference."""
    return lambda results: results.mean(method, number) - results.highest(rival, number)


def loss_ratio(number: str) -> Callable[[Results], float]:
    """Compare the log loss of bernoulli views with that of Gaussian ones."""
    return lambda results: results.mean("bernoulli", number) / results.mean("gaussian", number)


def largest(methods: list[str], number: str) -> Callable[[Results], float]:
    """Give the largest value of any of the methods on any seed."""
    return lambda results: max(results.largest(method, number) for method in methods)


_MOST_ERROR = 1e-6
_small = partial(Claim, "mathematics", highest=_MOST_ERROR, digits=1, notation="e")
_ALL = ["gaussian", "student-t", "bernoulli", "poisson", "negative-binomial", "categorical"]
_CITE = "negative-binomial"

CLAIMS = (
    *(
        Claim(section.experiment, "log density above that of the best Gaussian view: difference above 0",
              above(section.experiment.removeprefix("own-"), "gaussian"), lowest=0)
        for section in OWN
    ),
    Claim("binary-mnist", "log loss of reconstruct below the Gaussian's: ratio below 1", loss_ratio("reconstructed"),
          highest=1),
    Claim("binary-mnist", "log loss of new right halves below the Gaussian's: ratio below 1", loss_ratio("predicted"),
          highest=1),
    *(
        Claim(f"labels-{name}", f"predict, {more} dimensions, as good as the best plain classifier: difference at "
              "least 0 points", above(f"ours, {more} dimensions", "raw", "predict"), lowest=0, digits=1)
        for name, (_, _, more) in _LABELS.items()
    ),
    Claim("private", "off-pattern relevance below 5 % on every seed, private dimensions asked for",
          largest(["1 shared, 1 private each"], "off pattern"), highest=0.05),
    Claim("private", "off-pattern relevance below 5 % on every seed, three dimensions of both views",
          largest(["3 dimensions of both"], "off pattern"), highest=0.05),
    Claim("private", "latents are the true factors on every seed, private dimensions asked for: smallest correlation "
          "at least 0.9",
          lambda results: min(results.smallest("1 shared, 1 private each", name)
                              for name in ("shared", "own of a", "own of b")), lowest=0.9),
    Claim("components", "3, 5 and 8 factors: at most 1 off on every seed",
          largest(["3 factors", "5 factors", "8 factors"], "off by"), highest=1, digits=0),
    Claim("citeseq-pbmc", "log density above that of the Gaussian on logarithms: difference above 0",
          above(_CITE, "gaussian"), lowest=0),
    Claim("citeseq-pbmc", "the same as integers: difference above 0",
          above(_CITE, "gaussian", "as integers"), lowest=0),
    Claim("citeseq-pbmc", "log density above that of poisson: difference above 0", above(_CITE, "poisson"), lowest=0),
    Claim("citeseq-pbmc", "log density above that without latents: difference above 0",
          above(_CITE, "without latents"), lowest=0),
    _small("log densities within 1e-6 of SciPy's", largest(_ALL, "density")),
    _small("expected log densities within 1e-6 of quadrature", largest(_ALL, "expected")),
    _small("the same, relative to the value where it is above 1", largest(_ALL, "expected, relative")),
    _small("bound of explicit weights within 1e-6 of the evidence",
           largest(["weights and evidence"], "bound minus evidence")),
)  # fmt: skip
