"""Tables of results, and formatting of numbers, Markdown and text."""

import csv
import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.results import MeanStd, Ranking, Results, points_of, rank

# Pages average over five seeds; smaller numbers of seeds are shown in parentheses.
_ENOUGH_SEEDS = 5
NOTHING = "-"
TIED = "≈"
_WIDTH = 120

# Values of a setting, means and standard deviations.
Line = tuple[list[float], list[float], list[float]]


@dataclass(frozen=True)
class ResultTable:
    """A table of text cells whose first row is the header.

    Attributes:
        name: file name of the CSV file, without suffix.
        title: heading of the table; empty for none.
        rows: cells, which may contain Markdown.
    """

    name: str
    title: str
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the table as Markdown with its heading."""
        return f"## {self.title}\n\n{markdown(self.rows)}" if self.title else markdown(self.rows)

    def csv(self) -> str:
        """Return the table as CSV, without emphasis and marks of ties."""
        text = io.StringIO()
        plain = [[cell.replace("**", "").removesuffix(f" {TIED}") for cell in row] for row in self.rows]
        csv.writer(text, lineterminator="\n").writerows(plain)
        return text.getvalue()


@dataclass(frozen=True)
class Measure:
    """A column of a table.

    Attributes:
        metric: name of the value in the records.
        column: heading; in the paper's tables, the name of the column after the data set.
        scale: factor applied to the value; 100 for percent.
        digits: number of decimals.
        higher_is_better: whether the largest value is the best.
        notation: "f", or "e" for very small numbers.
    """

    metric: str
    column: str
    scale: float = 100.0
    digits: int = 1
    higher_is_better: bool = True
    notation: str = "f"

    def number(self, value: float) -> str:
        """Return a value as text."""
        return f"{self.scale * value:.{self.digits}{self.notation}}"

    def text(self, value: MeanStd | None) -> str:
        """Return mean ± standard deviation, with the number of seeds if there are fewer than five."""
        if value is None:
            return NOTHING
        spread = "" if value.n_seeds == 1 else f" ± {self.number(value.std)}"
        seeds = f" ({value.n_seeds})" if value.n_seeds < _ENOUGH_SEEDS else ""
        return f"{self.number(value.mean)}{spread}{seeds}"

    def column_texts(
        self, results: Results, data: str | None, methods: Sequence[str], *, mark_best: bool = True
    ) -> dict[str, str]:
        """Return the text of every method, the best in bold and those tied with it marked."""
        values = {method: results.by_seed(self.metric, data, method) for method in methods}
        ranking = rank(values, higher=self.higher_is_better) if mark_best else Ranking()
        texts = {method: self.text(results.mean_std(self.metric, data, method)) for method in methods}
        return {method: marked(text, method, ranking) for method, text in texts.items()}


def marked(text: str, method: str, ranking: Ranking) -> str:
    """Return a text in bold if the method is the best, or with a sign if it is tied with the best."""
    if method in ranking.best:
        return f"**{text}**"
    return f"{text} {TIED}" if method in ranking.tied else text


def table_along(
    results: Results, measure: Measure, data: str, setting: str, *, title: str, mark_best: bool = True
) -> ResultTable:  # fmt: skip
    """Return a table with a row for every method and a column for every value of a setting with results."""
    points = sorted(points_of(results, setting), key=float)
    columns = {
        f"{setting} = {point}": measure.column_texts(
            results.at({setting: point}), data, results.methods, mark_best=mark_best
        )
        for point in points
    }
    shown = {name: column for name, column in columns.items() if any(text != NOTHING for text in column.values())}
    rows = [[method, *(column[method] for column in shown.values())] for method in results.methods]
    name = "-".join(f"{results.study} {data} {measure.metric} by {setting}".lower().split())
    return ResultTable(name, title, [["method", *shown], *without_empty(rows)])


def curves_along(
    results: Results, metric: str, data: str, setting: str, *, scale: float = 1.0
) -> dict[str, Line]:  # fmt: skip
    """Return a metric along a setting: method -> (values of the setting, means, standard deviations).

    A method that does not depend on the setting is constant along it.
    """
    points = sorted(points_of(results, setting), key=float)
    lines: dict[str, Line] = {}
    for method in results.methods:
        values = {float(point): results.at({setting: point}).mean_std(metric, data, method) for point in points}
        found = [(x, scale * value.mean, scale * value.std) for x, value in values.items() if value is not None]
        if found:
            x, means, stds = (list(column) for column in zip(*found, strict=True))
            lines[method] = x, means, stds
    return lines


def without_empty(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the rows that have a value after their first column."""
    return [row for row in rows if any(cell not in ("", NOTHING) for cell in row[1:])]


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first row is the header."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def filled(text: str, indent: str = "") -> str:
    """Wrap the lines of every paragraph; `indent` precedes its lines after the first."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
    wrap = textwrap.TextWrapper(_WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
    return "\n\n".join(wrap.fill(paragraph) for paragraph in paragraphs)


def duration(seconds: float | int) -> str:
    """Format a duration with a suitable unit.

    Example:
        >>> [duration(s) for s in (0.00042, 0.0341, 0.3, 3.21, 4210)]
        ['0.42 ms', '34.1 ms', '300 ms', '3.21 s', '4,210 s']
    """
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def size(n_bytes: float | int) -> str:
    """Format a number of bytes with a suitable unit.

    Example:
        >>> [size(b) for b in (3_200_000, 1_240_000_000)]
        ['3.2 MB', '1.24 GB']
    """
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings as text: "D = 2, Q = 4"."""
    return ", ".join(f"{name} = {value}" for name, value in settings.items())
