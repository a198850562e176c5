"""`mvlvm demo`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mvlvm.cli.failing import fail, interruptible, need_matplotlib


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the data and the fits.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress bars.")] = False,
) -> None:
    """Train on two embedded data sets, print a table and write figures. Needs no download."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"--out must be a folder that can be made. Got {out}: {error.strerror}. Give another name.")
    need_matplotlib("The demo", "demo")
    from mvlvm.experiments.demo_experiment import run_demo

    with interruptible("The demo was interrupted and wrote no figures."):
        result = run_demo(out, random_state=seed, verbose=0 if quiet else 1)
    table = Table("data", "measure", "ours", "PCA", "noise std", "bound", "seconds")
    for row in result.rows:
        noise = ", ".join(f"{std:.3g}" for std in row.noise.values())
        table.add_row(
            row.data, row.measure, f"{row.ours:.3f}", f"{row.pca:.3f}", noise, f"{row.bound:,.0f}", f"{row.seconds:.1f}"
        )  # fmt: skip
    console = Console()
    console.print(table)
    console.print("Figures:")
    for path in result.figures:
        console.print(f"  {path}", soft_wrap=True, highlight=False)
