"""The study of learning-rate schedules and initialisations, and its page."""

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.cells import Cell, Grid, Measurement
from benchmarks.quality.quality_page import QualitySection, ahead_of, complete_seeds, section_parts
from benchmarks.quality.schedule_fits import (
    FROM_PCA,
    FROM_TRUTH,
    PCA_ALONE,
    SCHEDULE_TASKS,
    LearningSchedule,
    recovery,
    train_with,
)
from benchmarks.results import Results, method_difference, seeds_of
from benchmarks.study import PagePart, Study
from benchmarks.tables import Measure, markdown

# Name of the setting that distinguishes the comparisons, and its values.
_COMPARISON = "comparison"
_SCHEDULES, _VARIANTS, _INITIALISATIONS, _RECOVERY = "schedules", "variants", "initialisations", "recovery"
# Numbers of seeds of the comparisons.
_N_SEEDS = {_SCHEDULES: 3, _VARIANTS: 1, _INITIALISATIONS: 3, _RECOVERY: 20}

# Compared on several seeds of all data sets; the first is the reference.
COMPARED = {
    "0.02, 1000 steps": LearningSchedule(),
    "0.1, 500 steps": LearningSchedule(steps=500, rate=0.1),
    "0.05, hold and cool": LearningSchedule(rate=0.05, cool=200),
    "0.1, hold and cool": LearningSchedule(rate=0.1, cool=200),
    "0.1, latents 0.05, hold and cool": LearningSchedule(rate=0.1, latent_rate=0.05, cool=200),
}
# Compared on one seed of the faster data sets.
VARIANTS = {
    "0.02, 1000 steps": LearningSchedule(),
    "0.02, 500 steps": LearningSchedule(steps=500),
    "0.05, 1000 steps": LearningSchedule(rate=0.05),
    "0.05, 500 steps": LearningSchedule(steps=500, rate=0.05),
    "0.05, 300 steps": LearningSchedule(steps=300, rate=0.05),
    "0.1, 500 steps": LearningSchedule(steps=500, rate=0.1),
    "0.1, 300 steps": LearningSchedule(steps=300, rate=0.1),
    "0.1, latents 0.05, 500 steps": LearningSchedule(steps=500, rate=0.1, latent_rate=0.05),
    "0.2, 500 steps": LearningSchedule(steps=500, rate=0.2),
    "0.2, 300 steps": LearningSchedule(steps=300, rate=0.2),
    "0.05, latents 0.1, 500 steps": LearningSchedule(steps=500, rate=0.05, latent_rate=0.1),
    "0.02, latents 0.1, 500 steps": LearningSchedule(steps=500, latent_rate=0.1),
    "0.05, latents by half their std, 500 steps": LearningSchedule(
        steps=500, rate=0.05, latent_rate=0.05, std_rate=0.05, in_std_units=True
    ),
    "0.05, latents by their std, 500 steps": LearningSchedule(
        steps=500, rate=0.05, latent_rate=0.1, std_rate=0.05, in_std_units=True
    ),
    "0.05, natural gradients 0.1, 500 steps": LearningSchedule(steps=500, rate=0.05, natural=0.1),
    "0.05, natural gradients 0.3, 500 steps": LearningSchedule(steps=500, rate=0.05, natural=0.3),
    "0.05, logarithms of sigma and alpha, 500 steps": LearningSchedule(steps=500, rate=0.05, log_sigma=True),
    "0.05, beta1 0.8, 500 steps": LearningSchedule(steps=500, rate=0.05, betas=(0.8, 0.99)),
    "0.05, beta1 0.95, 500 steps": LearningSchedule(steps=500, rate=0.05, betas=(0.95, 0.99)),
    "0.05, beta2 0.999, 500 steps": LearningSchedule(steps=500, rate=0.05, betas=(0.9, 0.999)),
    "0.05, two draws a step, 300 steps": LearningSchedule(steps=300, rate=0.05, n_draws=2),
}
VARIANT_DATA = ("bridges", "s-curve-gibbs", "yale", "breast-tcga")
# Initialisations are compared with the default schedule.
DEFAULT = "0.05, hold and cool"
INITIALISATIONS = ("pca", "spectral", "neighbors", "auto")
INITIALISATION_DATA = ("r-mnist", "digits-halves", "bridges", "s-curve-gibbs", "r-cifar", "yale")
RECOVERY_METHODS = (PCA_ALONE, FROM_PCA, FROM_TRUTH)

_GRIDS = {
    _SCHEDULES: (tuple(SCHEDULE_TASKS), tuple(COMPARED)),
    _VARIANTS: (VARIANT_DATA, tuple(VARIANTS)),
    _INITIALISATIONS: (INITIALISATION_DATA, INITIALISATIONS),
    _RECOVERY: (("s-curve-gibbs",), RECOVERY_METHODS),
}


def schedule_cells(seed: int, is_quick: bool) -> list[Cell]:
    """Return the cells of one seed; the comparisons have different numbers of seeds."""
    return [
        cell
        for comparison, (data, methods) in _GRIDS.items()
        if seed < _N_SEEDS[comparison]
        for cell in Grid(data, methods, {_COMPARISON: [comparison]}).cells("schedules", seed, quick=is_quick)
    ]


def measure_schedule(cell: Cell) -> Measurement:
    """Fit the model of a cell."""
    comparison = cell.settings[_COMPARISON]
    if comparison == _RECOVERY:
        return Measurement(recovery(cell.method, cell.seed, quick=cell.is_quick))
    task = SCHEDULE_TASKS[cell.data](cell.seed, cell.is_quick)
    if comparison == _INITIALISATIONS:
        return Measurement(train_with(task, COMPARED[DEFAULT], cell.seed, quick=cell.is_quick, init=cell.method))
    schedule = {_SCHEDULES: COMPARED, _VARIANTS: VARIANTS}[comparison][cell.method]
    return Measurement(train_with(task, schedule, cell.seed, quick=cell.is_quick))


_WHAT = """
Number of steps, learning rates and initialisations of a fit. Two latent dimensions unless the name of the data set ends
with another number; at most 1,000 rows (500 of `mfeat-10` and 300 of `digits-counts`, which has Poisson views), drawn
at random if there are more; `cll-10` has missing entries and missing views. The bound is the evidence lower bound in
nats per entry, averaged over 20 draws. Quality is the five-fold accuracy of 1-NN on the latents in percent, and for the
S-curves R² against the true latents in percent. The name of a schedule states the initial learning rate of Adam, which
decays along a cosine to a twentieth, and the number of steps. A step costs the same in all schedules, except with two
draws, which cost twice as much.
"""
_DIFFERENCES = """
Bound minus that of "{first}", in thousandths of a nat per entry: mean over seeds ± standard error. Higher is better,
and a difference of less than two standard errors is a tie. The median is that of the means of all data sets.
"""
_HOLD_AND_COOL = """
**How to read it.** "Hold and cool" keeps the rate constant until the bound rises by less than 0.002 nats per entry from
one 50 steps to the next, followed by cosine decay over 200 steps: the number of steps adapts to the data. A rate that
decays from the first step to the last is small long before the end, and the bound rises until the end because gradient
noise averages out, not because the model improves; convergence can then not be detected.
"""
_VARIANTS_TASK = """
One seed of the faster data sets, so that differences have no standard error and no value is marked. "Latents by their
std": steps of latent means are in units of their posterior standard deviation, or of half of it. "Natural gradients":
latents take steps along the natural gradient of q(X), without Adam. "Logarithms": the standard deviations and weights
of spectral densities take relative steps.
"""
_INITIALISATION_TASK = """
The schedule "{schedule}" with each initialisation: bound in nats per entry, and quality. `init="auto"` selected
{selected}. Its trials, 300 steps in total, are not counted as steps.
"""

RECOVERY = QualitySection(
    data="s-curve-gibbs",
    title="Recovery of the S-curve",
    task="""
Two views of an S-shaped latent with 100 columns each, drawn from Gaussian processes with an RBF and a Gibbs kernel, 500
rows, noise of standard deviation 0.1. Defaults, initialised by PCA and by the true latents. R² is that of the latents
after the best affine map; the bound is in nats per entry, and "noise" is the estimated standard deviation.""",
    methods=RECOVERY_METHODS,
    columns=[Measure("R2", "R²", scale=1.0, digits=3), Measure("bound", "bound", scale=1.0, digits=4),
             Measure("noise", "noise", scale=1.0, digits=4)],
    ranked=["R2"],
    references=[FROM_TRUTH],
    reading="""
**How to read it.** With a non-stationary view the result depends on the initial latents: training does not unfold an S
that PCA folds. If the fit from the true latents has a higher bound, the fold is a local optimum and not
preferred by the model; better initial latents, which `init` accepts as an array, are the remedy.""",
    shows_time=False,
)  # fmt: skip

CLAIMS = (ahead_of(RECOVERY, "R² of the fit above that of its PCA initialisation", FROM_PCA, [PCA_ALONE], "R2"),)

_QUALITY = Measure("quality", "quality")
_STEPS = Measure("steps", "steps", scale=1.0, digits=0)
_BOUND = Measure("bound", "bound", scale=1.0, digits=4)


def schedules_page(results: Results) -> list[PagePart]:
    """Return the tables of schedules, variants and initialisations."""
    compared, variants, started = (
        _by_data(results, comparison) for comparison in (_SCHEDULES, _VARIANTS, _INITIALISATIONS)
    )
    differences = _DIFFERENCES.format(first=next(iter(COMPARED)))
    parts: list[PagePart] = ["## Schedules", differences, _difference_table(compared, list(COMPARED))]
    parts += ["Quality in percent:", _level_table(compared, COMPARED, _QUALITY)]
    parts += ["Steps:", _level_table(compared, COMPARED, _STEPS, mark_best=False)]
    parts += [_HOLD_AND_COOL, _unmeasured(compared, _SCHEDULES)]
    parts += ["## Other variants", _VARIANTS_TASK, differences, _difference_table(variants, list(VARIANTS))]
    parts += ["Quality in percent:", _level_table(variants, VARIANTS, _QUALITY), _unmeasured(variants, _VARIANTS)]
    task = _INITIALISATION_TASK.format(schedule=DEFAULT, selected=_selected(started))
    parts += ["## Initialisations", task, "Bound:", _level_table(started, INITIALISATIONS, _BOUND)]
    parts += ["Quality in percent:", _level_table(started, INITIALISATIONS, _QUALITY)]
    parts.append(_unmeasured(started, _INITIALISATIONS))
    *recovered, reading = section_parts(RECOVERY, results)
    return [*parts, *recovered, *_recovery_quantiles(results), reading]


def _recovery_quantiles(results: Results) -> list[PagePart]:
    """Return a table of the median and the lowest R² over seeds, which show failures better than the mean."""
    found = RECOVERY.complete(results)
    if not found.done:
        return []
    rows = [["R²", "median", "lowest"]]
    for method in RECOVERY_METHODS:
        values = list(found.by_seed("R2", RECOVERY.data, method).values())
        rows.append([method, f"{np.median(values):.3f}", f"{min(values):.3f}"])
    return ["Median and lowest value over seeds:", markdown(rows)]


def _by_data(results: Results, comparison: str) -> dict[str, Results]:
    """Return the results of a comparison by data set, for data sets on which all methods finished at least one seed."""
    data, methods = _GRIDS[comparison]
    found = {name: complete_seeds(results.at({_COMPARISON: comparison}), name, methods) for name in data}
    return {name: of_data for name, of_data in found.items() if of_data.done}


def _unmeasured(found: Mapping[str, Results], comparison: str) -> str:
    missing = [name for name in _GRIDS[comparison][0] if name not in found]
    return f"Not measured yet: {', '.join(missing)}." if missing else ""


def _difference_table(found: Mapping[str, Results], methods: Sequence[str]) -> str:
    """Return a table of differences of the bound from the first method, and the median of their means."""
    rows = [["schedule", *found, "median"]]
    for method in methods[1:]:
        gaps = [method_difference(results, "bound", name, method, methods[0]) for name, results in found.items()]
        means = [1000 * gap.mean for gap in gaps if gap is not None]
        errors = [1000 * gap.standard_error for gap in gaps if gap is not None]
        texts = [f"{m:+.1f}" + ("" if np.isnan(e) else f" ± {e:.1f}") for m, e in zip(means, errors, strict=True)]
        rows.append([method, *texts, f"{np.median(means):+.1f}" if means else ""])
    return markdown(rows)


def _level_table(
    found: Mapping[str, Results], methods: Mapping[str, object] | Sequence[str], measure: Measure, *,
    mark_best: bool = True,
) -> str:  # fmt: skip
    """Return a table of mean ± standard deviation with a column for every data set."""
    columns = [
        # a single seed has no standard error
        measure.column_texts(results, name, list(methods), mark_best=mark_best and len(seeds_of(results)) > 1)
        for name, results in found.items()
    ]
    return markdown([["", *found], *([method, *(column[method] for column in columns)] for method in methods)])


def _selected(found: Mapping[str, Results]) -> str:
    """Return the initialisations selected by `init="auto"`, by data set."""
    selected = []
    for name, results in found.items():
        names = list(dict.fromkeys(record.metrics["init"] for record in results.select(name, "auto")))
        selected.append(f"{' or '.join(names)} on {name}")
    return ", ".join(selected) if selected else "none"


SCHEDULES = Study(
    name="schedules",
    title="Learning-rate schedules and initialisations",
    what=_WHAT,
    group="quality",
    cells=schedule_cells,
    measure=measure_schedule,
    page=schedules_page,
    claims=CLAIMS,
    n_seeds=max(_N_SEEDS.values()),
)
