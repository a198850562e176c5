"""Pages of results: tables as Markdown and CSV, figures as PNG and SVG, what failed, and the command that made it."""

from collections.abc import Mapping
from pathlib import Path

from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.found import Found
from mvlvm.experiments.spec import Effort
from mvlvm.experiments.store import DONE
from mvlvm.experiments.tables import Table
from mvlvm.records import filled

_MADE_BY = {
    Effort.FULL: "Made by `mvlvm reproduce all --full`; pages of experiments name machines, versions and seeds.",
    Effort.QUICK: "Made by `mvlvm reproduce all --quick`, whose cells have fewer rows and steps.",
}


def write_page(experiment: Experiment, found: Found, folder: Path) -> list[Path]:
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


def write_overview(title: str, summary: str, table: Table, effort: Effort, folder: Path) -> Path:
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


def _origin(experiment: Experiment, found: Found) -> str:
    """Say where the page comes from: the paper, the command, the machines, the versions, the seeds."""
    machines = "; ".join(sorted({record.machine for record in found.done}))
    versions = "; ".join(sorted({_said(record.versions) for record in found.done}))
    seeds = ", ".join(map(str, sorted({record.cell.seed for record in found.done})))
    return f"""{experiment.source} Made by `mvlvm reproduce {experiment.name} --{found.effort}` on {machines};
    {versions}; seeds {seeds}. A number in brackets is the number of seeds, where it is less than five."""


def _said(versions: Mapping[str, str]) -> str:
    return " ".join(f"{name} {version}" for name, version in versions.items())


def _failures(found: Found) -> list[str]:
    failed = [record for record in found.records if record.status != DONE]
    lines = [f"- {record.cell.words}: {record.status}. {record.note}" for record in failed]
    return ["## Without a result", "\n".join(lines)] if lines else []
