"""Commands that use a fitted model: show, transform, predict, impute, score and sample."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mvlvm.cli.exit_handling import Output, UsageError
from mvlvm.cli.fit_command import Debug, Json, Quiet
from mvlvm.cli.inputs import Inputs, Join, Layer, RowNames, ViewFiles, parse_view
from mvlvm.cli.model_options import suggest

if TYPE_CHECKING:
    import pandas as pd

    from mvlvm.estimators.base import AbstractMultiViewLVM

_TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
_SEVERAL = ".h5mu"

Model = Annotated[Path, typer.Argument(help="Folder or file of the model.", metavar="MODEL")]
Out = Annotated[
    Path,
    typer.Option(
        help="File to write: .csv, .tsv, .parquet or .h5mu. A folder for several views receives a .csv for each.",
        rich_help_panel="Output",
    ),
]
Std = Annotated[Path | None, typer.Option(help="File or folder for the standard deviations.", rich_help_panel="Output")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.", rich_help_panel="Output")]
Conditional = Annotated[
    Literal["auto", "latent", "blend"],
    typer.Option(
        help="Predict views that a row lacks by the latents alone, by the conditional layer, or by the more accurate."
    ),
]
Target = Annotated[str | None, typer.Option(help="View to predict, which need not be given.", metavar="VIEW")]


def show(model: Model, as_json: Json = False, debug: Debug = False) -> None:
    """Show a fitted model: its views, the bound, explained variance and the relevance of dimensions."""
    output = Output(as_json=as_json, debug=debug)
    with output.errors("Interrupted."):
        from mvlvm.cli.model_folder import load_model
        from mvlvm.cli.model_summary import print_summary, summary

        est = load_model(model)
        values = summary(model, est)
    if as_json:
        output.result(values)
    else:
        print_summary(values)


def transform(
    model: Model, out: Out, view: ViewFiles = None, join: Join = "outer", row_names: RowNames = "auto",
    layer: Layer = None, force: Force = False, quiet: Quiet = False, as_json: Json = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Infer the latents of new rows, from any of the views: a table of means and standard deviations."""
    output = Output(quiet, as_json, debug)
    with output.errors("Interrupted. Nothing was written."):
        from mvlvm.cli.model_folder import latent_table

        _check_outputs(out, force=force, several=False)
        est, views = _open(model, Inputs(_files(view), None, join, row_names, layer), output)
        mean, std = est.transform(views, return_std=True)
        names = [f"x{k}" for k in range(mean.shape[1])]
        _write(output, {"latents": latent_table(mean, std, _index(views), names)}, out)


def predict(
    model: Model, out: Out, view: ViewFiles = None, target: Target = None, std: Std = None,
    noise: Annotated[
        bool, typer.Option(help="Whether standard deviations include the noise.", rich_help_panel="Output")
    ] = True,
    conditional: Conditional = "auto", join: Join = "outer", row_names: RowNames = "auto", layer: Layer = None,
    force: Force = False, quiet: Quiet = False, as_json: Json = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Predict a view of new rows from others, or all views."""
    output = Output(quiet, as_json, debug)
    with output.errors("Interrupted. Nothing was written."):
        _check_outputs(out, std, force=force, several=target is None)
        est, views = _open(model, Inputs(_files(view), None, join, row_names, layer), output)
        _check_target(est, target)
        if target in views:
            raise UsageError(f"--target {target} was given as a view too. Leave out --view {target}=...")
        pair = est.predict(views, target=target, return_std=True, include_noise=noise, conditional=conditional)
        means, stds = (_by_name(est, part, views, target) for part in pair)
        _write(output, means, out)
        if std is not None:
            _write(output, stds, std)


def impute(
    model: Model, out: Out, view: ViewFiles = None, std: Std = None, conditional: Conditional = "auto",
    join: Join = "outer", row_names: RowNames = "auto", layer: Layer = None, force: Force = False, quiet: Quiet = False,
    as_json: Json = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Fill the missing entries of new rows; without --view, of the training rows (fit with --data)."""
    output = Output(quiet, as_json, debug)
    with output.errors("Interrupted. Nothing was written."):
        _check_outputs(out, std, force=force, several=True)
        if view:
            est, views = _open(model, Inputs(_files(view), None, join, row_names, layer), output)
        else:
            est, views = _load(model, output), None
        try:
            pair = est.impute(views, return_std=True, conditional=conditional)
        except ValueError as error:
            if views is not None:
                raise
            raise UsageError(
                f"{model} does not contain training rows with missing entries. Give the rows with --view, or fit with "
                "--data to store them."
            ) from error
        means, stds = (_by_name(est, part, views, None) for part in pair)
        _write(output, means, out)
        if std is not None:
            _write(output, stds, std)


def score(
    model: Model, view: ViewFiles = None, target: Target = None, conditional: Conditional = "auto",
    join: Join = "outer", row_names: RowNames = "auto", layer: Layer = None, quiet: Quiet = False,
    as_json: Json = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Print the mean log density of new rows in nats per entry; with --target, of a view given the others."""
    output = Output(quiet, as_json, debug)
    with output.errors("Interrupted."):
        est, views = _open(model, Inputs(_files(view), None, join, row_names, layer), output)
        _check_target(est, target)
        if target is not None and target not in views:
            raise UsageError(f"--target {target} is scored, so its file is needed: --view {target}=FILE")
        value = est.score(views, target=target, conditional=conditional)
    output.result({"log_density_per_entry": value, "rows": len(_index(views)), "target": target})
    if not as_json:
        typer.echo(f"{value:.6g}")


def sample(
    model: Model, out: Out,
    n_samples: Annotated[int, typer.Option("--n-samples", "-n", min=1, help="Number of rows.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    force: Force = False, quiet: Quiet = False, as_json: Json = False, debug: Debug = False,
) -> None:  # fmt: skip
    """Draw new rows of all views from the model."""
    output = Output(quiet, as_json, debug)
    with output.errors("Interrupted. Nothing was written."):
        _check_outputs(out, force=force, several=True)
        est = _load(model, output)
        drawn = est.sample(n_samples, random_state=seed)
        _write(output, _by_name(est, drawn, None, None), out)


def _files(view: list[str] | None) -> list[tuple[str, Path]]:
    return [parse_view(text) for text in view or ()]


def _load(model: Path, output: Output) -> "AbstractMultiViewLVM":
    from mvlvm.cli.model_folder import load_model

    return load_model(model).set_params(verbose=0 if output.quiet else 1)


def _open(model: Path, inputs: Inputs, output: Output) -> "tuple[AbstractMultiViewLVM, dict[str, pd.DataFrame]]":
    """Load a model and read views, whose names the model must know."""
    inputs.check()
    est = _load(model, output)
    views = inputs.read()
    if est.model_.layout.container.single and len(views) == 1:
        return est, {est.view_names_[0]: next(iter(views.values()))}
    unknown = next((name for name in views if name not in est.view_names_), None)
    if unknown is not None:
        advice = f"{suggest(unknown, est.view_names_)} Name views as --view NAME=FILE."
        raise UsageError(f"The model has no view '{unknown}'. {advice}")
    return est, views


def _check_target(est: "AbstractMultiViewLVM", target: str | None) -> None:
    if target is not None and target not in est.view_names_:
        raise UsageError(f"The model has no view '{target}' to predict. {suggest(target, est.view_names_)}")


def _index(views: "Mapping[str, pd.DataFrame]") -> "pd.Index":
    return next(iter(views.values())).index


def _by_name(
    est: "AbstractMultiViewLVM", tables: Any, views: "Mapping[str, pd.DataFrame] | None", target: str | None
) -> "dict[str, pd.DataFrame]":
    """Return tables by the names of their views, with row names."""
    import pandas as pd

    named = {target: tables} if target is not None else tables
    if not isinstance(named, Mapping):
        named = dict(zip(est.view_names_, named if isinstance(named, list) else [named], strict=True))
    frames = {name: pd.DataFrame(table) for name, table in named.items() if table is not None}
    return frames if views is None else {name: frame.set_axis(_index(views)) for name, frame in frames.items()}


def _check_outputs(*paths: Path | None, force: bool, several: bool) -> None:
    """Check that outputs have a known format, do not exist, and have a folder to be written into."""
    from mvlvm.io.writing import check_format

    given = [path for path in paths if path is not None]
    for path in given:
        is_table = path.name.lower().endswith((*_TABLES, _SEVERAL))
        if not is_table and not (several and not path.suffix):
            kinds = f"must end in {', '.join(_TABLES)} or {_SEVERAL}" + (", or be a folder" if several else "")
            raise UsageError(f"The name of the output {path} {kinds}.")
        if not path.absolute().parent.is_dir():
            raise UsageError(f"There is no folder {path.absolute().parent} to write {path.name} into. Create it first.")
        if path.exists() and not (force and path.is_file() == is_table):
            raise UsageError(f"{path} exists. Choose another name, or replace it with --force.")
        if is_table:
            check_format(path)
    if len({os.path.abspath(path) for path in given}) < len(given):
        raise UsageError("--out and --std must be different.")


def _write(output: Output, tables: "Mapping[str, pd.DataFrame]", path: Path) -> None:
    """Write tables into a file, or a folder of CSV files."""
    from mvlvm.io import write
    from mvlvm.io.atomic import folder_atomically

    if path.suffix:
        if len(tables) > 1 and not path.name.lower().endswith(_SEVERAL):
            raise UsageError(
                f"{path} can hold one view, and there are {len(tables)}: {', '.join(tables)}. Use a folder, or .h5mu."
            )
        write(path, dict(tables) if path.name.lower().endswith(_SEVERAL) else next(iter(tables.values())))
    else:
        with folder_atomically(path) as folder:
            for name, table in tables.items():
                write(folder / f"{name}.csv", table)
    shapes = {name: list(table.shape) for name, table in tables.items()}
    output.note(f"Wrote {path}: " + ", ".join(f"{name} {rows} x {columns}" for name, (rows, columns) in shapes.items()))
    output.result({"out": str(path), "shapes": shapes})
