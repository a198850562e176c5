"""Sections and claims of the pages on quality.

Every section has one table. Its methods are compared on the same seeds: those on which all of them have finished.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, sqrt

import numpy as np

from benchmarks.cells import Cell, Grid
from benchmarks.results import MeanStd, Results, decisive_rival, mean_std, method_difference, seeds_of
from benchmarks.study import NO, TIE, YES, CellsOfSeed, Claim, PagePart, Verdict, within
from benchmarks.tables import NOTHING, Measure, markdown


@dataclass(frozen=True, kw_only=True)
class QualitySection:
    """A task with its table and interpretation.

    Attributes:
        data: data set of its cells.
        title: heading.
        task: description of the task.
        methods: methods of the table, in order.
        columns: columns of the table.
        reading: interpretation of the table.
        ranked: metrics in which the best method is marked.
        references: methods that are not ranked, such as the true functions of simulated data.
        each: metrics whose values are also shown for every seed.
        curve: label of its predictive intervals in the calibration figure; empty for none.
        shows_time: whether the table has a column with the time of a cell.
    """

    data: str
    title: str
    task: str
    methods: Sequence[str]
    columns: Sequence[Measure]
    reading: str
    ranked: Sequence[str] = ()
    references: Sequence[str] = ()
    each: Sequence[str] = ()
    curve: str = ""
    shows_time: bool = True

    def complete(self, results: Results) -> Results:
        """Return the results of this section on the seeds on which all of its methods have finished."""
        return complete_seeds(results, self.data, self.methods)

    def column(self, metric: str) -> Measure:
        """Return the column of a metric."""
        return next(column for column in self.columns if column.metric == metric)

    def family(self, start: str) -> list[str]:
        """Return the methods whose names start with a text: one method with several settings."""
        return [method for method in self.methods if method.startswith(start)]


def complete_seeds(results: Results, data: str, methods: Sequence[str]) -> Results:
    """Return the results of methods on a data set, restricted to the seeds on which all of them have finished.

    A table must not compare a mean over five seeds with one over three. Methods that have failed on every seed, because
    their library is not installed for example, are ignored.
    """
    tried = {r.cell.method for r in results.records if r.cell.data == data}
    records = [r for r in results.done if r.cell.data == data and r.cell.method in methods]
    required = set(methods) - (tried - {record.cell.method for record in records})
    finished: dict[int, set[str]] = {}
    for record in records:
        finished.setdefault(record.cell.seed, set()).add(record.cell.method)
    return replace(results, records=[r for r in records if finished[r.cell.seed] == required])


def task_cells(study: str, methods: Mapping[str, Sequence[str]], n_seeds: Mapping[str, int]) -> CellsOfSeed:
    """Return a function that returns the cells of a study with different methods on every data set.

    Args:
        study: name of the study.
        methods: data set -> methods.
        n_seeds: number of seeds of the data sets that need fewer than the study.
    """

    def cells(seed: int, is_quick: bool) -> list[Cell]:
        needed = {data: names for data, names in methods.items() if seed < n_seeds.get(data, seed + 1)}
        return [
            cell for data, names in needed.items() for cell in Grid([data], names).cells(study, seed, quick=is_quick)
        ]

    return cells


def section_parts(section: QualitySection, results: Results) -> list[PagePart]:
    """Return heading, task, tables and interpretation."""
    found = section.complete(results)
    parts: list[PagePart] = [f"## {section.title}", section.task]
    if not found.done:
        return [*parts, "Not measured yet."]
    parts.append(section_table(section, found))
    if section.each:
        parts += ["Every seed:", _seed_table(section, found)]
    return [*parts, section.reading]


def section_table(section: QualitySection, found: Results) -> str:
    """Return a table with a row for every method and a column for every metric."""
    compared = [method for method in section.methods if method not in section.references]
    columns = []
    for measure in section.columns:
        texts = measure.column_texts(found, section.data, section.methods, mark_best=False)
        if measure.metric in section.ranked and len(seeds_of(found)) > 1:  # a single seed has no standard error
            texts |= measure.column_texts(found, section.data, compared)
        columns.append(texts)
    rows = [["method", *(measure.column for measure in section.columns)]]
    rows += [[method, *(texts[method] for texts in columns)] for method in section.methods]
    if section.shows_time:
        times = ["total seconds", *(total_seconds(found, section.data, method) for method in section.methods)]
        rows = [[*row, seconds] for row, seconds in zip(rows, times, strict=True)]
    return markdown(rows)


def total_seconds(results: Results, data: str, method: str) -> str:
    """Return the mean time of a cell as text, with loading and evaluation."""
    if not (records := results.select(data, method)):
        return NOTHING
    seconds = float(np.mean([record.seconds for record in records]))
    return f"{seconds:,.0f}" if seconds >= 1 else "< 1"


def _seed_table(section: QualitySection, found: Results) -> str:
    rows = [["method", "metric", *(f"seed {seed}" for seed in seeds_of(found))]]
    for metric in section.each:
        measure = section.column(metric)
        for method in section.methods:
            values = found.by_seed(metric, section.data, method)
            rows.append([method, measure.column, *(measure.number(values[s]) for s in seeds_of(found) if s in values)])
    return markdown([row for row in rows if len(row) == len(rows[0])])


def with_error(value: str, error: float) -> str:
    """Return a value with its standard error, or with the remark that there is a single seed."""
    return f"{value} (one seed)" if isnan(error) else f"{value} (standard error {error:.2g})"


def signed(measure: Measure, value: float) -> str:
    """Return a difference with its sign."""
    return f"{measure.scale * value:+z.{measure.digits}{measure.notation}}"


def standard_error(value: MeanStd) -> float:
    """Return the standard error of a mean over seeds; NaN for a single seed."""
    return value.std / sqrt(value.n_seeds)


def best_rival(section: QualitySection, found: Results, rivals: Sequence[str], metric: str) -> str:
    """Return the rival with the best mean, a choice in its favour that no user could make."""
    sign = 1 if section.column(metric).higher_is_better else -1
    return max(
        rivals, key=lambda rival: sign * float(np.mean(list(found.by_seed(metric, section.data, rival).values())))
    )


def _claim(section: QualitySection, statement: str, judge: Callable[[Results], Verdict | None]) -> Claim:
    """Return a claim about a section, which is not judged before its methods have complete seeds."""

    def judge_complete(results: Results) -> Verdict | None:
        found = section.complete(results)
        return judge(found) if found.done else None

    return Claim(f"{section.data}: {statement}", judge_complete)


def ahead_of(section: QualitySection, statement: str, method: str, rivals: Sequence[str], metric: str) -> Claim:
    """Return the claim that a method is ahead of each of several rivals by at least two standard errors.

    Args:
        section: section with the methods.
        statement: the claim.
        method: the method.
        rivals: methods it is compared with.
        metric: a metric of the section, whose column says whether higher is better.
    """
    measure = section.column(metric)

    def judge(found: Results) -> Verdict | None:
        ours, *theirs = (found.by_seed(metric, section.data, name) for name in (method, *rivals))
        decisive = decisive_rival(ours, dict(zip(rivals, theirs, strict=True)), higher=measure.higher_is_better)
        if decisive is None:
            return None
        rival, gain = decisive
        sign = 1 if measure.higher_is_better else -1
        text = with_error(signed(measure, sign * gain.mean), measure.scale * gain.standard_error)
        holds = (YES if gain.mean > 0 else NO) if gain.is_clear else TIE
        return Verdict(f"{text} compared with {rival}", holds)

    return _claim(section, statement, judge)


def ratio_within(
    section: QualitySection, statement: str, method: str, rivals: Sequence[str], metric: str, *, highest: float
) -> Claim:
    """Return the claim that the mean of a method is at most a multiple of that of the best of several rivals."""

    def judge(found: Results) -> Verdict | None:
        if not {method, *rivals} <= set(found.methods):
            return None
        rival = best_rival(section, found, rivals, metric)
        ours, theirs = (found.by_seed(metric, section.data, name) for name in (method, rival))
        mean = float(np.mean(list(theirs.values())))
        ratio = float(np.mean(list(ours.values()))) / mean
        # linearised standard error of a ratio of means
        error = standard_error(mean_std([ours[seed] - ratio * theirs[seed] for seed in ours])) / mean
        text = f"{with_error(f'{ratio:.3f}', error)} times that of {rival}"
        return within(ratio, text, highest=highest, standard_error=error)

    return _claim(section, statement, judge)


def difference_within(
    section: QualitySection, statement: str, method: str, other: str, metric: str, *, lowest: float
) -> Claim:
    """Return the claim that the mean difference of two methods is not below a limit, in the units of the metric."""
    measure = section.column(metric)

    def judge(found: Results) -> Verdict | None:
        gap = method_difference(found, metric, section.data, method, other)
        if gap is None:
            return None
        text = with_error(signed(measure, gap.mean), measure.scale * gap.standard_error)
        return within(gap.mean, text, lowest=lowest, standard_error=gap.standard_error)

    return _claim(section, statement, judge)


def mean_within(
    section: QualitySection, statement: str, method: str, metric: str, *, lowest: float = -inf, highest: float = inf
) -> Claim:
    """Return the claim that a mean over seeds is within limits."""
    measure = section.column(metric)

    def judge(found: Results) -> Verdict | None:
        value = found.mean_std(metric, section.data, method)
        if value is None:
            return None
        text = with_error(measure.number(value.mean), measure.scale * standard_error(value))
        return within(value.mean, text, lowest=lowest, highest=highest, standard_error=standard_error(value))

    return _claim(section, statement, judge)


def largest_within(
    section: QualitySection, statement: str, methods: Sequence[str], metric: str, *, highest: float
) -> Claim:
    """Return the claim that no absolute value of any of the methods on any seed exceeds a limit."""
    measure = section.column(metric)

    def judge(found: Results) -> Verdict | None:
        if not set(methods) <= set(found.methods):
            return None
        value = max(_absolute_values(section, found, methods, [metric]))
        return within(value, f"largest of {len(seeds_of(found))} seeds: {measure.number(value)}", highest=highest)

    return _claim(section, statement, judge)


def smallest_within(
    section: QualitySection, statement: str, method: str, metrics: Sequence[str], *, lowest: float
) -> Claim:
    """Return the claim that no absolute value of any of the metrics on any seed is below a limit."""
    measure = section.column(metrics[0])

    def judge(found: Results) -> Verdict | None:
        if method not in found.methods:
            return None
        value = min(_absolute_values(section, found, [method], metrics))
        return within(value, f"smallest of {len(seeds_of(found))} seeds: {measure.number(value)}", lowest=lowest)

    return _claim(section, statement, judge)


def _absolute_values(
    section: QualitySection, found: Results, methods: Sequence[str], metrics: Sequence[str]
) -> list[float]:
    return [
        abs(value)
        for method in methods
        for metric in metrics
        for value in found.by_seed(metric, section.data, method).values()
    ]
