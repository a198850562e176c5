"""The page docs/results/schedules.md: schedules and starts side by side, from finished cells."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cells import Cell, CellFile, Key, whole_seeds
from result_page import TRIAL, Results, filled, markdown
from schedule_data import TASKS

# Data sets that are quick enough for everything.
TRIED_ON = ("bridges", "s-curve-gibbs", "yale", "breast-tcga")
STARTS_ON = ("r-mnist", "digits-halves", "bridges", "s-curve-gibbs", "r-cifar", "yale")

INTRODUCTION = """
# Schedules and starts

How many steps a fit takes, how long they are, and where it starts.

`benchmarks/schedules.py` makes this page; every number comes from `benchmarks/results/schedules.jsonl`.
Version {version}. Two latent dimensions unless the data set's name has another number; at most 1,000 rows (`mfeat-10`
500, `digits-counts` 300 with Poisson views), drawn by the seed where there are more; `cll-10` has gaps and missing
views. "Bound" is the evidence lower bound in nats per entry, averaged over 20 draws. Quality is
the five-fold accuracy of 1-NN on the latents in percent, and for the S-curves R² against the true latents in percent.
A schedule's name has the rate at which Adam starts, which falls along a cosine to a twentieth, and the number of steps.
A step costs the same in all of them, but for two draws, which cost twice as much.
"""

_FINALISTS = """
Mean over seeds of the bound, minus that of the first schedule, in thousandths of a nat per entry: higher is better.
"""
_NOISE = """
**How to read it.** The same fit with other draws differs by 1 or 2 thousandths on most of these, by 5 on bridges and by
10 on yale. "Hold and cool" keeps the rate until the bound rises by less than 0.002 nats per entry from one 50 steps to
the next, and then lets it fall over 200 steps: it takes as many steps as the data need. A rate that falls from the
first step to the last is small long before the end, and the bound rises until the end because its noise dies down, not
because anything is learned; so there is no telling when to stop.
"""
_TRIED = """
On the quicker data sets. Bounds minus that of the first schedule, in thousandths of a nat per entry.
"Latents by their std": steps of latent means are as long as their posterior standard deviations are wide, or half of
it. "Natural gradients": latents take steps along the natural gradient of q(X), with no Adam. "Logarithms": the
deviations and weights of spectral densities move by shares of themselves.
"""
_STARTS = """
The schedule "{schedule}" from each start: bound in nats per entry, and quality. `init="auto"` took {chosen}. Its
trials, 300 steps in all, are not counted.
"""

Found = Mapping[str, Results]


def write_page(
    finalists: Sequence[str], tried: Sequence[str], starts: Sequence[str], chosen: str, file: CellFile, out: Path,
    *, trial: bool = False,
) -> Path:  # fmt: skip
    """Write the page and give its path; a trial says that it is one."""
    cells = file.read()
    final = _found(cells, TASKS, finalists)
    parts = [filled(INTRODUCTION.format(version=file.version)), *([filled(TRIAL)] if trial else [])]
    parts += ["## Schedules", _seeds(final), filled(_FINALISTS), _differences(final, finalists, "bound", 1000)]
    parts += ["Quality in percent:", _levels(final, finalists, "quality", 100, 1)]
    parts += ["Steps:", _levels(final, finalists, "steps", 1, 0), filled(_NOISE)]
    quick = _found(cells, [f"tried-{task}" for task in TRIED_ON], tried)
    parts += ["## What else was tried", _seeds(quick), filled(_TRIED), _differences(quick, tried, "bound", 1000)]
    parts += ["Quality in percent:", _levels(quick, tried, "quality", 100, 1)]
    from_starts = _found(cells, [f"starts-{task}" for task in STARTS_ON], starts)
    parts += ["## Starts", _seeds(from_starts)]
    parts += [filled(_STARTS.format(schedule=chosen, chosen=_winners(from_starts)))]
    parts += [_levels(from_starts, starts, "bound", 1, 4), "Quality in percent:"]
    parts += [_levels(from_starts, starts, "quality", 100, 1)]
    out.mkdir(parents=True, exist_ok=True)
    page = out / "schedules.md"
    page.write_text("\n\n".join(parts) + "\n")
    return page


def _found(cells: Mapping[Key, Cell], names: Sequence[str] | Mapping[str, object], methods: Sequence[str]) -> Found:
    """Give the results of those experiments that have finished on some seed."""
    found = {name: Results(whole_seeds(cells, name, list(methods))) for name in names}
    return {name: results for name, results in found.items() if results.cells}


def _seeds(found: Found) -> str:
    """Say how many seeds there are of what."""
    counts = ", ".join(f"{_name(name)} {len(results.cells)}" for name, results in found.items())
    return filled(f"Seeds: {counts}.") if counts else "Not run yet."


def _name(experiment: str) -> str:
    return experiment.removeprefix("starts-").removeprefix("tried-")


def _differences(found: Found, methods: Sequence[str], number: str, unit: float) -> str:
    """Give the mean differences to the first method, and over all data sets their median."""
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
    """Say what `init="auto"` chose on which data."""
    said = []
    for name, results in found.items():
        chosen = [by["auto"].numbers["init"][0] for by in results.cells.values()]
        said.append(f"{', '.join(chosen)} on {_name(name)}")
    return "; ".join(said)
