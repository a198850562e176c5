"""The command line. Every command is thin: it reads arguments, calls a lower floor and prints."""

import typer

from mvlvm import __version__
from mvlvm.cli import data
from mvlvm.cli.bench import bench
from mvlvm.cli.demo import demo
from mvlvm.cli.reproduce import reproduce

app = typer.Typer(
    name="mvlvm",
    help="Multi-view latent variable models with Gaussian processes.",
    no_args_is_help=True,
    add_completion=False,
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


app.command(name="demo")(demo)
app.command(name="bench")(bench)
app.command(name="reproduce")(reproduce)
app.add_typer(data.app, name="data")
