"""Comparisons over several studies.

The first page compares every value that the paper prints for NG-MVLVM with ours; the second compares NG-SM kernels with
stationary kernels, seed by seed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from benchmarks.cells import Cell, Record
from benchmarks.paper.classification_tables import CHALLENGING_TABLE, MULTI_VIEW_TABLE, SINGLE_VIEW_TABLE
from benchmarks.paper.paper_methods import OURS
from benchmarks.paper.paper_tables import PaperValue, paper_values, printed_text
from benchmarks.paper.reconstruction import RECONSTRUCTION_TABLE
from benchmarks.results import Difference, Results, difference, mean_std
from benchmarks.store import Store
from benchmarks.study import RenderedPage, Study, code_sentence
from benchmarks.tables import ResultTable, filled, settings_text

PAPER_COMPARISON, PAPER_COMPARISON_TITLE = "paper-comparison", "NG-MVLVM compared with the paper"
KERNEL_COMPARISON, KERNEL_COMPARISON_TITLE = "stationary-kernels", "NG-SM kernels compared with stationary kernels"
PAPER_TABLES = {
    table.name: table for table in (MULTI_VIEW_TABLE, SINGLE_VIEW_TABLE, CHALLENGING_TABLE, RECONSTRUCTION_TABLE)
}
_MIN_DIGITS = 2
_STATIONARY = ("MV-ARFLVM", "ARFLVM")
# Metrics with a row in the comparison of kernels; of the errors, less is better.
_ERRORS = ("MSE", "MSE image", "MSE mnist", "MSE svhn", "RMSE", "power lost later")
_METRICS = ("KNN", "KNN later", "SVM", "LR", "NN", "R2", "kernel 1", "kernel 2", "log density", *_ERRORS)
# This study repeats fits of other studies, so counting it would count them twice.
_REPEATED = "held-out"
_MIN_SEEDS = 3


def all_paper_values(studies: Iterable[Results]) -> list[PaperValue]:
    """Return every value that the paper prints for our model and that has been measured."""
    tables = [(PAPER_TABLES[results.study], results) for results in studies if results.study in PAPER_TABLES]
    return [value for table, results in tables for value in paper_values(table, results)]


def paper_comparison_table(values: Iterable[PaperValue]) -> ResultTable:
    """Return a table with a row for every value."""
    head = ["study", "data", "measure", "paper", "ours", "reached"]
    return ResultTable(PAPER_COMPARISON, "All values", [head, *map(_value_row, values)])


def _value_row(value: PaperValue) -> list[str]:
    """Return both values with at least the paper's two decimals (99.96 does not reach 100.00), and the verdict."""
    differences = "" if value.is_same_data else " (different data)"
    measure = replace(value.measure, digits=max(value.measure.digits, _MIN_DIGITS))
    return [
        f"[{value.study}]({value.study}.md)", f"{value.data}{differences}", value.measure.column or "error",
        printed_text(measure, value.theirs), measure.text(value.ours), "yes" if value.is_reached else "**no**",
    ]  # fmt: skip


def paper_comparison_summary(values: Sequence[PaperValue]) -> str:
    """Return a paragraph with the number of values reached."""
    same = [value for value in values if value.is_same_data]
    return f"""A value is reached if ours is at least the paper's mean minus one of the paper's standard deviations, or,
    for an error, at most its mean plus one. {sum(value.is_reached for value in values)} of {len(values)} values are
    reached, and {sum(value.is_reached for value in same)} of the {len(same)} whose data have no known difference. Two
    latent dimensions and the defaults of the library, except that the initialisation is chosen by the ELBO where
    latents are classified. Both columns show mean ± standard deviation."""


@dataclass(frozen=True)
class KernelPair:
    """A metric measured with both kernels at one point of settings.

    Attributes:
        metric: name of the metric.
        records: for every seed that both have, the record with NG-SM kernels and the one with stationary kernels.
    """

    metric: str
    records: Sequence[tuple[Record, Record]]

    @property
    def cell(self) -> Cell:
        """Cell of one of the seeds."""
        return self.records[0][0].cell

    @property
    def ours(self) -> dict[int, float]:
        """Values with NG-SM kernels, by seed."""
        return {ours.cell.seed: ours.metrics[self.metric] for ours, _ in self.records}

    @property
    def theirs(self) -> dict[int, float]:
        """Values with stationary kernels, by seed."""
        return {theirs.cell.seed: theirs.metrics[self.metric] for _, theirs in self.records}

    @cached_property
    def difference(self) -> Difference:
        """Mean difference of ours from theirs, with its standard error."""
        found = difference(self.ours, self.theirs)
        assert found is not None
        return found

    @property
    def is_better(self) -> bool:
        """Whether ours is better by at least two standard errors."""
        return self.difference.is_clear and (self.difference.mean < 0) == (self.metric in _ERRORS)

    @property
    def is_worse(self) -> bool:
        """Whether ours is worse by at least two standard errors."""
        return self.difference.is_clear and not self.is_better


def kernel_pairs(studies: Iterable[Results]) -> list[KernelPair]:
    """Return the metrics that both kernels have for at least three seeds, each pair measured on the same machine."""
    records = [record for results in studies if results.study != _REPEATED for record in results.done]
    theirs = {(_point(r.cell), r.cell.seed): r for r in records if r.cell.method in _STATIONARY}
    together: dict[str, list[tuple[Record, Record]]] = {}
    for record in records:
        other = theirs.get((_point(record.cell), record.cell.seed)) if record.cell.method == OURS else None
        if other is not None and other.machine == record.machine:
            together.setdefault(_point(record.cell), []).append((record, other))
    pairs = [
        KernelPair(metric, both)
        for both in together.values()
        for metric in _METRICS
        if len(both) >= _MIN_SEEDS and all(metric in record.metrics for records in both for record in records)
    ]
    return sorted(pairs, key=_order)


def _point(cell: Cell) -> str:
    """Return a key of the study, the data set and the settings."""
    return replace(cell, method="", seed=0).key


def _order(pair: KernelPair) -> tuple[Any, ...]:
    return pair.cell.study, pair.cell.data, pair.metric, *pair.cell.coordinates.values()


def kernel_comparison_table(pairs: Iterable[KernelPair]) -> ResultTable:
    """Return a table with a row for every pair."""
    head = ["study", "data", "metric", OURS, "stationary", "difference", "in percent", "seeds"]
    rows = []
    for pair in pairs:
        ours, theirs = (mean_std(list(values.values())).mean for values in (pair.ours, pair.theirs))
        where = ", ".join(filter(None, [pair.cell.data, settings_text(pair.cell.coordinates)]))
        percent = f"{100 * (ours / theirs - 1):+.1f}" if theirs > 0 else "-"
        values = [f"{ours:.4f}", f"{theirs:.4f}", _difference_text(pair), percent, str(len(pair.ours))]
        rows.append([f"[{pair.cell.study}]({pair.cell.study}.md)", where, pair.metric, *values])
    return ResultTable(KERNEL_COMPARISON, "All metrics", [head, *rows])


def _difference_text(pair: KernelPair) -> str:
    text = f"{pair.difference.mean:+.4f} ± {pair.difference.standard_error:.4f}"
    return f"**{text}**" if pair.is_better else f"*{text}*" if pair.is_worse else text


def kernel_comparison_summary(pairs: Sequence[KernelPair]) -> str:
    """Return a paragraph with the number of metrics that are better and worse."""
    better, worse = sum(pair.is_better for pair in pairs), sum(pair.is_worse for pair in pairs)
    return f"""{OURS} with NG-SM kernels, compared with the same model and training with stationary spectral mixtures
    (MV-ARFLVM, ARFLVM), seed by seed on the same machine. In the classification tables (multi-view, single-view,
    challenging) the ELBO chooses the initialisation of each model; elsewhere both have the same. Differences are shown
    with the standard error of their mean (±); as on all pages, a difference of less than two standard errors is a tie.
    Of {len(pairs)} values, {better} are better (bold), {worse} are worse (italic) and {len(pairs) - better - worse} are
    tied. With five seeds, about one in nine equal values would differ by two standard errors by chance alone, and many
    values are correlated, such as those of one data set at several dimensions. Accuracies, R² and correlations are
    between 0 and 1; of {", ".join(_ERRORS)}, less is better."""


def render_overviews(studies: Sequence[Study], store: Store, *, quick: bool) -> dict[str, RenderedPage]:
    """Return the pages of both comparisons by name, where there are results to compare.

    Args:
        studies: studies whose results are compared.
        store: store of their records.
        quick: whether to compare quick cells.
    """
    results = [study.results(store, quick=quick) for study in studies]
    pages = {}
    if values := all_paper_values(results):
        used = [record for part in results if part.study in PAPER_TABLES for record in _compared(part)]
        table, summary = paper_comparison_table(values), paper_comparison_summary(values)
        pages[PAPER_COMPARISON] = _render(PAPER_COMPARISON_TITLE, summary, table, used, quick)
    if pairs := kernel_pairs(results):
        used = {record.cell: record for pair in pairs for both in pair.records for record in both}
        table, summary = kernel_comparison_table(pairs), kernel_comparison_summary(pairs)
        pages[KERNEL_COMPARISON] = _render(KERNEL_COMPARISON_TITLE, summary, table, list(used.values()), quick)
    return pages


def _compared(results: Results) -> list[Record]:
    """Return the records that are compared with a table of the paper."""
    table = PAPER_TABLES[results.study]
    return [record for data in table.measures for record in results.at(table.at).select(data, OURS)]


def _render(title: str, summary: str, table: ResultTable, used: Sequence[Record], quick: bool) -> RenderedPage:
    machines = sorted({record.machine for record in used})
    seeds = ", ".join(map(str, sorted({record.cell.seed for record in used})))
    origin = f"""Machine{"s" if len(machines) > 1 else ""}: {"; ".join(machines)}. Seeds: {seeds}.
    `mvlvm reproduce all --{"quick" if quick else "full"}` measures the cells and writes this page."""
    warning = ["**Quick runs with fewer rows and steps; the values are rough.**"] if quick else []
    parts = [f"# {title}", filled(code_sentence(used)), *warning, filled(summary), filled(origin), table.markdown()]
    return RenderedPage("\n\n".join(parts) + "\n", {f"{table.name}.csv": table.csv()})
