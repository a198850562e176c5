"""The study of cross-view prediction compared with regression, and its page."""

from collections.abc import Callable

import numpy as np

from benchmarks.cells import Cell
from benchmarks.quality.prediction import (
    BY_LATENTS,
    FOREST,
    KERNEL_RIDGE,
    NEIGHBOURS,
    OURS,
    RIDGE,
    WITHOUT_LATENTS,
    measure,
)
from benchmarks.results import Results
from benchmarks.study import Claim, PagePart, Study, Verdict, within
from benchmarks.tables import NOTHING, ResultTable

# Sets on which the method was chosen, and sets that were read once, at the end.
CHOSEN_ON = ("mfeat", "digits-halves", "breast-tcga", "nutrimouse", "bbcsport", "bdgp", "channel", "citeseq-pbmc")
NEW_SETS = ("coil20-halves", "brendan-halves", "yale-halves", "cora", "movies")
_METHODS = (OURS, RIDGE, NEIGHBOURS, KERNEL_RIDGE, FOREST)
# What the claims require: RMSE over that of the better regression, and coverage.
_MOST, _LARGEST_RATIO = 0.9, 1.02
_COVERAGE = {"bbcsport": (0.92, 0.99), "nutrimouse": (0.90, 0.97)}
_USUAL_COVERAGE = (0.92, 0.97)
_LARGEST_DENSITY_LOSSES = 2


def cells(seed: int, is_quick: bool) -> list[Cell]:
    """Return the cells of a seed."""
    quick = {"quick": True} if is_quick else {}
    return [
        Cell(study="prediction", method=method, data=data, seed=seed, settings=quick)
        for data in (("nutrimouse",) if is_quick else (*CHOSEN_ON, *NEW_SETS))
        for method in _METHODS
    ]


def targets_of(results: Results, data: str) -> list[str]:
    """Return the targets of a data set that were measured."""
    names = {name: None for record in results.select(data, OURS) for name in record.metrics}
    return [name.removeprefix("RMSE ") for name in names if name.startswith("RMSE ")]


def mean_over_seeds(results: Results, metric: str, data: str, method: str) -> float | None:
    """Return the mean of a metric over the seeds that our method has."""
    ours = results.by_seed(f"RMSE {metric.split(' ')[-1]}", data, OURS)
    values = [value for seed, value in results.by_seed(metric, data, method).items() if seed in ours]
    return float(np.mean(values)) if values else None


def reference(results: Results, data: str, target: str) -> float | None:
    """Return the RMSE of the better of ridge regression and ten nearest neighbours."""
    found = [mean_over_seeds(results, f"RMSE {target}", data, method) for method in (RIDGE, NEIGHBOURS)]
    known = [value for value in found if value is not None]
    return min(known) if len(known) == len(found) else None


def ratios(results: Results) -> dict[tuple[str, str], float]:
    """Return the RMSE of every target relative to the better regression."""
    found = {}
    for data in results.data:
        for target in targets_of(results, data):
            ours, best = mean_over_seeds(results, f"RMSE {target}", data, OURS), reference(results, data, target)
            if ours is not None and best is not None:
                found[data, target] = ours / best
    return found


def page(results: Results) -> list[PagePart]:
    """Return tables of accuracy, calibration and sources."""
    return [
        f"""RMSE of our predictions in standardised columns, and RMSE relative to the better of ridge regression and
        ten nearest neighbours: below 1 is ahead of both. "{BY_LATENTS}" are predictions by the latents,
        "{WITHOUT_LATENTS}" those of the layer with F = 0. The sets from {NEW_SETS[0]} on had no influence on the
        method.""",
        _accuracy_table(results),
        """Coverage of 95 % intervals, and mean log density in nats per entry of standardised columns, ours and that of
        ridge regression with one variance for every column. Seconds are those of the first prediction, with the fit of
        the layer.""",
        _calibration_table(results),
        """The coefficient a of the latent prediction, and the shares of the variance of the target that are predicted
        by the latents, by the given views directly, and by the nearest neighbours, from leave-one-out
        predictions.""",
        _sources_table(results),
    ]


def _accuracy_table(results: Results) -> ResultTable:
    header = ["data", "target", "RMSE", "ours", BY_LATENTS, WITHOUT_LATENTS, RIDGE, NEIGHBOURS, KERNEL_RIDGE, FOREST]

    def row(data: str, target: str) -> list[str]:
        best, rmse = reference(results, data, target), f"RMSE {target}"
        found = [mean_over_seeds(results, metric, data, method) for metric, method in (
            (rmse, OURS), (f"{BY_LATENTS} {rmse}", OURS), (f"{WITHOUT_LATENTS} {rmse}", OURS), (rmse, RIDGE),
            (rmse, NEIGHBOURS), (rmse, KERNEL_RIDGE), (rmse, FOREST),
        )]  # fmt: skip
        relative = [None if value is None or best is None else value / best for value in found]
        return [_number(found[0]), *(_number(value) for value in relative)]

    return _table(results, "prediction-accuracy", "Accuracy", header, row)


def _calibration_table(results: Results) -> ResultTable:
    header = ["data", "target", "coverage", f"coverage, {BY_LATENTS}", "log density", f"log density, {BY_LATENTS}",
              f"log density, {RIDGE}", "seconds"]  # fmt: skip

    def row(data: str, target: str) -> list[str]:
        found = [mean_over_seeds(results, f"{metric} {target}", data, method) for metric, method in (
            ("coverage", OURS), (f"{BY_LATENTS} coverage", OURS), ("log density", OURS),
            (f"{BY_LATENTS} log density", OURS), ("log density", RIDGE), ("seconds", OURS),
        )]  # fmt: skip
        return [_number(value) for value in found]

    return _table(results, "prediction-calibration", "Calibration", header, row)


def _sources_table(results: Results) -> ResultTable:
    header = ["data", "target", "a", "from the latents", "from the views", "from neighbours"]

    def row(data: str, target: str) -> list[str]:
        names = ("latent_coefficient", "latent_share", "view_share", "neighbour_share")
        return [_number(mean_over_seeds(results, f"{name} {target}", data, OURS)) for name in names]

    return _table(results, "prediction-sources", "Sources", header, row)


def _table(
    results: Results, name: str, title: str, header: list[str], row: Callable[[str, str], list[str]]
) -> ResultTable:
    rows = [[data, target, *row(data, target)] for data in results.data for target in targets_of(results, data)]
    return ResultTable(name, title, [header, *rows])


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def mostly_ahead(results: Results) -> Verdict | None:
    """Judge whether RMSE is at most that of the better regression on most targets."""
    found = ratios(results)
    if not found:
        return None
    ahead = sum(ratio <= 1 for ratio in found.values())
    return within(ahead / len(found), f"{ahead} of {len(found)} targets", lowest=_MOST)


def never_far_behind(results: Results) -> Verdict | None:
    """Judge whether RMSE is never far above that of the better regression."""
    found = ratios(results)
    if not found:
        return None
    data, target = max(found, key=lambda key: found[key])
    worst = found[data, target]
    return within(worst, f"at most {worst:.3f} ({data}, {target})", highest=_LARGEST_RATIO)


def calibrated(results: Results) -> Verdict | None:
    """Judge whether the coverage of 95 % intervals is within its limits on every data set, averaged over targets."""
    errors = {}
    for data in results.data:
        values = [mean_over_seeds(results, f"coverage {name}", data, OURS) for name in targets_of(results, data)]
        known = [value for value in values if value is not None]
        if known:
            low, high = _COVERAGE.get(data, _USUAL_COVERAGE)
            errors[data] = (float(np.mean(known)), low, high)
    if not errors:
        return None
    outside = [f"{data} {value:.3f}" for data, (value, low, high) in errors.items() if not low <= value <= high]
    return within(len(outside), ", ".join(outside) or f"all {len(errors)} sets", highest=0)


def denser_than_ridge(results: Results) -> Verdict | None:
    """Judge whether the log density is above that of ridge regression on all but a few targets."""
    losses, n = [], 0
    for data in results.data:
        for target in targets_of(results, data):
            ours, ridge = (mean_over_seeds(results, f"log density {target}", data, m) for m in (OURS, RIDGE))
            if ours is not None and ridge is not None:
                n += 1
                losses += [f"{data} {target}"] * (ours <= ridge)
    if not n:
        return None
    listed = f": {', '.join(losses)}" if losses else ""
    return within(len(losses), f"below on {len(losses)} of {n} targets{listed}", highest=_LARGEST_DENSITY_LOSSES)


PREDICTION = Study(
    name="prediction",
    title="Cross-view prediction and regression",
    what="""
Every view of a fifth of the rows is predicted from all other views of these rows, by a model of ten latent dimensions
that was fitted to the other rows, and by regressions on the given views: ridge regression with its penalty by
cross-validation, ten nearest neighbours, kernel ridge regression with its parameters by cross-validation, and a random
forest. [Predictions](../prediction.md) explains the method.""",
    group="quality",
    cells=cells,
    measure=measure,
    page=page,
    claims=(
        Claim("RMSE at most that of the better of ridge and 10-NN on at least 90 % of the targets", mostly_ahead),
        Claim("never more than 2 % above it", never_far_behind),
        Claim("coverage of 95 % intervals between 0.92 and 0.97 on every set (nutrimouse from 0.90, bbcsport up to "
              "0.99)", calibrated),
        Claim("log density above that of ridge with one variance per column on all but at most two targets",
              denser_than_ridge),
    ),
    marks=False,
)  # fmt: skip
