"""Comparisons over all experiments.

The first page compares every value that the paper prints for NG-MVLVM with ours; the second compares NG-SM kernels with
stationary kernels, seed by seed.
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
from mvlvm.experiments.result_tables import Measure, Printed, ResultTable, Spread, printed_value

PAPER_COMPARISON, PAPER_COMPARISON_TITLE = "beside-paper", "NG-MVLVM compared with the paper"
KERNEL_COMPARISON, KERNEL_COMPARISON_TITLE = "stationarity", "NG-SM kernels compared with stationary kernels"
_MIN_DIGITS = 2
_STATIONARY = ("MV-ARFLVM", "ARFLVM")
# Numbers with a row in the comparison of kernels; of the errors, less is better.
_ERRORS = ("MSE", "MSE image", "MSE mnist", "MSE svhn", "RMSE", "power lost later")
_NUMBERS = ("KNN", "KNN later", "SVM", "LR", "NN", "R2", "kernel 1", "kernel 2", "log density", *_ERRORS)
# This experiment repeats fits of other experiments, so counting it would count them twice.
_REPEATED = "held-out"
_MIN_SEEDS, _CONFIDENCE = 3, 0.95


class PaperComparison(NamedTuple):
    """A value printed in the paper, and ours."""

    experiment: str
    data: str
    measure: Measure
    theirs: Printed
    ours: Spread

    @property
    def is_reached(self) -> bool:
        """Whether our value is at least as good as the paper's, up to one of its standard deviations."""
        sign = 1 if self.measure.higher_is_better else -1
        return sign * (self.measure.scale * self.ours.mean - self.theirs.mean) >= -self.theirs.std

    @property
    def is_same_data(self) -> bool:
        """Whether the data have no known difference from the paper's."""
        return not PAPER_DATA[self.data].differences


def paper_comparisons(experiments: Iterable[Experiment], effort: Effort, store: CellStore) -> Iterator[PaperComparison]:
    """Yield every value that the paper prints for our model and that has been measured."""
    for experiment in experiments:
        results = at_point(experiment.results(effort, store), experiment.printed_at)
        for data, measures in experiment.printed.items():
            for measure in measures:
                theirs = printed_value(experiment.name, OURS, data, measure)
                ours = results.spread(measure.number, data, OURS)
                if theirs is not None and ours is not None:
                    yield PaperComparison(experiment.name, data, measure, theirs, ours)


def paper_comparison_table(rows: Iterable[PaperComparison]) -> ResultTable:
    """Return a table with a row for every comparison."""
    head = ["experiment", "data", "measure", "paper", "ours", "reached"]
    return ResultTable(PAPER_COMPARISON, "All values", [head, *([*_named(row), *_judged(row)] for row in rows)])


def _named(row: PaperComparison) -> list[str]:
    differences = "" if row.is_same_data else " (different data)"
    return [f"[{row.experiment}]({row.experiment}.md)", f"{row.data}{differences}", row.measure.column or "error"]


def _judged(row: PaperComparison) -> list[str]:
    """Return both values and the verdict, with at least the paper's two decimals: 99.96 does not reach 100.00."""
    reached = "yes" if row.is_reached else "**no**"
    measure = replace(row.measure, digits=max(row.measure.digits, _MIN_DIGITS))
    return [measure.printed_text(row.theirs), measure.text(row.ours), reached]


def paper_comparison_summary(rows: Sequence[PaperComparison]) -> str:
    """Return a paragraph with the number of values reached."""
    same = [row for row in rows if row.is_same_data]
    return f"""A value is reached if ours is at least the paper's mean minus one of the paper's standard deviations, or,
    for an error, at most its mean plus one. {sum(row.is_reached for row in rows)} of {len(rows)} values are reached,
    and {sum(row.is_reached for row in same)} of the {len(same)} whose data have no known difference. Two latent
    dimensions and the defaults of the library, except that the initialisation is chosen by the ELBO where latents are
    classified."""


@dataclass(frozen=True)
class KernelPair:
    """A number measured with both kernels at one grid point, over the seeds that both have.

    Attributes:
        cell: cell of any of the seeds.
        number: name of the number.
        ours: values with NG-SM kernels, by seed.
        theirs: values with stationary kernels, by seed.
    """

    cell: Cell
    number: str
    ours: np.ndarray
    theirs: np.ndarray

    @property
    def gain(self) -> float:
        """Mean improvement of ours."""
        return float((self.ours - self.theirs).mean()) * (-1 if self.number in _ERRORS else 1)

    @property
    def standard_error(self) -> float:
        """Standard error of the mean difference."""
        return float((self.ours - self.theirs).std(ddof=1)) / len(self.ours) ** 0.5

    @property
    def is_clear(self) -> bool:
        """Whether a paired t-test over seeds rejects the hypothesis of no difference."""
        quantile = scipy.stats.t.ppf((1 + _CONFIDENCE) / 2, len(self.ours) - 1)
        return bool(abs(self.gain) > quantile * self.standard_error)


def kernel_pairs(experiments: Iterable[Experiment], effort: Effort, store: CellStore) -> list[KernelPair]:
    """Return the numbers that both kernels have for at least three seeds, each pair measured on the same machine."""
    counted = [experiment for experiment in experiments if experiment.name != _REPEATED]
    records = [record for experiment in counted for record in experiment.results(effort, store).done]
    theirs = {(_grid_point(r.cell), r.cell.seed): r for r in records if r.cell.method in _STATIONARY}
    together: dict[tuple[object, ...], list[tuple[CellRecord, CellRecord]]] = {}
    for record in records:
        other = theirs.get((_grid_point(record.cell), record.cell.seed)) if record.cell.method == OURS else None
        if other is not None and other.machine == record.machine:
            together.setdefault(_grid_point(record.cell), []).append((record, other))
    pairs = [pair for both in together.values() if len(both) >= _MIN_SEEDS for pair in _pairs_at(both)]
    return sorted(pairs, key=lambda pair: (pair.cell.experiment, pair.cell.data, pair.number, pair.cell.at))


def _grid_point(cell: Cell) -> tuple[object, ...]:
    return cell.experiment, cell.data, cell.at


def _pairs_at(both: list[tuple[CellRecord, CellRecord]]) -> Iterator[KernelPair]:
    for number in _NUMBERS:
        if all(number in record.numbers for records in both for record in records):
            ours, theirs = np.array([[a.numbers[number], b.numbers[number]] for a, b in both]).T
            yield KernelPair(both[0][0].cell, number, ours, theirs)


def kernel_comparison_table(pairs: Iterable[KernelPair]) -> ResultTable:
    """Return a table with a row for every pair."""
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
        for pair in pairs
    ]
    return ResultTable(KERNEL_COMPARISON, "All numbers", [head, *rows])


def _difference(pair: KernelPair) -> str:
    text = f"{(pair.ours - pair.theirs).mean():+.4f} ± {pair.standard_error:.4f}"
    if not pair.is_clear:
        return text
    return f"**{text}**" if pair.gain > 0 else f"*{text}*"


def _percent(pair: KernelPair) -> str:
    """Return the difference relative to the stationary model, where its value is positive."""
    return f"{100 * (pair.ours.mean() / pair.theirs.mean() - 1):+.1f}" if pair.theirs.mean() > 0 else "-"


def kernel_comparison_summary(pairs: Sequence[KernelPair]) -> str:
    """Return a paragraph with the number of clear wins and losses."""
    better, worse = (sum(pair.is_clear and sign * pair.gain > 0 for pair in pairs) for sign in (1, -1))
    return f"""{OURS} with NG-SM kernels, compared with the same model and training with stationary spectral mixtures
    (MV-ARFLVM, ARFLVM), seed by seed on the same machine. In the classification tables (multi-view, single-view,
    challenging) the ELBO chooses the initialisation of each model; elsewhere both have the same. Differences are shown
    with the standard error of their mean. Of {len(pairs)} numbers, {better} are significantly better (bold) and {worse}
    significantly worse (italic) in a t-test at {_CONFIDENCE:.0%}; about
    {(1 - _CONFIDENCE) * len(pairs):.0f} would be significant by chance alone. Many are correlated, such as those of one
    data set at several dimensions. Accuracies, R² and correlations are between 0 and 1; of {", ".join(_ERRORS)}, less
    is better."""


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
