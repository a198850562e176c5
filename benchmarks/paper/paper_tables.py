"""Values printed in the paper, and tables, figures and claims that compare results with them or with other methods."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from math import floor, isnan, log10
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.cells import Record
from benchmarks.paper.paper_data import PAPER_DATA
from benchmarks.paper.paper_methods import OURS
from benchmarks.results import Difference, MeanStd, Results, decisive_rival, mean_std
from benchmarks.study import NO, TIE, YES, Claim, PageFigure, Verdict
from benchmarks.tables import NOTHING, Measure, ResultTable, without_empty

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Printed(NamedTuple):
    """Mean and standard deviation over five runs as printed in the paper; accuracies in percent."""

    mean: float
    std: float


def printed(table: str, method: str, column: str) -> Printed | None:
    """Return the value printed in the paper, or None if it prints none.

    Args:
        table: "multi-view", "single-view", "challenging" or "reconstruction".
        method: row of the table.
        column: data set, followed by the classifier if there are several: "MNIST KNN".

    Example:
        >>> printed("multi-view", "NG-MVLVM", "BRIDGES KNN")
        Printed(mean=85.31, std=1.47)
    """
    numbers = _tables().get(table, {}).get(method, {}).get(column)
    return None if numbers is None else Printed(*numbers)


@cache
def _tables() -> dict[str, dict[str, dict[str, list[float]]]]:
    return json.loads((files("benchmarks.paper") / "paper.json").read_text())


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper, and the results that are compared with it.

    Attributes:
        name: name of the study and of the table.
        measures: data set -> measures, whose columns are those of the paper.
        at: settings of the results that are compared.
    """

    name: str
    measures: Mapping[str, Sequence[Measure]]
    at: Mapping[str, Any] = field(default_factory=dict)

    def value(self, method: str, data: str, measure: Measure) -> Printed | None:
        """Return the value printed for a method, or None if there is none."""
        return printed(self.name, method, f"{data} {measure.column}".strip())


def printed_text(measure: Measure, theirs: Printed | None) -> str:
    """Return the paper's mean and standard deviation, with the decimals of a measure."""
    return NOTHING if theirs is None else f"{theirs.mean:.{measure.digits}f} ± {theirs.std:.{measure.digits}f}"


def comparison(
    results: Results,
    data: str,
    measures: Sequence[Measure],
    *,
    paper: PaperTable | None = None,
    title: str | None = None,
    name: str | None = None,
) -> ResultTable:
    """Return the table of one data set, with a row for every method.

    Every measure has one column, or three (paper, ours, difference) if the paper prints a table.

    Args:
        results: results of the study.
        data: the data set.
        measures: measures to show.
        paper: table of the paper with its values; None if there is none.
        title: heading; None for the name of the data set.
        name: name of the table; None for those of the study and of the data set.
    """
    head, columns = ["method"], []
    for measure in measures:
        ours = measure.column_texts(results, data, results.methods)
        if paper is None:
            head.append(measure.column)
            columns.append(ours)
            continue
        theirs = {method: paper.value(method, data, measure) for method in results.methods}
        gaps = {m: _gap(measure, results.mean_std(measure.metric, data, m), theirs[m]) for m in theirs}
        head += [f"{measure.column} {what}".strip() for what in ("paper", "ours", "difference")]
        columns += [{method: printed_text(measure, value) for method, value in theirs.items()}, ours, gaps]
    rows = [[method, *(column[method] for column in columns)] for method in results.methods]
    return ResultTable(name or f"{results.study}-{data.lower()}", title or data, [head, *without_empty(rows)])


def _gap(measure: Measure, ours: MeanStd | None, theirs: Printed | None) -> str:
    if ours is None or theirs is None:
        return NOTHING
    return f"{measure.scale * ours.mean - theirs.mean:+.{measure.digits}f}"


class PaperValue(NamedTuple):
    """A value that the paper prints for our model, and ours."""

    study: str
    data: str
    measure: Measure
    theirs: Printed
    ours: MeanStd

    @property
    def is_reached(self) -> bool:
        """Whether our mean is at least as good as the paper's, up to one of its standard deviations."""
        sign = 1 if self.measure.higher_is_better else -1
        return sign * (self.measure.scale * self.ours.mean - self.theirs.mean) >= -self.theirs.std

    @property
    def is_same_data(self) -> bool:
        """Whether the data have no known difference from the paper's."""
        return not PAPER_DATA[self.data].differences


def paper_values(table: PaperTable, results: Results) -> Iterator[PaperValue]:
    """Yield every value of a table that the paper prints for our model and that has been measured."""
    here = results.at(table.at)
    for data, measures in table.measures.items():
        for measure in measures:
            theirs, ours = table.value(OURS, data, measure), here.mean_std(measure.metric, data, OURS)
            if theirs is not None and ours is not None:
                yield PaperValue(table.name, data, measure, theirs, ours)


def reached_claim(table: PaperTable) -> Claim:
    """Return the claim that our model reaches all values of a table, where the data are those of the paper."""

    def judge(results: Results) -> Verdict | None:
        values = [value for value in paper_values(table, results) if value.is_same_data]
        n_reached = sum(value.is_reached for value in values)
        return Verdict(f"{n_reached} of {len(values)}", YES if n_reached == len(values) else NO) if values else None

    return Claim(f"{OURS} reaches the paper's values (data without known differences)", judge)


# Comparisons that are named in the verdict on a claim.
_MAX_LISTED = 3
_MAX_DIGITS = 5
LEAD_STATUSES = ("ahead", "tied", "behind")


@dataclass(frozen=True)
class Lead:
    """Comparison of our model, or the best of its variants, with the decisive other method (`decisive_rival`).

    Attributes:
        ours: name of the variant.
        rival: name of the other method.
        difference: improvement over the other method; negative if the other method is better.
    """

    ours: str
    rival: str
    difference: Difference

    @property
    def status(self) -> str:
        """Return "ahead", "tied" (a difference of less than two standard errors) or "behind"."""
        if not self.difference.is_clear:
            return "tied"
        return "ahead" if self.difference.mean > 0 else "behind"


def lead_over_best(
    values: Mapping[str, Mapping[int, float]], ours: Sequence[str] = (OURS,), *, higher: bool = True
) -> Lead | None:
    """Compare the best variant of our model with the other method that decides whether it is ahead of all.

    Returns None without values of both.

    Args:
        values: method -> seed -> value.
        ours: names of the variants.
        higher: whether the largest value is the best.
    """
    sign = 1 if higher else -1
    signed = {m: {seed: sign * value for seed, value in seeds.items()} for m, seeds in values.items() if seeds}
    variants = [method for method in ours if method in signed]
    if not variants:
        return None
    best = max(variants, key=lambda method: mean_std(list(signed[method].values())).mean)
    rival = decisive_rival(signed[best], {method: seeds for method, seeds in signed.items() if method not in ours})
    return None if rival is None else Lead(best, *rival)


def lead_on(
    results: Results, measure: Measure, data: str, rivals: Sequence[str], at: Mapping[str, Any] | None = None
) -> Lead | None:
    """Compare our model with the best of several methods on a data set."""
    here = results.at(at or {})
    values = {method: here.by_seed(measure.metric, data, method) for method in (OURS, *rivals)}
    return lead_over_best(values, higher=measure.higher_is_better)


def verdict_on_leads(leads: Mapping[str, Lead | None]) -> Verdict | None:
    """Return the verdict on the claim that our model is ahead in all of several comparisons.

    The claim holds if every lead is clear, it does not hold if our model is clearly behind in one of them, and it is a
    tie otherwise.

    Args:
        leads: name of the comparison -> lead; None without results.
    """
    found = {name: lead for name, lead in leads.items() if lead is not None}
    if not found:
        return None
    names = {status: [name for name, lead in found.items() if lead.status == status] for status in LEAD_STATUSES}
    holds = NO if names["behind"] else TIE if names["tied"] else YES
    if len(found) == 1:
        (lead,) = found.values()
        return Verdict(_single_lead_text(lead), holds)
    counts = ", ".join(f"{status} on {len(those)}" for status, those in names.items() if those)
    listed = f" ({'; '.join(names['behind'])})" if 0 < len(names["behind"]) <= _MAX_LISTED else ""
    return Verdict(f"{counts} of {len(found)}{listed}", holds)


def _single_lead_text(lead: Lead) -> str:
    """Return the difference with its standard error, to one significant digit of the latter."""
    mean, error = lead.difference.mean, lead.difference.standard_error
    digits = min(max(0, -floor(log10(error))), _MAX_DIGITS) if error > 0 else _MAX_DIGITS
    spread = "" if isnan(error) else f" ± {error:.{digits}f}"
    if lead.status == "tied":
        return f"tied with {lead.rival}: {mean:+.{digits}f}{spread}"
    return f"{lead.status}{' of' if lead.status == 'ahead' else ''} {lead.rival} by {abs(mean):.{digits}f}{spread}"


def first_seed(records: Sequence[Record]) -> Sequence[Record]:
    """Return the record with the smallest seed, or none if there are none."""
    return sorted(records, key=lambda record: record.cell.seed)[:1]


def row_count_note(results: Results) -> str:
    """Return a sentence with the number of rows fitted, naming the methods that were given fewer."""
    notes = []
    for data in results.data:
        rows = {m: value.mean for m in results.methods if (value := results.mean_std("rows", data, m)) is not None}
        most = max(rows.values(), default=0.0)
        fewer = [f"{method} {n:,.0f}" for method, n in rows.items() if n < most]
        notes += [f"{data} {most:,.0f}" + (f" ({', '.join(fewer)}, limited by cost)" if fewer else "")] * bool(rows)
    return f"Number of rows fitted: {'; '.join(notes)}." if notes else ""


def bar_groups(results: Results, measures: Sequence[Measure], data: str) -> dict[str, dict[str, tuple[float, float]]]:
    """Return values for grouped bars: method -> column of the measure -> (mean, standard deviation)."""
    groups: dict[str, dict[str, tuple[float, float]]] = {}
    for method in results.methods:
        for measure in measures:
            value = results.mean_std(measure.metric, data, method)
            if value is not None:
                groups.setdefault(method, {})[measure.column] = measure.scale * value.mean, measure.scale * value.std
    return groups


def accuracy_figure(
    results: Results, measure: Measure, *, what: str, paper: PaperTable | None = None
) -> list[PageFigure]:  # fmt: skip
    """Return bars of an accuracy for all methods and data sets, with the paper's values; empty without results.

    Args:
        results: results of the study.
        measure: the measure to plot, in percent.
        what: description of the accuracy.
        paper: table of the paper with its values; None if there is none.
    """

    def draw() -> "Figure":
        from mvlvm import plots

        groups = {data: bar_groups(results, [measure], data) for data in results.data}
        values = {m: {data: of[m][measure.column] for data, of in groups.items() if m in of} for m in results.methods}
        theirs = None if paper is None else _printed_means(paper, measure, values)
        return plots.plot_bars(values, y=f"{what}, %", paper=theirs)

    marks = "; diamonds are the paper's values" if paper is not None else ""
    caption = f"{what.capitalize()} of all methods on all data sets{marks}"
    return [PageFigure("accuracy", caption, draw)] if results.done else []


def _printed_means(
    paper: PaperTable, measure: Measure, values: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, float]]:
    theirs = {method: {data: paper.value(method, data, measure) for data in row} for method, row in values.items()}
    return {m: {data: value.mean for data, value in row.items() if value is not None} for m, row in theirs.items()}
