"""The command-line application and its `demo` command. Commands only parse arguments, call the library and print."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from mvlvm.cli import data_commands, model_commands, moved_commands
from mvlvm.cli.exit_handling import check_folder, interruptible, need_matplotlib
from mvlvm.cli.fit_command import fit
from mvlvm.version import __version__

app = typer.Typer(
    name="mvlvm",
    help="Multi-view latent variable models with Gaussian processes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def main(
    version: bool = typer.Option(False, "--version", is_eager=True, help="Show the version and exit."),
) -> None:
    """Multi-view latent variable models with Gaussian processes."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Output folder for the figures.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Random seed of the data and the fits.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Hide progress bars.")] = False,
) -> None:
    """Fit two built-in data sets, print a table of results and write figures. Requires no download."""
    check_folder("--out", out)
    need_matplotlib("The demo", "plots")
    from mvlvm.cli.demo import run_demo

    with interruptible("The demo was interrupted; no figures were written."):
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


app.command(name="fit")(fit)
for command in (
    model_commands.show,
    model_commands.transform,
    model_commands.predict,
    model_commands.impute,
    model_commands.score,
    model_commands.sample,
):
    app.command()(command)
app.add_typer(data_commands.app, name="data")
for command in (moved_commands.bench, moved_commands.reproduce, moved_commands.studies):
    app.command(hidden=True, context_settings=moved_commands.FORWARDING)(command)
