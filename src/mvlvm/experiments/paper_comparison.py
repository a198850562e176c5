"""Every number that the paper prints of NG-MVLVM, beside ours: which are reached, and which are not.

NG-SM kernels beside stationary ones: every number that both were measured by, seed by seed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.stats

from mvlvm.experiments.aggregate import at_point
from mvlvm.experiments.cells import Cell, CellRecord, CellStore, Effort
from mvlvm.experiments.experiment import Experiment, write_overview
from mvlvm.experiments.paper_data import PAPER_DATA
from mvlvm.experiments.paper_methods import OURS
from mvlvm.experiments.result_tables import Measure, Printed, ResultTable, Spread, theirs_of

PAPER_COMPARISON, PAPER_COMPARISON_TITLE = "beside-paper", "NG-MVLVM beside the paper's own numbers"
_LEAST_DIGITS = 2


class PaperComparison(NamedTuple):
    """A number of the paper, and ours."""

    experiment: str
    data: str
    measure: Measure
    theirs: Printed
    ours: Spread

    @property
    def is_reached(self) -> bool:
        """Whether ours is at least the paper's, less one of the paper's standard deviations."""
        sign = 1 if self.measure.higher_is_better else -1
        return sign * (self.measure.times * self.ours.mean - self.theirs.mean) >= -self.theirs.std

    @property
    def is_same_data(self) -> bool:
        """Whether nothing is known in which the data differ."""
        return not PAPER_DATA[self.data].differs


def paper_comparisons(experiments: Iterable[Experiment], effort: Effort, store: CellStore) -> Iterator[PaperComparison]:
    """Give every number that the paper prints of our model, and that was measured."""
    for experiment in experiments:
        found = at_point(experiment.found(effort, store), experiment.printed_at)
        for data, measures in experiment.printed.items():
            for measure in measures:
                theirs = theirs_of(experiment.name, OURS, data, measure)
                ours = found.spread(measure.number, data, OURS)
                if theirs is not None and ours is not None:
                    yield PaperComparison(experiment.name, data, measure, theirs, ours)


def paper_comparison_table(rows: Iterable[PaperComparison]) -> ResultTable:
    """Give a row for every number."""
    head = ["experiment", "data", "measure", "paper", "ours", "reached"]
    return ResultTable(PAPER_COMPARISON, "Every number", [head, *([*_named(row), *_judged(row)] for row in rows)])


def _named(row: PaperComparison) -> list[str]:
    differs = "" if row.is_same_data else " (other data)"
    return [f"[{row.experiment}]({row.experiment}.md)", f"{row.data}{differs}", row.measure.column or "error"]


def _judged(row: PaperComparison) -> list[str]:
    """Give both numbers, accuracies with the two digits that the paper prints: 99.96 does not reach 100.00."""
    reached = "yes" if row.is_reached else "**no**"
    measure = replace(row.measure, digits=max(row.measure.digits, _LEAST_DIGITS))
    return [measure.printed_text(row.theirs), measure.text(row.ours), reached]


def paper_comparison_summary(rows: Sequence[PaperComparison]) -> str:
    """Say how many are reached."""
    same = [row for row in rows if row.is_same_data]
    return f"""A number is reached if ours is at least the paper's less one of the paper's standard deviations, or, if
    it is an error, at most the paper's plus one. {sum(row.is_reached for row in rows)} of {len(rows)} are, and
    {sum(row.is_reached for row in same)} of the {len(same)} whose data are not known to differ. Two latent dimensions
    and the library's defaults, but for the start where latents are classified, which is chosen by the bound."""


KERNEL_COMPARISON, KERNEL_COMPARISON_TITLE = "stationarity", "NG-SM kernels beside stationary ones"
_STATIONARY = ("MV-ARFLVM", "ARFLVM")
# Numbers worth a row; of these less is better.
_ERRORS = ("MSE", "MSE image", "MSE mnist", "MSE svhn", "RMSE", "power lost later")
_NUMBERS = ("KNN", "KNN later", "SVM", "LR", "NN", "R2", "kernel 1", "kernel 2", "log density", *_ERRORS)
# Numbers of pages that repeat others: on data alone, what is held out was classified before.
_REPEATED = "held-out"
_FEWEST_SEEDS, _CONFIDENCE = 3, 0.95


@dataclass(frozen=True)
class KernelPair:
    """A number of both kernels at one place, over the seeds that both have.

    Attributes:
        cell: where it was measured; its seed is any of them.
        number: its name.
        ours: with NG-SM kernels, by seed.
        theirs: with stationary ones.
    """

    cell: Cell
    number: str
    ours: np.ndarray
    theirs: np.ndarray

    @property
    def gain(self) -> float:
        """By how much ours is better, on average."""
        return float((self.ours - self.theirs).mean()) * (-1 if self.number in _ERRORS else 1)

    @property
    def standard_error(self) -> float:
        """Of the mean difference."""
        return float((self.ours - self.theirs).std(ddof=1)) / len(self.ours) ** 0.5

    @property
    def is_clear(self) -> bool:
        """Whether Student's t, seed by seed, takes the difference for more than chance."""
        quantile = scipy.stats.t.ppf((1 + _CONFIDENCE) / 2, len(self.ours) - 1)
        return bool(abs(self.gain) > quantile * self.standard_error)


def kernel_pairs(experiments: Iterable[Experiment], effort: Effort, store: CellStore) -> list[KernelPair]:
    """Give every number that both kernels have for at least three seeds, a seed on one machine."""
    told = [experiment for experiment in experiments if experiment.name != _REPEATED]
    records = [record for experiment in told for record in experiment.found(effort, store).done]
    theirs = {(_grid_point(r.cell), r.cell.seed): r for r in records if r.cell.method in _STATIONARY}
    together: dict[tuple[object, ...], list[tuple[CellRecord, CellRecord]]] = {}
    for record in records:
        other = theirs.get((_grid_point(record.cell), record.cell.seed)) if record.cell.method == OURS else None
        if other is not None and other.machine == record.machine:
            together.setdefault(_grid_point(record.cell), []).append((record, other))
    found = [pair for both in together.values() if len(both) >= _FEWEST_SEEDS for pair in _pairs_at(both)]
    return sorted(found, key=lambda pair: (pair.cell.experiment, pair.cell.data, pair.number, pair.cell.at))


def _grid_point(cell: Cell) -> tuple[object, ...]:
    return cell.experiment, cell.data, cell.at


def _pairs_at(both: list[tuple[CellRecord, CellRecord]]) -> Iterator[KernelPair]:
    for number in _NUMBERS:
        if all(number in record.numbers for records in both for record in records):
            ours, theirs = np.array([[a.numbers[number], b.numbers[number]] for a, b in both]).T
            yield KernelPair(both[0][0].cell, number, ours, theirs)


def kernel_comparison_table(found: Iterable[KernelPair]) -> ResultTable:
    """Give a row for every pair."""
    head = ["experiment", "data", "number", OURS, "stationary", "difference", "in percent", "seeds"]
    rows = [
        [
            pair.cell.experiment,
            ", ".join([pair.cell.data, *(f"{name} = {value}" for name, value in pair.cell.at)]),
            pair.number,
            f"{pair.ours.mean():.4f}",
            f"{pair.theirs.mean():.4f}",
            _difference(pair),
            _percent(pair),
            str(len(pair.ours)),
        ]
        for pair in found
    ]
    return ResultTable(KERNEL_COMPARISON, "Every number of both", [head, *rows])


def _difference(pair: KernelPair) -> str:
    text = f"{(pair.ours - pair.theirs).mean():+.4f} ± {pair.standard_error:.4f}"
    if not pair.is_clear:
        return text
    return f"**{text}**" if pair.gain > 0 else f"*{text}*"


def _percent(pair: KernelPair) -> str:
    """Give the difference as a share of the stationary model's, where that is a size."""
    return f"{100 * (pair.ours.mean() / pair.theirs.mean() - 1):+.1f}" if pair.theirs.mean() > 0 else "-"


def kernel_comparison_summary(found: Sequence[KernelPair]) -> str:
    """Say how often which kernel is better."""
    better, worse = (sum(pair.is_clear and sign * pair.gain > 0 for pair in found) for sign in (1, -1))
    return f"""{OURS} with its NG-SM kernels beside the same model and training with stationary spectral mixtures
    (MV-ARFLVM, ARFLVM), seed by seed, both on one machine; in tables of classes (multi-view, single-view, challenging)
    each from the start that its bound prefers, elsewhere from the same. Differences are with the standard error of
    their mean. Of
    {len(found)} numbers {better} are clearly better (bold) and {worse} clearly worse (italic) by a t-test at
    {_CONFIDENCE:.0%}; chance alone would make about {(1 - _CONFIDENCE) * len(found):.0f} of them clear. Many go
    together, such as those of one set at several dimensions. Accuracies, R² and correlations run from 0 to 1; of
    {", ".join(_ERRORS)} less is better."""


def write_overviews(experiments: Sequence[Experiment], effort: Effort, store: CellStore) -> dict[str, str]:
    """Write the pages of both comparisons where there are results to compare.

    Returns:
        The titles of both pages by page name, whether or not they were written.
    """
    if comparisons := list(paper_comparisons(experiments, effort, store)):
        table, summary = paper_comparison_table(comparisons), paper_comparison_summary(comparisons)
        write_overview(PAPER_COMPARISON_TITLE, summary, table, effort, store.folder)
    if pairs := kernel_pairs(experiments, effort, store):
        table, summary = kernel_comparison_table(pairs), kernel_comparison_summary(pairs)
        write_overview(KERNEL_COMPARISON_TITLE, summary, table, effort, store.folder)
    return {PAPER_COMPARISON: PAPER_COMPARISON_TITLE, KERNEL_COMPARISON: KERNEL_COMPARISON_TITLE}
