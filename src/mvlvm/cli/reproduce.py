"""The `mvlvm reproduce` command."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from mvlvm.cli.exit_handling import fail, interruptible, need_matplotlib

if TYPE_CHECKING:
    from mvlvm.experiments.cells import Cell, CellRecord, CellStore, Effort
    from mvlvm.experiments.experiment import Experiment

_SEEDS = {"quick": "0", "full": "0,1,2,3,4"}


def reproduce(
    what: Annotated[str, typer.Argument(help="list, all, or comma-separated names of experiments.")],
    full: Annotated[
        bool, typer.Option("--full/--quick", help="Sizes of the paper, or a run of minutes on two cores.")
    ] = False,
    seeds: Annotated[
        str | None, typer.Option(help="Such as 0,1,2. Default: 0 with --quick, 0 to 4 with --full.")
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Run only these methods, comma-separated.")] = None,
    data: Annotated[str | None, typer.Option(help="Run only these data sets, comma-separated.")] = None,
    out: Annotated[Path, typer.Option(help="Output folder for results, pages and figures.")] = Path("results"),
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of processes. Default: one per core.")] = None,
    limit: Annotated[float, typer.Option(min=1, help="Time limit per run in seconds.")] = 3600.0,
    merge: Annotated[
        list[Path] | None, typer.Option(help="Merge the results of this folder; runs nothing. Repeatable.")
    ] = None,
) -> None:  # fmt: skip
    """Reproduce the tables and figures of the paper, and compare them with its numbers. Resumes an interrupted run."""
    from mvlvm.experiments.catalogue import EXPERIMENTS
    from mvlvm.experiments.cells import CellStore, Effort

    console = Console()
    if what == "list":
        for experiment in EXPERIMENTS.values():
            console.print(f"{experiment.name:16s}{experiment.title}", highlight=False, soft_wrap=True)
        return
    requested = _parse_names("The experiment", what, ["all", *EXPERIMENTS])
    chosen = list(EXPERIMENTS.values()) if "all" in requested else [EXPERIMENTS[name] for name in requested]
    effort = Effort.FULL if full else Effort.QUICK
    need_matplotlib("Reproducing figures", "plots")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"--out must be a folder that can be created. Got {out}: {error.strerror}. Choose another folder.")
    store = CellStore(out)
    with interruptible(f"Interrupted. Finished runs are kept in {store.path}; the same command resumes."):
        if merge:
            console.print(f"{store.merge(merge)} new results.")
        else:
            cells = _cells(chosen, effort, seeds or _SEEDS[effort], methods, data)
            _run(store, cells, jobs, limit, console)
        _write(chosen, effort, store, console)


def _cells(
    experiments: "Sequence[Experiment]", effort: "Effort", seeds: str, methods: str | None, data: str | None
) -> "list[Cell]":
    """Return the cells to run, or exit with a message if an option is invalid."""
    try:
        numbers = [int(seed) for seed in seeds.split(",")]
    except ValueError:
        fail(f"--seeds must be comma-separated integers, such as 0,1,2. Got '{seeds}'.")
    known_methods = list(dict.fromkeys(name for experiment in experiments for name in experiment.methods))
    known_data = list(dict.fromkeys(name for experiment in experiments for name in experiment.data))
    only_methods = known_methods if methods is None else _parse_names("--methods", methods, known_methods)
    only_data = known_data if data is None else _parse_names("--data", data, known_data)
    cells = [cell for experiment in experiments for cell in experiment.cells(effort, numbers)]
    return [cell for cell in cells if cell.method in only_methods and cell.data in only_data]


def _parse_names(parameter: str, given: str, known: Sequence[str]) -> list[str]:
    """Split comma-separated names, or exit with a message that lists the valid ones."""
    names = [name.strip() for name in given.split(",")]
    for name in names:
        if name not in known:
            fail(f"{parameter} must be one of: {', '.join(known)}. Got '{name}'.")
    return names


def _run(store: "CellStore", cells: "Sequence[Cell]", jobs: int | None, limit: float, console: Console) -> None:
    from mvlvm.experiments.cells import DONE
    from mvlvm.experiments.runner import Forecast, Runner

    n_cores = os.cpu_count() or 1
    n_processes = jobs or n_cores
    runner = Runner(store, n_processes, max(1, n_cores // n_processes), limit)
    left = runner.unfinished(cells)
    forecast = Forecast(left, n_processes)
    console.print(f"{len(cells)} runs, {len(cells) - len(left)} of them already finished.", highlight=False)
    rest = TextColumn("{task.fields[left]}")
    columns = (TextColumn("Running"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), rest)
    with Progress(*columns, console=console) as bar:
        progress = bar.add_task("", total=len(left), left="")

        def on_record(record: "CellRecord") -> None:
            forecast.update(record)
            if record.status != DONE:
                bar.console.print(
                    f"{record.cell.description}: {record.status}. {record.note}", highlight=False, markup=False
                )
            bar.update(progress, advance=1, left=f"about {forecast.description} left, last: {record.cell.description}")

        runner.run(left, on_record)


def _write(experiments: "Sequence[Experiment]", effort: "Effort", store: "CellStore", console: Console) -> None:
    from mvlvm.experiments.catalogue import EXPERIMENTS
    from mvlvm.experiments.experiment import write_index, write_page
    from mvlvm.experiments.paper_comparison import write_overviews

    for experiment in experiments:
        results = experiment.results(effort, store)
        if results.records:
            write_page(experiment, results, store.folder)
    titles = {experiment.name: experiment.title for experiment in EXPERIMENTS.values()}
    titles |= write_overviews(list(EXPERIMENTS.values()), effort, store)
    console.print(f"Written: {write_index(titles, store.folder)}", soft_wrap=True, highlight=False)
