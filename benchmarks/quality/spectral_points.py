"""Few spectral points until the bound is flat, compared with all of them in every step."""

from benchmarks.cells import Cell, Measurement
from benchmarks.quality.fit_comparison import MEASURES, MULTI_VIEW_SETS, Compared, compare, measure_options
from benchmarks.results import Results
from benchmarks.study import NO, YES, Claim, PagePart, Study, Verdict
from benchmarks.tables import NOTHING, ResultTable

COARSE, CONSTANT = "few points first", "all points"
_OPTIONS = {COARSE: {"schedule": "coarse-to-fine"}, CONSTANT: {"schedule": "constant"}}
_DIMENSIONS = (2, 10)
# Ten dimensions need more rows than this one has.
_TWO_DIMENSIONS_ONLY = {"nutrimouse", "s-curve", "s-curve-stationary", "factors", "shared-private"}
_LARGEST_SHARE = 0.05


def cells(seed: int, is_quick: bool) -> list[Cell]:
    """Return the cells of a seed."""
    quick = {"quick": True} if is_quick else {}
    return [
        Cell(study="spectral-points", method=method, data=data, seed=seed, settings={"D": D, **quick})
        for data in (("digits-halves",) if is_quick else MULTI_VIEW_SETS)
        for D in _DIMENSIONS
        if _DIMENSIONS[0] == D or data not in _TWO_DIMENSIONS_ONLY
        for method in _OPTIONS
    ]


def measure(cell: Cell) -> Measurement:
    """Fit with one of the schedules."""
    return measure_options(cell, _OPTIONS[cell.method])


def page(results: Results) -> list[PagePart]:
    """Return a table of gains."""
    compared = compare(results, COARSE, CONSTANT, _DIMENSIONS)
    rows = [["data", "D", *(measure.column for measure in MEASURES), "time"]]
    for data, D in dict.fromkeys((item.data, item.dimensions) for item in compared):
        gains = {item.measure: item for item in compared if (item.data, item.dimensions) == (data, D)}
        seconds = [results.mean_std("seconds", data, method, {"D": D}) for method in (COARSE, CONSTANT)]
        ratio = NOTHING if None in seconds else f"{seconds[0].mean / seconds[1].mean:.2f}"  # pyright: ignore[reportOptionalMemberAccess]
        rows.append([data, str(D), *(_text(gains.get(measure)) for measure in MEASURES), ratio])
    return [
        """Gains of beginning with few points over using all of them, mean ± standard error over seeds; losses of at
        least two standard errors are bold. The last column is the ratio of the times of both fits.""",
        ResultTable("spectral-points-gains", "Gains", rows),
    ]


def _text(item: Compared | None) -> str:
    if item is None:
        return NOTHING
    text = f"{item.gain.mean:+.2f} ± {item.gain.standard_error:.2f}"
    return f"**{text}**" if item.is_worse else text


def few_losses(results: Results) -> Verdict | None:
    """Judge whether at most one in twenty comparisons is a loss, and none a large one."""
    compared = compare(results, COARSE, CONSTANT, _DIMENSIONS)
    if not compared:
        return None
    worse, much = ([item for item in compared if chosen(item)] for chosen in (_worse, _much_worse))
    holds = len(worse) <= _LARGEST_SHARE * len(compared) and not much
    text = f"{len(worse)} of {len(compared)} worse, {len(much)} by more than a point or 3e-3 nats per entry"
    return Verdict(text, YES if holds else NO)


def _worse(item: Compared) -> bool:
    return item.is_worse


def _much_worse(item: Compared) -> bool:
    return item.is_much_worse


SPECTRAL_POINTS = Study(
    name="spectral-points",
    title="Few spectral points first",
    what="""
With `schedule="coarse-to-fine"`, models of several views are trained with 25 spectral points per mixture component
until the bound is flat, and then with all 50. This study compares it with `schedule="constant"`, by the bound, the use
of the latents, and predictions of every view of a fifth of the rows, which are not fitted, from the other views. The
rows of large data sets are drawn by the seed.""",
    group="quality",
    cells=cells,
    measure=measure,
    page=page,
    claims=(Claim("at most 5 % of the comparisons are worse, none by more than a point or 3e-3 nats per entry",
                  few_losses),),
    marks=False,
)  # fmt: skip
