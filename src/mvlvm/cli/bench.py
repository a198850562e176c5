"""`mvlvm bench`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from mvlvm.cli.failing import fail, interruptible, need_matplotlib

if TYPE_CHECKING:
    from mvlvm.benchmarks.session import Session
    from mvlvm.benchmarks.tasks import Outcome, Task


def bench(
    only: Annotated[
        list[str] | None,
        typer.Option(help="Experiments: steps, accuracy, quality, growth, peers, walltime, profile. Repeat the option, "
                     "or separate by commas. All by default."),
    ] = None,
    method: Annotated[list[str] | None, typer.Option(help="Run these methods alone. Repeatable.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A trial of seconds, whose numbers mean nothing.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    out: Annotated[Path, typer.Option(help="Folder for cells, page and figures.")] = Path("bench"),
    merge: Annotated[
        list[Path] | None, typer.Option(help="Take over the cells of such files and run nothing. Repeatable.")
    ] = None,
    limit: Annotated[float | None, typer.Option(min=1, help="Seconds after which a method is stopped.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Run what has finished before, too.")] = False,
) -> None:  # fmt: skip
    """Measure seconds, memory and quality beside other libraries, and write a page. Goes on where it stopped."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"--out must be a folder that can be made. Got {out}: {error.strerror}. Give another name.")
    need_matplotlib("The benchmark", "bench")
    from mvlvm.benchmarks.session import Session

    session, console = Session(out, trial=quick), Console()
    with interruptible(f"The benchmark was interrupted. What has finished is kept in {session.file.path}."):
        if merge:
            _merge(session, merge, console)
        else:
            _run(session, _tasks(session, only, method, device, limit), again, console)
        written = session.write_page()
    _print_claims(session, console)
    console.print("Written:")
    for path in written:
        console.print(f"  {path}", soft_wrap=True, highlight=False)


def _tasks(
    session: "Session", only: Sequence[str] | None, methods: Sequence[str] | None, device: str, limit: float | None
) -> "list[Task]":
    """Give what is to be run, or end with what is wrong."""
    from mvlvm.benchmarks.peers import METHODS
    from mvlvm.benchmarks.plan import EXPERIMENTS, plan_for
    from mvlvm.records import choose_device

    asked = [name.strip() for part in only or EXPERIMENTS for name in part.split(",")]
    for what, given, known in (("--only", asked, EXPERIMENTS), ("--method", methods or [], METHODS)):
        for name in given:
            if name not in known:
                fail(f"{what} must name one of: {', '.join(known)}. Got '{name}'.")
    try:
        plan = plan_for(choose_device(device), trial=session.trial, limit_s=limit)
    except ValueError as error:
        fail(str(error))
    return session.tasks(plan, asked, methods or [])


def _run(session: "Session", tasks: "Sequence[Task]", again: bool, console: Console) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        shown = bar.add_task("Measuring", total=len(tasks))

        def say(outcome: "Outcome") -> None:
            bar.console.print(_line(outcome), soft_wrap=True, highlight=False, markup=False)
            bar.advance(shown)

        session.run(tasks, say, again=again)


def _merge(session: "Session", files: Sequence[Path], console: Console) -> None:
    for path in files:
        if not path.is_file():
            fail(f"--merge must name a file of cells, such as speed.jsonl. Got {path}, which is no file.")
    console.print(f"{session.file.merge(files)} cells are new.")


def _line(outcome: "Outcome") -> str:
    """Give an outcome in one line: what was measured, and its first numbers."""
    from mvlvm.records import duration, size

    task, numbers, said = outcome.task, outcome.numbers, []
    if "seconds_per_step" in numbers:
        said.append(f"{duration(numbers['seconds_per_step'])} a step")
    if "peak_bytes" in numbers:
        said.append(size(numbers["peak_bytes"]))
    if "accuracy" in numbers:
        said.append(f"1-NN {100 * numbers['accuracy']:.1f} %")
    if "curve" in numbers:
        said.append(f"1-NN up to {100 * max(p['quality'] for p in numbers['curve']):.1f} %")
    if "seconds" in numbers:
        said.append(f"{duration(numbers['seconds'])} in all")
    found = ", ".join([*said, *([outcome.note] if outcome.note else [])])
    return f"{task.experiment}, {task.method}, {task.case}: {outcome.status}{f', {found}' if found else ''}"


def _print_claims(session: "Session", console: Console) -> None:
    from rich.table import Table

    from mvlvm.benchmarks.comparison import Results
    from mvlvm.benchmarks.speed_page import claim_rows

    rows = claim_rows(Results(session.file.read()))
    table = Table("machine", "asked for", "measured", "holds")
    for machine, asked, measured, holds in rows:
        if measured != "-":
            table.add_row(machine, asked, measured, holds.replace("**", ""))
    if table.row_count:
        console.print(table)
    console.print(f"{len(rows) - table.row_count} of {len(rows)} promises were not measured.")
