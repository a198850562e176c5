"""Definition of a study, and the page generated from its results.

A study consists of cells, a function that measures one cell, a function that turns the results into the contents of a
page, and claims that the results support or refute. Pages contain no number that is typed by hand.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.cells import DONE, SKIPPED, STOPPED, Cell, Grid, Measurement, Record
from benchmarks.results import TIE_IN_STANDARD_ERRORS, Results, machines_of, seeds_of
from benchmarks.store import Store
from benchmarks.tables import NOTHING, TIED, ResultTable, filled, markdown
from mvlvm.io.atomic import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

YES, NO, TIE = "yes", "no", "tie"
NOT_MEASURED = "not measured"
_QUICK_WARNING = "**A quick run with fewer rows and steps. It shows that everything works; the values are rough.**"
_MARKS = f"""Tables show mean ± standard deviation over seeds; a number in parentheses is the number of seeds if it is
less than five. The best mean is bold, and {TIED} marks a tie with it: a difference of less than two standard errors."""


@dataclass(frozen=True)
class PageFigure:
    """A figure of a page, drawn when the page is written.

    Attributes:
        name: file name without the name of the study and without suffix.
        caption: alternative text.
        draw: returns the figure.
    """

    name: str
    caption: str
    draw: "Callable[[], Figure]"


# Text is Markdown: paragraphs are wrapped, whereas headings, tables and lists are left as they are.
PagePart = str | ResultTable | PageFigure


@dataclass(frozen=True)
class Verdict:
    """What was measured for a claim, and whether it holds: "yes", "no" or "tie"."""

    measured: str
    holds: str


@dataclass(frozen=True)
class Claim:
    """A testable statement about the results of a study.

    Attributes:
        statement: the statement.
        judge: returns the verdict, or None if the required cells are missing.
    """

    statement: str
    judge: Callable[[Results], Verdict | None]


def within(
    value: float | int, text: str, *, lowest: float | int = -inf, highest: float | int = inf,
    standard_error: float | int = 0.0,
) -> Verdict:  # fmt: skip
    """Return the verdict on a number that has to be within limits.

    Args:
        value: the number.
        text: the number as shown.
        lowest: smallest value for which the claim holds.
        highest: largest value for which the claim holds.
        standard_error: standard error of the number, if it is a mean over seeds; closer to a limit than two standard
            errors the verdict is a tie. NaN, for a single seed, is ignored.
    """
    margin, error = min(value - lowest, highest - value), 0.0 if isnan(standard_error) else standard_error
    if abs(margin) < TIE_IN_STANDARD_ERRORS * error:
        return Verdict(text, TIE)
    return Verdict(text, YES if margin >= 0 else NO)


CellsOfSeed = Callable[[int, bool], Iterable[Cell]]


@dataclass(frozen=True, kw_only=True)
class Study:
    """A set of measurements with one page.

    Attributes:
        name: name on the command line, of the stored records and of the page.
        title: heading of the page.
        what: what was measured, and where it is found in the paper if it is.
        group: "paper", "speed" or "quality"; pages of the paper have a folder of their own.
        cells: function of a seed and of whether the run is quick; returns the cells.
        measure: returns the measurement of a cell.
        page: returns the parts of the page after its introduction.
        claims: claims that are listed at the top of the page.
        n_seeds: number of seeds of the page.
        timed: whether times are measured; cells then run one at a time, each in a fresh process.
        limit: default time limit of a cell in seconds.
        skip: function of a cell and of the records so far; returns why the cell is not run, or "" if it is to be run.
        marks: whether the page has tables in which the best value and ties are marked.
    """

    name: str
    title: str
    what: str
    group: str
    cells: CellsOfSeed
    measure: Callable[[Cell], Measurement]
    page: Callable[[Results], Sequence[PagePart]]
    claims: Sequence[Claim] = ()
    n_seeds: int = 5
    timed: bool = False
    limit: float = 3600.0
    skip: "Callable[[Cell, Mapping[Cell, Record]], str] | None" = None
    marks: bool = True

    def all_cells(self, seeds: Sequence[int] | None = None, *, quick: bool = False) -> list[Cell]:
        """Return all cells ordered by seed, so that an interrupted run has complete tables with fewer seeds.

        Args:
            seeds: seeds; None for those of the page, or seed 0 for quick cells. Seeds beyond the number that the study
                needs are ignored.
            quick: whether to return the quick cells.
        """
        chosen = (range(1) if quick else range(self.n_seeds)) if seeds is None else seeds[: self.n_seeds]
        return list(dict.fromkeys(cell for seed in chosen for cell in self.cells(seed, quick)))

    @property
    def data(self) -> list[str]:
        """Data sets, in order."""
        return list(dict.fromkeys(cell.data for cell in self._both_sizes()))

    @property
    def methods(self) -> list[str]:
        """Methods, in order."""
        return list(dict.fromkeys(cell.method for cell in self._both_sizes()))

    def results(self, store: Store, *, quick: bool = False) -> Results:
        """Return the results stored so far."""
        records = [record for cell, record in store.read(self.name).items() if cell.is_quick == quick]
        return Results(self.name, self.data, self.methods, records, store, quick)

    @property
    def page_path(self) -> Path:
        """Path of the page relative to the folder of all pages."""
        folder = Path("paper") if self.group == "paper" else Path()
        return folder / f"{self.name}.md"

    def _both_sizes(self) -> list[Cell]:
        return [cell for quick in (False, True) for cell in self.all_cells(quick=quick)]


def cells_of_grids(study: str, full: Sequence[Grid], quick: Sequence[Grid] | None = None) -> CellsOfSeed:
    """Return a function that returns the cells of grids.

    Args:
        study: name of the study.
        full: grids of full size.
        quick: grids of quick cells; None for the same as `full`.
    """

    def cells(seed: int, is_quick: bool) -> list[Cell]:
        grids = quick if is_quick and quick is not None else full
        return [cell for grid in grids for cell in grid.cells(study, seed, quick=is_quick)]

    return cells


@dataclass(frozen=True)
class RenderedPage:
    """The files of a page.

    Attributes:
        text: the page as Markdown.
        tables: file name -> CSV text.
        figures: file name without suffix -> function that draws the figure.
    """

    text: str
    tables: Mapping[str, str] = field(default_factory=dict)
    figures: "Mapping[str, Callable[[], Figure]]" = field(default_factory=dict)


def render_page(study: Study, results: Results) -> RenderedPage:
    """Return the page of a study: origin, claims, the parts of the study, and failures."""
    parts = [f"# {study.title}", *_introduction(study, results), *_claims_section(study, results)]
    tables, figures = {}, {}
    for part in study.page(results):
        if isinstance(part, PageFigure):
            name = f"{study.name}-{part.name}"
            figures[name] = part.draw
            parts.append(f"![{part.caption}]({name}.png)")
        elif isinstance(part, ResultTable):
            tables[f"{part.name}.csv"] = part.csv()
            parts.append(part.markdown())
        elif part.strip():
            parts.append(part.strip() if part.lstrip().startswith(("#", "|", "- ", "!")) else filled(part))
    return RenderedPage("\n\n".join([*parts, *_failures(study, results)]) + "\n", tables, figures)


def write_text(path: Path, text: str) -> None:
    """Write a file atomically, with the same bytes on every platform."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())


def write_page(study: Study, results: Results, folder: Path) -> list[Path]:
    """Write the page of a study with its tables and figures, and return the paths of all files written."""
    from mvlvm import plots

    rendered, path = render_page(study, results), folder / study.page_path
    write_text(path, rendered.text)
    written = [path]
    for name, text in rendered.tables.items():
        written.append(path.parent / name)
        write_text(written[-1], text)
    for name, draw in rendered.figures.items():
        figure = draw()
        written += [plots.write(figure, path.parent / f"{name}{suffix}", trimmed=True) for suffix in (".png", ".svg")]
    return written


def claim_rows(study: Study, results: Results) -> list[list[str]]:
    """Return a row for every claim: the statement, what was measured, and whether it holds."""
    rows = []
    for claim in study.claims:
        verdict = claim.judge(results)
        if verdict is None:
            rows.append([claim.statement, NOTHING, NOT_MEASURED])
        else:
            holds = verdict.holds if verdict.holds == YES else f"**{verdict.holds}**"
            rows.append([claim.statement, verdict.measured, holds])
    return rows


def _claims_section(study: Study, results: Results) -> list[str]:
    if not study.claims:
        return []
    return ["## Claims", markdown([["claim", "measured", "holds"], *claim_rows(study, results)])]


def _introduction(study: Study, results: Results) -> list[str]:
    """Return the origin of the page: commits, machines, seeds and the command, and how to read its tables."""
    command = f"mvlvm studies run {study.name}{' --quick' if results.quick else ''}"
    if not results.done:
        return [filled(study.what), f"Not measured yet. Run `{command}`."]
    seeds = ", ".join(map(str, seeds_of(results)))
    machines = machines_of(results)
    origin = f"""Machine{"s" if len(machines) > 1 else ""}: {"; ".join(machines)}. Seeds: {seeds}. `{command}` measures
    the cells and writes this page."""
    return [
        filled(code_sentence(results.done)),
        *([_QUICK_WARNING] if results.quick else []),
        filled(study.what),
        filled(origin),
        *([filled(_MARKS)] if study.marks else []),
    ]


def code_sentence(records: Sequence[Record]) -> str:
    """Return a sentence with the commits of records; it says so if there are several."""
    counts = Counter(record.code.short for record in records)
    if len(counts) == 1:
        return f"Measured at commit {next(iter(counts))}."
    listed = ", ".join(f"{code} ({n} cell{'s' if n > 1 else ''})" for code, n in counts.most_common())
    return f"**Measured at {len(counts)} commits:** {listed}."


def _failures(study: Study, results: Results) -> list[str]:
    """Return the list of cells without a result; studies of time show the values of stopped fits in their tables."""
    shown = (DONE, SKIPPED, STOPPED) if study.timed else (DONE, SKIPPED)
    failed = [r for r in results.records if r.status not in shown or (r.status == STOPPED and not r.metrics)]
    lines = [f"- {record.cell.label}: {record.status}. {record.note}" for record in failed]
    return ["## Failed cells", "\n".join(lines)] if lines else []
