"""NG-SM kernels beside stationary ones: every number that both were measured by, seed by seed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.stats

from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.methods import OURS
from mvlvm.experiments.spec import Cell, Effort
from mvlvm.experiments.store import Record, Store
from mvlvm.experiments.tables import Table

NAME, TITLE = "stationarity", "NG-SM kernels beside stationary ones"
_STATIONARY = ("MV-ARFLVM", "ARFLVM")
# Numbers worth a row; of these less is better.
_ERRORS = ("MSE", "MSE image", "MSE mnist", "MSE svhn", "RMSE", "power lost later")
_NUMBERS = ("KNN", "KNN later", "SVM", "LR", "NN", "R2", "kernel 1", "kernel 2", "log density", *_ERRORS)
# Numbers of pages that repeat others: on data alone, what is held out was classified before.
_REPEATED = "held-out"
_FEWEST_SEEDS, _CONFIDENCE = 3, 0.95


@dataclass(frozen=True)
class Pair:
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


def pairs(experiments: Iterable[Experiment], effort: Effort, store: Store) -> list[Pair]:
    """Give every number that both kernels have for at least three seeds, a seed on one machine."""
    told = [experiment for experiment in experiments if experiment.name != _REPEATED]
    records = [record for experiment in told for record in experiment.found(effort, store).done]
    theirs = {(_place(r.cell), r.cell.seed): r for r in records if r.cell.method in _STATIONARY}
    together: dict[tuple[object, ...], list[tuple[Record, Record]]] = {}
    for record in records:
        other = theirs.get((_place(record.cell), record.cell.seed)) if record.cell.method == OURS else None
        if other is not None and other.machine == record.machine:
            together.setdefault(_place(record.cell), []).append((record, other))
    found = [pair for both in together.values() if len(both) >= _FEWEST_SEEDS for pair in _pairs_at(both)]
    return sorted(found, key=lambda pair: (pair.cell.experiment, pair.cell.data, pair.number, pair.cell.at))


def _place(cell: Cell) -> tuple[object, ...]:
    return cell.experiment, cell.data, cell.at


def _pairs_at(both: list[tuple[Record, Record]]) -> Iterator[Pair]:
    for number in _NUMBERS:
        if all(number in record.numbers for records in both for record in records):
            ours, theirs = np.array([[a.numbers[number], b.numbers[number]] for a, b in both]).T
            yield Pair(both[0][0].cell, number, ours, theirs)


def table_of(found: Iterable[Pair]) -> Table:
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
    return Table(NAME, "Every number of both", [head, *rows])


def _difference(pair: Pair) -> str:
    text = f"{(pair.ours - pair.theirs).mean():+.4f} ± {pair.standard_error:.4f}"
    if not pair.is_clear:
        return text
    return f"**{text}**" if pair.gain > 0 else f"*{text}*"


def _percent(pair: Pair) -> str:
    """Give the difference as a share of the stationary model's, where that is a size."""
    return f"{100 * (pair.ours.mean() / pair.theirs.mean() - 1):+.1f}" if pair.theirs.mean() > 0 else "-"


def summary(found: Sequence[Pair]) -> str:
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
