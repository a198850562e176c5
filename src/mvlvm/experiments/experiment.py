"""What is shown of an experiment.

What an experiment is: cells to run, what is measured in one, and the page made of all.

Pages of results: tables as Markdown and CSV, figures as PNG and SVG, what failed, and the command that made it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mvlvm.experiments.cells import DONE, Cell, CellStore, Coordinate, Effort, Grid, Measurement
from mvlvm.experiments.result_tables import ExperimentResults, Measure, ResultTable
from mvlvm.records import filled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Page:
    """What is shown of an experiment.

    Attributes:
        tables: in order.
        figures: name -> figure.
        notes: paragraphs above them.
    """

    tables: Sequence[ResultTable] = ()
    figures: "Mapping[str, Figure]" = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One table or figure.

    Attributes:
        name: what users call it.
        title: what it shows.
        source: where it stands in the paper, or that it does not.
        grids: effort -> the cells it consists of, seeds left open.
        measure: gives the numbers of a cell.
        write: makes its page of what was found.
        most_seeds: seeds that make sense; figures of single fits need one.
        printed: data set -> measures that the paper prints in its table of this name.
        printed_at: where along the axes the paper's table is.
        revision: raised whenever its cells come to measure something else, so that older ones no longer count.
    """

    name: str
    title: str
    source: str
    grids: Mapping[Effort, Sequence[Grid]]
    measure: Callable[[Cell], Measurement]
    write: Callable[[ExperimentResults], Page]
    most_seeds: int | None = None
    printed: Mapping[str, Sequence[Measure]] = field(default_factory=dict)
    printed_at: Mapping[str, Coordinate] = field(default_factory=dict)
    revision: int = 1

    def cells(self, effort: Effort, seeds: Sequence[int]) -> list[Cell]:
        """Give all cells, seed by seed, so that a run that is stopped has whole tables of fewer seeds."""
        return [
            self.cell(data, method, seed, effort, at)
            for seed in seeds[: self.most_seeds]
            for grid in self.grids[effort]
            for data, method, at in grid
        ]

    def cell(self, data: str, method: str, seed: int, effort: Effort, at: Mapping[str, Coordinate]) -> Cell:
        """Give one cell."""
        return Cell(
            experiment=self.name, data=data, method=method, seed=seed, effort=effort, at=tuple(at.items()),
            revision=self.revision,
        )  # fmt: skip

    def found(self, effort: Effort, store: CellStore) -> ExperimentResults:
        """Give what has been found so far."""
        wanted = self.name, effort, self.revision
        records = [r for r in store.read().values() if (r.cell.experiment, r.cell.effort, r.cell.revision) == wanted]
        return ExperimentResults(self.name, effort, self.data, self.methods, records, store)

    @property
    def data(self) -> list[str]:
        """The data sets, in order."""
        return self._all(lambda grid: grid.data)

    @property
    def methods(self) -> list[str]:
        """The methods, in order."""
        return self._all(lambda grid: grid.methods)

    def _all(self, names: Callable[[Grid], Sequence[str]]) -> list[str]:
        return list(dict.fromkeys(name for grids in self.grids.values() for grid in grids for name in names(grid)))


_MADE_BY = {
    Effort.FULL: "Made by `mvlvm reproduce all --full`; pages of experiments name machines, versions and seeds.",
    Effort.QUICK: "Made by `mvlvm reproduce all --quick`, whose cells have fewer rows and steps.",
}


def write_page(experiment: Experiment, found: ExperimentResults, folder: Path) -> list[Path]:
    """Write the page of an experiment, and give the paths of all that was written."""
    from mvlvm import plots

    page = experiment.write(found)
    written: list[Path] = []
    parts = [f"# {experiment.title}", filled(_origin(experiment, found)), *map(filled, filter(None, page.notes))]
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in page.figures.items():
        stem = folder / f"{experiment.name}-{name}"
        for path in (stem.with_suffix(".png"), stem.with_suffix(".svg")):
            written.append(plots.write(figure, path, trimmed=True))
        parts.append(f"![{experiment.title}: {name}]({stem.name}.png)")
    for table in page.tables:
        path = folder / f"{table.name}.csv"
        table.write_csv(path)
        written.append(path)
        parts.append(table.markdown())
    parts.extend(_failures(found))
    path = folder / f"{experiment.name}.md"
    path.write_text("\n\n".join(parts) + "\n")
    return [path, *written]


def write_overview(title: str, summary: str, table: ResultTable, effort: Effort, folder: Path) -> Path:
    """Write a page of one table over all experiments."""
    table.write_csv(folder / f"{table.name}.csv")
    path = folder / f"{table.name}.md"
    path.write_text("\n\n".join([f"# {title}", filled(summary), _MADE_BY[effort], table.markdown()]) + "\n")
    return path


def write_index(titles: Mapping[str, str], folder: Path) -> Path:
    """Write the list of all pages that are there, of whatever run, title by file name."""
    there = {name: title for name, title in titles.items() if (folder / f"{name}.md").exists()}
    lines = ["# Results", "", *(f"- [{title}]({name}.md)" for name, title in there.items())]
    path = folder / "README.md"
    path.write_text("\n".join(lines) + "\n")
    return path


def _origin(experiment: Experiment, found: ExperimentResults) -> str:
    """Say where the page comes from: the paper, the command, the machines, the versions, the seeds."""
    machines = "; ".join(sorted({record.machine for record in found.done}))
    versions = "; ".join(sorted({_said(record.versions) for record in found.done}))
    seeds = ", ".join(map(str, sorted({record.cell.seed for record in found.done})))
    return f"""{experiment.source} Made by `mvlvm reproduce {experiment.name} --{found.effort}` on {machines};
    {versions}; seeds {seeds}. A number in brackets is the number of seeds, where it is less than five."""


def _said(versions: Mapping[str, str]) -> str:
    return " ".join(f"{name} {version}" for name, version in versions.items())


def _failures(found: ExperimentResults) -> list[str]:
    failed = [record for record in found.records if record.status != DONE]
    lines = [f"- {record.cell.words}: {record.status}. {record.note}" for record in failed]
    return ["## Without a result", "\n".join(lines)] if lines else []
