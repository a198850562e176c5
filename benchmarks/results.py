"""Results of a study: records aggregated over seeds, and comparisons of methods with their standard errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from benchmarks.cells import DONE, Code, Record
from benchmarks.store import Store

# A smaller difference, in standard errors, is a tie.
TIE_IN_STANDARD_ERRORS = 2.0
_NOWHERE: Mapping[str, Any] = MappingProxyType({})


class MeanStd(NamedTuple):
    """Mean and sample standard deviation over seeds (NaN for a single seed), and the number of seeds."""

    mean: float
    std: float
    n_seeds: int


def mean_std(values: Sequence[float]) -> MeanStd:
    """Return mean and sample standard deviation (ddof=1) of at least one value.

    Example:
        >>> mean_std([1.0, 3.0])
        MeanStd(mean=2.0, std=1.4142135623730951, n_seeds=2)
    """
    std = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return MeanStd(float(np.mean(values)), std, len(values))


@dataclass(frozen=True)
class Difference:
    """Difference of a metric between two methods.

    Attributes:
        mean: mean difference.
        standard_error: its standard error; NaN if a method has a single seed.
        n_seeds: number of seeds of the difference.
    """

    mean: float
    standard_error: float
    n_seeds: int

    @property
    def is_clear(self) -> bool:
        """Whether the difference is at least two standard errors. Without a standard error it is not."""
        return bool(abs(self.mean) >= TIE_IN_STANDARD_ERRORS * self.standard_error) and self.mean != 0


def difference(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Difference | None:
    """Return the difference of two sets of values by seed, or None if one is empty.

    The seed determines the data, so values are compared seed by seed if there are at least two common seeds. Otherwise
    the standard error is that of two independent means.
    """
    if not ours or not theirs:
        return None
    common = [seed for seed in ours if seed in theirs]
    if len(common) > 1:
        spread = mean_std([ours[seed] - theirs[seed] for seed in common])
        return Difference(spread.mean, spread.std / sqrt(spread.n_seeds), spread.n_seeds)
    first, second = mean_std(list(ours.values())), mean_std(list(theirs.values()))
    error = sqrt(first.std**2 / first.n_seeds + second.std**2 / second.n_seeds)
    return Difference(first.mean - second.mean, error, min(first.n_seeds, second.n_seeds))


@dataclass(frozen=True)
class Results:
    """The records of a study, all of one size.

    Attributes:
        study: name of the study.
        all_data: data sets of the study, in order.
        all_methods: methods of the study, in order.
        records: records of its cells, including failures.
        store: store with the arrays of the cells.
        quick: whether the records are those of quick cells.
    """

    study: str
    all_data: Sequence[str]
    all_methods: Sequence[str]
    records: Sequence[Record]
    store: Store
    quick: bool = False

    @property
    def done(self) -> list[Record]:
        """Records with measured values."""
        return [record for record in self.records if record.status == DONE]

    @property
    def data(self) -> list[str]:
        """Data sets with results, in the order of the study."""
        return self._in_order(self.all_data, {record.cell.data for record in self.done})

    @property
    def methods(self) -> list[str]:
        """Methods with results, in the order of the study."""
        return self._in_order(self.all_methods, {record.cell.method for record in self.done})

    def select(
        self, data: str | None = None, method: str | None = None, at: Mapping[str, Any] = _NOWHERE
    ) -> list[Record]:
        """Return the finished records of a data set, a method and a point of settings; None selects all."""
        return [
            record
            for record in self.done
            if data in (None, record.cell.data)
            and method in (None, record.cell.method)
            and all(record.cell.settings.get(name) == value for name, value in at.items())
        ]

    def at(self, point: Mapping[str, Any]) -> "Results":
        """Return the results at a point of settings; methods without one of the settings belong to all its points."""
        records = [
            record
            for record in self.records
            if all(record.cell.settings.get(name, value) == value for name, value in point.items())
        ]
        return replace(self, records=records)

    def by_seed(
        self, metric: str, data: str | None, method: str, at: Mapping[str, Any] = _NOWHERE
    ) -> dict[int, float]:  # fmt: skip
        """Return the values of a metric by seed."""
        records = self.select(data, method, at)
        return {record.cell.seed: float(record.metrics[metric]) for record in records if metric in record.metrics}

    def mean_std(
        self, metric: str, data: str | None, method: str, at: Mapping[str, Any] = _NOWHERE
    ) -> MeanStd | None:  # fmt: skip
        """Return mean and sample standard deviation of a metric over seeds, or None without results."""
        values = list(self.by_seed(metric, data, method, at).values())
        return mean_std(values) if values else None

    @staticmethod
    def _in_order(names: Sequence[str], found: set[str]) -> list[str]:
        return [name for name in names if name in found]


def seeds_of(results: Results) -> list[int]:
    """Return the seeds of the finished records."""
    return sorted({record.cell.seed for record in results.done})


def machines_of(results: Results) -> list[str]:
    """Return the machines of the finished records."""
    return sorted({record.machine for record in results.done})


def codes_of(results: Results) -> list[Code]:
    """Return the code versions of the finished records, most frequent first."""
    codes = [record.code for record in results.done]
    return sorted(set(codes), key=lambda code: (-codes.count(code), code.commit, code.dirty))


def points_of(results: Results, setting: str) -> list[Any]:
    """Return the values of a setting with results, in order of appearance."""
    settings = [record.cell.settings for record in results.done]
    return list(dict.fromkeys(values[setting] for values in settings if setting in values))


def method_difference(
    results: Results, metric: str, data: str | None, method: str, other: str, at: Mapping[str, Any] = _NOWHERE
) -> Difference | None:
    """Return the difference of a metric between two methods, or None without results of both."""
    return difference(results.by_seed(metric, data, method, at), results.by_seed(metric, data, other, at))


def decisive_rival(
    ours: Mapping[int, float], rivals: Mapping[str, Mapping[int, float]], *, higher: bool = True
) -> tuple[str, Difference] | None:
    """Return the rival that decides whether a method is ahead of all others, and the improvement over it.

    It is a rival that is clearly better, else one that is tied with the method, else the best of the others. The rival
    with the best mean is not sufficient: its mean may be so uncertain that it is tied, while another is clearly better.

    Args:
        ours: seed -> value of the method.
        rivals: rival -> seed -> value.
        higher: whether the largest value is the best.

    Returns:
        The name of the rival and the difference, which is positive if the method is better; None without values.
    """
    sign = 1 if higher else -1
    gaps = {rival: gap for rival, values in rivals.items() if (gap := difference(ours, values)) is not None}
    gains = {rival: Difference(sign * gap.mean, gap.standard_error, gap.n_seeds) for rival, gap in gaps.items()}
    if not gains:
        return None
    return min(gains.items(), key=lambda item: (_order(item[1]), item[1].mean))


def _order(gain: Difference) -> int:
    if not gain.is_clear:
        return 1
    return 2 if gain.mean > 0 else 0


@dataclass(frozen=True)
class Ranking:
    """The best of several methods, and those that are tied with it.

    Attributes:
        best: methods with the best mean; several if their means are equal.
        tied: other methods whose difference from the best is below two standard errors.
    """

    best: Sequence[str] = ()
    tied: Sequence[str] = ()


def rank(values: Mapping[str, Mapping[int, float]], *, higher: bool = True) -> Ranking:
    """Return the best method and the methods tied with it.

    Args:
        values: method -> seed -> value. Methods with fewer than two seeds have no standard error and are ignored.
        higher: whether the largest value is the best.
    """
    means = {method: float(np.mean(list(seeds.values()))) for method, seeds in values.items() if len(seeds) > 1}
    if not means:
        return Ranking()
    top = max(means.values()) if higher else min(means.values())
    best = [method for method, mean in means.items() if mean == top]
    gaps = {method: difference(values[best[0]], values[method]) for method in means if method not in best}
    return Ranking(best, [method for method, gap in gaps.items() if gap is not None and not gap.is_clear])
