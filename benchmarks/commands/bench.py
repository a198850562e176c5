"""The command `python -m benchmarks bench`: the studies of speed and wall time."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.commands.study_commands import chosen_cells, merge_stores, run_cells, split_names, write
from mvlvm.cli.exit_handling import check_folder, fail, interruptible, need_matplotlib

if TYPE_CHECKING:
    from benchmarks.cells import Cell, Record
    from benchmarks.store import Store
    from benchmarks.study import Study

_WALL_TIME = "walltime"


def bench(
    only: Annotated[
        list[str] | None,
        typer.Option(help="Experiments: steps, accuracy, quality, growth, peers, walltime, profile. Repeatable, or "
                     "comma-separated. Default: all."),
    ] = None,
    method: Annotated[list[str] | None, typer.Option(help="Run only these methods. Repeatable.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A test run of seconds, without meaningful results.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    out: Annotated[Path, typer.Option(help="Output folder for cells, pages and figures.")] = Path("bench"),
    merge: Annotated[
        list[Path] | None, typer.Option(help="Merge the results of this file or folder; runs nothing. Repeatable.")
    ] = None,
    limit: Annotated[float | None, typer.Option(min=1, help="Time limit per method in seconds.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Repeat measurements that have already finished.")] = False,
) -> None:  # fmt: skip
    """Compare run time, memory and quality with other libraries, and write a page. Resumes an interrupted run."""
    from benchmarks.catalogue import SPEED_STUDIES
    from benchmarks.store import Store

    studies, store, console = list(SPEED_STUDIES.values()), Store(out), Console()
    cells = _cells(studies, only, method, quick=quick, device=device)
    check_folder("--out", out)
    need_matplotlib("The benchmark", "plots")
    with interruptible(f"The benchmark was interrupted. Finished measurements are kept in {out}."):
        if merge:
            merge_stores(store, merge, studies, console)
        else:
            run_cells(studies, cells, store, console, limit=limit, again=again, describe=_line)
        write(studies, store, out, console, quick=quick)
    _print_claims(studies, store, console, quick=quick)


def _cells(
    studies: "Sequence[Study]", only: Sequence[str] | None, methods: Sequence[str] | None, *, quick: bool, device: str
) -> "list[Cell]":
    """Return the cells to run, or exit with a message if an option is invalid."""
    from benchmarks.catalogue import check_names

    names = None if methods is None else ",".join(methods)
    cells = chosen_cells(studies, None, names, None, quick=quick, device=device)
    parts = list(dict.fromkeys(_part(cell) for study in studies for cell in study.all_cells(quick=quick)))
    requested = [name for text in only or parts for name in split_names(text)]
    try:
        check_names("experiment of the benchmark", requested, parts)
    except ValueError as error:
        fail(str(error))
    return [cell for cell in cells if _part(cell) in requested]


def _part(cell: "Cell") -> str:
    """Return the name of the experiment of a cell on the command line."""
    return cell.settings.get("part", _WALL_TIME)


def _line(record: "Record") -> str:
    """Format a record in one line: the cell and its main results."""
    from benchmarks.tables import duration, size

    metrics, parts = record.metrics, []
    if "seconds_per_step" in metrics:
        parts.append(f"{duration(metrics['seconds_per_step'])} per step")
    if "peak_bytes" in metrics:
        parts.append(size(metrics["peak_bytes"]))
    if "accuracy" in metrics:
        parts.append(f"1-NN {100 * metrics['accuracy']:.1f} %")
    if "curve" in metrics:
        parts.append(f"1-NN up to {100 * max(point['quality'] for point in metrics['curve']):.1f} %")
    if "seconds" in metrics:
        parts.append(f"{duration(metrics['seconds'])} in total")
    summary = ", ".join([*parts, *([record.note] if record.note else [])])
    return f"{record.cell.label}: {record.status}{f', {summary}' if summary else ''}"


def _print_claims(studies: "Sequence[Study]", store: "Store", console: Console, *, quick: bool) -> None:
    from benchmarks.study import claim_rows
    from benchmarks.tables import NOTHING

    rows = [row for study in studies for row in claim_rows(study, study.results(store, quick=quick))]
    table = Table("claim", "measured", "holds")
    for claim, measured, holds in rows:
        if measured != NOTHING:
            table.add_row(claim, measured, holds.replace("**", ""))
    if table.row_count:
        console.print(table)
    console.print(f"{len(rows) - table.row_count} of {len(rows)} claims were not measured.")
