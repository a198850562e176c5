"""The command `python -m benchmarks reproduce`: the studies of the paper."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.commands.study_commands import (
    chosen_cells,
    chosen_studies,
    merge_stores,
    parse_seeds,
    run_cells,
    write,
)
from mvlvm.cli.exit_handling import check_folder, interruptible, need_matplotlib


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
    out: Annotated[Path, typer.Option(help="Output folder for cells, pages and figures.")] = Path("reproduce"),
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of processes. Default: one per core.")] = None,
    limit: Annotated[float, typer.Option(min=1, help="Time limit per run in seconds.")] = 3600.0,
    merge: Annotated[
        list[Path] | None, typer.Option(help="Merge the results of this folder; runs nothing. Repeatable.")
    ] = None,
) -> None:  # fmt: skip
    """Reproduce the tables and figures of the paper, and compare them with its numbers. Resumes an interrupted run."""
    from benchmarks.catalogue import PAPER_EXPERIMENTS
    from benchmarks.store import Store

    console = Console()
    if what == "list":
        for study in PAPER_EXPERIMENTS.values():
            console.print(f"{study.name:16s}{study.title}", highlight=False, soft_wrap=True)
        return
    studies, store = chosen_studies(what, PAPER_EXPERIMENTS), Store(out)
    cells = chosen_cells(studies, parse_seeds(seeds), methods, data, quick=not full)
    check_folder("--out", out)
    need_matplotlib("Reproducing figures", "plots")
    with interruptible(f"Interrupted. Finished runs are kept in {out}; the same command resumes."):
        if merge:
            merge_stores(store, merge, studies, console)
        else:
            run_cells(studies, cells, store, console, jobs=jobs, limit=limit)
        write(studies, store, out, console, quick=not full)
