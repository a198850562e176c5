"""The commands of `python -m benchmarks`, and the run loop that `reproduce` and `bench` share with them."""

import os
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from mvlvm.cli.exit_handling import check_folder, fail, interruptible, need_matplotlib

if TYPE_CHECKING:
    from benchmarks.cells import Cell, Record
    from benchmarks.store import Store
    from benchmarks.study import Study

app = typer.Typer(help="Measure the library: run studies, write and verify their pages.", no_args_is_help=True)

StoreFolder = Annotated[Path, typer.Option(help="Folder of the stored cells.")]
PageFolder = Annotated[Path, typer.Option(help="Folder of the pages.")]
RunStore = Annotated[Path | None, typer.Option(help="Folder of the stored cells. Default: results, or quick.")]
RunPages = Annotated[Path | None, typer.Option(help="Folder of the pages. Default: docs/results, or quick.")]
Names = Annotated[str, typer.Argument(help="Comma-separated names of studies; or all, paper, speed, quality.")]
Limit = Annotated[float | None, typer.Option(min=1, help="Time limit per cell in seconds. Default: the study's.")]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, help="Number of processes. Default: one per core; studies of time always use one."),
]
STORE, PAGES = Path("results"), Path("docs") / "results"
# Quick cells and their pages are kept apart from those of full size.
QUICK_FOLDER = Path("quick")
_N_CORES = os.cpu_count() or 1


@app.command(name="list")
def list_studies(store: StoreFolder = STORE) -> None:
    """List all studies, with their groups and the number of stored cells."""
    from benchmarks.catalogue import STUDIES
    from benchmarks.store import Store

    table = Table("study", "group", "title", "cells stored")
    for study in STUDIES.values():
        n_done, n_all = len(study.results(Store(store)).done), len(study.all_cells())
        table.add_row(study.name, study.group, study.title, f"{n_done} of {n_all}")
    Console().print(table)


@app.command()
def run(
    what: Names,
    seeds: Annotated[str | None, typer.Option(help="Such as 0,1,2. Default: those of the page.")] = None,
    methods: Annotated[str | None, typer.Option(help="Run only these methods, comma-separated.")] = None,
    data: Annotated[str | None, typer.Option(help="Run only these data sets, comma-separated.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and steps; rough values.")] = False,
    device: Annotated[str, typer.Option(help="Device of studies of speed: auto, cpu or cuda.")] = "auto",
    again: Annotated[bool, typer.Option("--again", help="Repeat cells that have already finished.")] = False,
    store: RunStore = None,
    out: RunPages = None,
    jobs: Jobs = None,
    limit: Limit = None,
    merge: Annotated[
        list[Path] | None, typer.Option(help="Merge the cells of this folder or file; runs nothing. Repeatable.")
    ] = None,
) -> None:  # fmt: skip
    """Run the unfinished cells of studies, and write their pages. Resumes an interrupted run."""
    from benchmarks.store import Store

    cell_folder = store or (QUICK_FOLDER if quick else STORE)
    page_folder = out or (QUICK_FOLDER if quick else PAGES)
    console, studies, folder = Console(), chosen_studies(what), Store(cell_folder)
    cells = chosen_cells(studies, parse_seeds(seeds), methods, data, quick=quick, device=device)
    check_folder("--store", cell_folder)
    check_folder("--out", page_folder)
    need_matplotlib("A page with figures", "plots")
    resume = "the same command without --again resumes" if again else "the same command resumes"
    with interruptible(f"Interrupted. Finished cells are kept in {cell_folder}; {resume}."):
        if merge:
            merge_stores(folder, merge, studies, console)
        else:
            run_cells(studies, cells, folder, console, jobs=jobs, limit=limit, again=again)
        write(studies, folder, page_folder, console, quick=quick)


@app.command()
def page(what: Names = "all", store: StoreFolder = STORE, out: PageFolder = PAGES) -> None:
    """Write the pages of studies from the stored cells, without running anything."""
    from benchmarks.store import Store

    studies = chosen_studies(what)
    check_folder("--out", out)
    need_matplotlib("A page with figures", "plots")
    write(studies, Store(store), out, Console(), quick=False)


@app.command()
def check(store: StoreFolder = STORE, out: PageFolder = PAGES) -> None:
    """Recompute every number on every page from the stored cells; exit with code 1 if one differs."""
    from benchmarks.pages import render_pages
    from benchmarks.store import Store
    from benchmarks.verification import page_differences

    if not store.is_dir():
        fail(f"--store must be a folder of stored cells. Got {store}, which is not a folder.")
    pages = render_pages(Store(store))
    differences = page_differences(pages, out)
    for difference in differences:
        typer.echo(difference)
    if differences:
        fail(f"{len(differences)} differences between the pages in {out} and the cells in {store}.", code=1)
    typer.echo(f"All {len(pages)} pages agree with the cells in {store}.")


@app.command()
def stale(store: StoreFolder = STORE) -> None:
    """List the pages whose cells are older than the packages that their study imports."""
    from benchmarks.catalogue import STUDIES
    from benchmarks.store import Store
    from benchmarks.verification import stale_pages

    try:
        found = stale_pages(list(STUDIES.values()), Store(store))
    except ValueError as error:
        fail(str(error), code=1)
    table = Table("page", "older cells", "packages that have changed since")
    for item in found:
        table.add_row(item.study.page_path.as_posix(), f"{item.n_cells} of {item.n_all}", ", ".join(item.packages))
    console = Console()
    console.print(table if found else "No page is older than the code that it depends on.")


def chosen_studies(what: str, known: "Mapping[str, Study] | None" = None) -> "list[Study]":
    """Return the studies with comma-separated names, or exit with a message if a name is unknown.

    Args:
        what: names of studies or groups, or "all".
        known: the studies to choose from; None for the whole catalogue.
    """
    from benchmarks.catalogue import GROUPS, STUDIES, check_names

    known = STUDIES if known is None else known
    groups = {"all": list(known), **{group: [n for n, s in known.items() if s.group == group] for group in GROUPS}}
    names = [name for given in split_names(what) for name in groups.get(given, [given])]
    try:
        check_names("study", names, list(known))
    except ValueError as error:
        fail(str(error))
    return [known[name] for name in dict.fromkeys(names)]


def chosen_cells(
    studies: "Sequence[Study]", seeds: Sequence[int] | None, methods: str | None, data: str | None, *,
    quick: bool, device: str = "auto",
) -> "list[Cell]":  # fmt: skip
    """Return the selected cells, or exit with a message if an option is invalid."""
    from benchmarks.catalogue import check_names
    from benchmarks.provenance import choose_device

    only = {}
    try:
        chosen = choose_device(device)
        for option, given in (("method", methods), ("data set", data)):
            if given is not None:
                known = [name for s in studies for name in (s.methods if option == "method" else s.data)]
                only[option] = split_names(given)
                check_names(option, only[option], list(dict.fromkeys(known)))
    except ValueError as error:
        fail(str(error))
    return [
        cell
        for study in studies
        for cell in study.all_cells(seeds, quick=quick)
        if cell.method in only.get("method", [cell.method])
        and cell.data in only.get("data set", [cell.data])
        and cell.device in ("auto", chosen)
    ]


def parse_seeds(seeds: str | None) -> list[int] | None:
    """Return comma-separated seeds as integers, or exit with a message."""
    try:
        return None if seeds is None else [int(seed) for seed in seeds.split(",")]
    except ValueError:
        fail(f"--seeds must be comma-separated integers, such as 0,1,2. Got '{seeds}'.")


def split_names(text: str) -> list[str]:
    """Split comma-separated names."""
    return [name.strip() for name in text.split(",")]


def merge_stores(store: "Store", sources: Sequence[Path], studies: "Sequence[Study]", console: Console) -> None:
    """Merge the cells of studies from other folders, or from files of single studies, into a store.

    Exits with a message if a folder or file does not exist.
    """
    from benchmarks.store import Store

    names = [study.name for study in studies]
    for path in sources:
        if not path.is_dir() and not (path.is_file() and path.suffix == ".jsonl" and path.stem in names):
            listed = ", ".join(f"{name}.jsonl" for name in names[:3])
            fail(f"--merge must be a folder of cells, or a file of a study: {listed}. Got {path}.")
    n_new = sum(
        store.merge(Store(path), names) if path.is_dir() else store.merge(Store(path.parent), [path.stem])
        for path in sources
    )
    console.print(f"{n_new} new cell{'' if n_new == 1 else 's'}.", highlight=False)


def run_cells(
    studies: "Sequence[Study]", cells: "Sequence[Cell]", store: "Store", console: Console, *,
    jobs: int | None = None, limit: float | None = None, again: bool = False,
    describe: "Callable[[Record], str] | None" = None,
) -> None:  # fmt: skip
    """Run the unfinished cells of studies with a progress bar; failures are printed.

    Args:
        studies: the studies of the cells.
        cells: cells to run.
        store: store of the records.
        console: console of the progress bar.
        jobs: number of processes; None for one per core. Studies of time always use one.
        limit: time limit per cell in seconds; None for that of the study.
        again: whether to repeat finished cells.
        describe: returns the line printed for a record; by default only failures are printed.
    """
    from benchmarks.runner import unfinished

    left: list[tuple[Study, float, list[Cell]]] = []
    for study in studies:
        seconds, own = limit or study.limit, [cell for cell in cells if cell.study == study.name]
        # a fit that was stopped at the same limit is a result of a study of time
        open_cells = own if again else unfinished(store, own, seconds if study.timed else inf)
        left.append((study, seconds, open_cells))
    n_left = sum(len(own) for _, _, own in left)
    n_cells = f"{len(cells)} cell{'' if len(cells) == 1 else 's'}"
    console.print(f"{n_cells}, {len(cells) - n_left} already finished.", highlight=False)
    columns = (TextColumn("Running"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TextColumn("{task.fields[left]}"))  # fmt: skip
    with Progress(*columns, console=console) as bar:
        progress = bar.add_task("", total=n_left, left="")

        def on_record(record: "Record", remaining: str) -> None:
            text = _failure_line(record) if describe is None else describe(record)
            if text:
                bar.console.print(text, highlight=False, markup=False, soft_wrap=True)
            bar.update(progress, advance=1, left=f"about {remaining} left, last: {record.cell.label}")

        # studies with the same protocol and limit share their processes
        for timed, seconds in dict.fromkeys((study.timed, seconds) for study, seconds, _ in left):
            group = {s.name: s for s, own_limit, _ in left if (s.timed, own_limit) == (timed, seconds)}
            own = [cell for study, _, of_study in left if study.name in group for cell in of_study]
            if own:
                _run_group(group, own, store, on_record, 1 if timed else jobs or _N_CORES, seconds, again=again)


def _run_group(
    studies: "Mapping[str, Study]", cells: "Sequence[Cell]", store: "Store",
    on_record: "Callable[[Record, str], None]", n_processes: int, limit: float, *, again: bool,
) -> None:  # fmt: skip
    """Run the cells of studies with the same protocol: in parallel, or one at a time in fresh processes."""
    from benchmarks.runner import Forecast, Runner

    timed, forecast = next(iter(studies.values())).timed, Forecast(cells, n_processes)
    # a quick run measures nothing, and shares the machine with others
    n_threads = 1 if all(cell.is_quick for cell in cells) else max(1, _N_CORES // n_processes)

    def update(record: "Record") -> None:
        forecast.update(record)
        on_record(record, forecast.description)

    runner = Runner(n_processes, fresh_process=timed, limit=limit, n_threads=n_threads)
    runner.run(cells, studies, store, update, again=again)


def _failure_line(record: "Record") -> str:
    from benchmarks.cells import DONE

    if record.status == DONE:
        return ""
    return f"{record.cell.study}: {record.cell.label}: {record.status}. {record.note}"


def write(studies: "Sequence[Study]", store: "Store", out: Path, console: Console, *, quick: bool) -> None:
    """Write the pages of studies with records, and print the path of the index."""
    from benchmarks.pages import write_pages

    measured = [study for study in studies if study.results(store, quick=quick).records]
    if not measured:
        console.print("There are no cells yet, and no page was written.")
        return
    console.print(f"Written: {write_pages(store, out, measured, quick=quick)}", soft_wrap=True, highlight=False)
