"""The `mvlvm bench` command."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from mvlvm.cli.exit_handling import fail, interruptible, need_matplotlib

if TYPE_CHECKING:
    from mvlvm.benchmarks.session import Session
    from mvlvm.benchmarks.tasks import Outcome, Task


def bench(
    only: Annotated[
        list[str] | None,
        typer.Option(help="Experiments: steps, accuracy, quality, growth, peers, walltime, profile. Repeatable, or "
                     "comma-separated. Default: all."),
    ] = None,
    method: Annotated[list[str] | None, typer.Option(help="Run only these methods. Repeatable.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A test run of seconds, without meaningful results.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    out: Annotated[Path, typer.Option(help="Output folder for results, page and figures.")] = Path("bench"),
    merge: Annotated[
        list[Path] | None, typer.Option(help="Merge the results of this file; runs nothing. Repeatable.")
    ] = None,
    limit: Annotated[float | None, typer.Option(min=1, help="Time limit per method in seconds.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Repeat measurements that have already finished.")] = False,
) -> None:  # fmt: skip
    """Compare run time, memory and quality with other libraries, and write a page. Resumes an interrupted run."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"--out must be a folder that can be created. Got {out}: {error.strerror}. Choose another folder.")
    need_matplotlib("The benchmark", "bench")
    from mvlvm.benchmarks.session import Session

    session, console = Session(out, trial=quick), Console()
    with interruptible(f"The benchmark was interrupted. Finished measurements are kept in {session.file.path}."):
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
    """Return the tasks to run, or exit with a message if an option is invalid."""
    from mvlvm.benchmarks.peers import METHODS
    from mvlvm.benchmarks.plan import EXPERIMENTS, plan_for
    from mvlvm.records import choose_device

    requested = [name.strip() for part in only or EXPERIMENTS for name in part.split(",")]
    for option, given, known in (("--only", requested, EXPERIMENTS), ("--method", methods or [], METHODS)):
        for name in given:
            if name not in known:
                fail(f"{option} must be one of: {', '.join(known)}. Got '{name}'.")
    try:
        plan = plan_for(choose_device(device), trial=session.trial, limit_s=limit)
    except ValueError as error:
        fail(str(error))
    return session.tasks(plan, requested, methods or [])


def _run(session: "Session", tasks: "Sequence[Task]", again: bool, console: Console) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        progress = bar.add_task("Measuring", total=len(tasks))

        def report(outcome: "Outcome") -> None:
            bar.console.print(_line(outcome), soft_wrap=True, highlight=False, markup=False)
            bar.advance(progress)

        session.run(tasks, report, again=again)


def _merge(session: "Session", files: Sequence[Path], console: Console) -> None:
    for path in files:
        if not path.is_file():
            fail(f"--merge must be a file of results, such as speed.jsonl. Got {path}, which is not a file.")
    console.print(f"{session.file.merge(files)} new results.")


def _line(outcome: "Outcome") -> str:
    """Format an outcome in one line: the task and its main results."""
    from mvlvm.records import duration, size

    task, numbers, parts = outcome.task, outcome.numbers, []
    if "seconds_per_step" in numbers:
        parts.append(f"{duration(numbers['seconds_per_step'])} per step")
    if "peak_bytes" in numbers:
        parts.append(size(numbers["peak_bytes"]))
    if "accuracy" in numbers:
        parts.append(f"1-NN {100 * numbers['accuracy']:.1f} %")
    if "curve" in numbers:
        parts.append(f"1-NN up to {100 * max(p['quality'] for p in numbers['curve']):.1f} %")
    if "seconds" in numbers:
        parts.append(f"{duration(numbers['seconds'])} in total")
    summary = ", ".join([*parts, *([outcome.note] if outcome.note else [])])
    return f"{task.experiment}, {task.method}, {task.case}: {outcome.status}{f', {summary}' if summary else ''}"


def _print_claims(session: "Session", console: Console) -> None:
    from rich.table import Table

    from mvlvm.benchmarks.comparison import Results
    from mvlvm.benchmarks.speed_page import claim_rows

    rows = claim_rows(Results(session.file.read()))
    table = Table("machine", "target", "measured", "met")
    for machine, target, measured, met in rows:
        if measured != "-":
            table.add_row(machine, target, measured, met.replace("**", ""))
    if table.row_count:
        console.print(table)
    console.print(f"{len(rows) - table.row_count} of {len(rows)} targets were not measured.")
