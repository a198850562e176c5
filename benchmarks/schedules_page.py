"""The page docs/results/schedules.md: learning-rate schedules and initialisations, from finished cells."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cells import Cell, CellFile, Key, whole_seeds
from result_page import TRIAL, Results, filled, markdown
from schedule_data import TASKS

# Data sets that are fast enough for all variants.
TRIED_ON = ("bridges", "s-curve-gibbs", "yale", "breast-tcga")
STARTS_ON = ("r-mnist", "digits-halves", "bridges", "s-curve-gibbs", "r-cifar", "yale")

INTRODUCTION = """
# Learning-rate schedules and initialisations

Number of steps, learning rates and initialisations of a fit.

`benchmarks/schedules.py` generates this page; every number comes from `benchmarks/results/schedules.jsonl`. Version
{version}. Two latent dimensions unless the name of the data set has another number; at most 1,000 rows (`mfeat-10` 500,
`digits-counts` 300 with Poisson views), drawn by the seed if there are more; `cll-10` has missing entries and missing
views. "Bound" is the evidence lower bound in nats per entry, averaged over 20 draws. Quality is the five-fold accuracy
of 1-NN on the latents in percent, and for the S-curves R² against the true latents in percent. The name of a schedule
states the initial learning rate of Adam, which decays along a cosine to a twentieth, and the number of steps. A step
costs the same in all schedules, except with two draws, which cost twice as much.
"""

_FINALISTS = """
Mean over seeds of the bound minus that of the first schedule, in thousandths of a nat per entry: higher is better.
"""
_NOISE = """
**How to read it.** The same fit with different draws differs by 1 or 2 thousandths on most data sets, by 5 on bridges
and by 10 on yale. "Hold and cool" keeps the rate constant until the bound rises by less than 0.002 nats per entry from
one 50 steps to the next, followed by cosine decay over 200 steps: the number of steps adapts to the data. A rate that
decays from the first step to the last is small long before the end, and the bound rises until the end because gradient
noise averages out, not because anything is learned; convergence can then not be detected.
"""
_TRIED = """
On the faster data sets. Bounds minus that of the first schedule, in thousandths of a nat per entry. "Latents by their
std": steps of latent means are in units of their posterior standard deviation, or of half of it. "Natural gradients":
latents take steps along the natural gradient of q(X), without Adam. "Logarithms": the standard deviations and weights
of spectral densities take relative steps.
"""
_STARTS = """
The schedule "{schedule}" with each initialisation: bound in nats per entry, and quality. `init="auto"` chose {chosen}.
Its trials, 300 steps in total, are not counted.
"""

Found = Mapping[str, Results]


def write_page(
    finalists: Sequence[str], tried: Sequence[str], starts: Sequence[str], chosen: str, file: CellFile, out: Path,
    *, trial: bool = False,
) -> Path:  # fmt: skip
    """Write the page and return its path; a trial run is marked as such."""
    cells = file.read()
    final = _found(cells, TASKS, finalists)
    parts = [filled(INTRODUCTION.format(version=file.version)), *([filled(TRIAL)] if trial else [])]
    parts += ["## Schedules", _seeds(final), filled(_FINALISTS), _differences(final, finalists, "bound", 1000)]
    parts += ["Quality in percent:", _levels(final, finalists, "quality", 100, 1)]
    parts += ["Steps:", _levels(final, finalists, "steps", 1, 0), filled(_NOISE)]
    quick = _found(cells, [f"tried-{task}" for task in TRIED_ON], tried)
    parts += ["## Other variants", _seeds(quick), filled(_TRIED), _differences(quick, tried, "bound", 1000)]
    parts += ["Quality in percent:", _levels(quick, tried, "quality", 100, 1)]
    from_starts = _found(cells, [f"starts-{task}" for task in STARTS_ON], starts)
    parts += ["## Initialisations", _seeds(from_starts)]
    parts += [filled(_STARTS.format(schedule=chosen, chosen=_winners(from_starts)))]
    parts += [_levels(from_starts, starts, "bound", 1, 4), "Quality in percent:"]
    parts += [_levels(from_starts, starts, "quality", 100, 1)]
    out.mkdir(parents=True, exist_ok=True)
    page = out / "schedules.md"
    page.write_text("\n\n".join(parts) + "\n")
    return page


def _found(cells: Mapping[Key, Cell], names: Sequence[str] | Mapping[str, object], methods: Sequence[str]) -> Found:
    """Return the results of experiments that have finished on at least one seed."""
    found = {name: Results(whole_seeds(cells, name, list(methods))) for name in names}
    return {name: results for name, results in found.items() if results.cells}


def _seeds(found: Found) -> str:
    """Return a sentence with the number of seeds."""
    counts = ", ".join(f"{_name(name)} {len(results.cells)}" for name, results in found.items())
    return filled(f"Seeds: {counts}.") if counts else "Not run yet."


def _name(experiment: str) -> str:
    return experiment.removeprefix("starts-").removeprefix("tried-")


def _differences(found: Found, methods: Sequence[str], number: str, unit: float) -> str:
    """Return a table of mean differences from the first method, and their median over data sets."""
    rows = [["schedule", *map(_name, found), "median"]]
    for method in methods[1:]:
        gains = [unit * (found[name].mean(method, number) - found[name].mean(methods[0], number)) for name in found]
        rows.append([method, *(f"{gain:+.1f}" for gain in gains), f"{np.median(gains):+.1f}" if gains else ""])
    return markdown(rows)


def _levels(found: Found, methods: Sequence[str], number: str, unit: float, digits: int) -> str:
    rows = [["", *map(_name, found)]]
    for method in methods:
        rows.append([method, *(f"{unit * results.mean(method, number):.{digits}f}" for results in found.values())])
    return markdown(rows)


def _winners(found: Found) -> str:
    """Return the initialisations chosen by `init="auto"`, by data set."""
    choices = []
    for name, results in found.items():
        chosen = [by["auto"].numbers["init"][0] for by in results.cells.values()]
        choices.append(f"{', '.join(chosen)} on {_name(name)}")
    return "; ".join(choices)
