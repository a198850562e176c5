"""`mvlvm fit`: fit a model to files, and write it with its results into a folder."""

import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from mvlvm import defaults
from mvlvm.cli.exit_handling import INTERRUPTED, Output, UsageError
from mvlvm.cli.inputs import (
    Inputs,
    Join,
    Layer,
    RowNames,
    ViewFiles,
    inputs_from_toml,
    parse_labels,
    parse_view,
    relative_path,
)
from mvlvm.cli.model_options import (
    MODEL_OPTIONS,
    for_views,
    parse_options,
    read_init,
    resolve_init,
    suggest,
    with_model_options,
)
from mvlvm.version import __version__

Quiet = Annotated[bool, typer.Option("--quiet", help="Hide progress and notes.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout, and everything else on stderr.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
_OUTPUT = "Output"
# Sections of a configuration, and their entries; [fit] is a record, which is ignored.
_CONFIG = {
    "input": ("views", "labels", "join", "row_names", "layer", "digests"),
    "parameters": tuple(MODEL_OPTIONS),
    "fit": (),
}
# Options with these values are taken from the configuration, if it has them.
_DEFAULT_JOIN, _DEFAULT_ROW_NAMES = "outer", "auto"


@with_model_options
def fit(
    model_options: dict[str, Any],
    out: Annotated[
        Path, typer.Option(help="Folder to write the model and its results into.", rich_help_panel=_OUTPUT)
    ],
    view: ViewFiles = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="FILE[:COLUMN]", help="Labels of the rows, for figures only.", rich_help_panel="Input"),
    ] = None,
    join: Join = _DEFAULT_JOIN,
    row_names: RowNames = _DEFAULT_ROW_NAMES,
    layer: Layer = None,
    config: Annotated[
        Path | None,
        typer.Option(help="TOML file of options, such as the fit.toml of a fit. Other options have precedence.",
                     rich_help_panel="Input"),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the model in the output folder.", rich_help_panel=_OUTPUT)
    ] = False,
    data: Annotated[
        bool | None,
        typer.Option("--data/--no-data", help="Store all training rows in the model, to impute them later, or none. By "
                     "default, the rows that predictions need are stored, at most 4,000.", rich_help_panel=_OUTPUT),
    ] = None,
    as_map: Annotated[
        bool,
        typer.Option("--map", help="Settings for a map: --init tsne --view-weights balanced --neighbor-weight auto. "
                     "Other options have precedence.", rich_help_panel="Model"),
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:  # fmt: skip
    """Fit a model to files.

    The folder receives the model, the latents of all rows with their standard deviations (embedding.csv), tables of the
    views, the relevance of dimensions and the history of the bound, and the options that repeat the fit (fit.toml).
    """
    output = Output(quiet, as_json, debug)
    with output.errors("Interrupted before the first step. Nothing was written."):
        from mvlvm.cli.model_folder import check_output_folder

        check_output_folder(out, force=force)
        table, folder = ({}, Path()) if config is None else _read_config(config)
        inputs = inputs_from_toml(table.get("input", {}), folder)
        inputs = Inputs(
            inputs.views if view is None else [parse_view(text) for text in view],
            inputs.labels if labels is None else parse_labels(labels),
            inputs.join if join == _DEFAULT_JOIN else join,
            inputs.row_names if row_names == _DEFAULT_ROW_NAMES else row_names,
            layer or inputs.layer,
        )
        inputs.check()
        map_settings = defaults.MAP_SETTINGS if as_map else {}
        parameters = _config_parameters(table, folder) | map_settings | parse_options(model_options)
        stop_reason = _run(inputs, parameters, out, output, data="predict" if data is None else data)
    if stop_reason == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _run(inputs: Inputs, parameters: Mapping[str, Any], out: Path, output: Output, *, data: bool | str) -> str:
    """Fit, write the folder, and report; return why training ended."""
    from mvlvm import NGMVLVM
    from mvlvm.cli.model_folder import write_model_folder
    from mvlvm.estimators.options import check_fit_options, with_view_options
    from mvlvm.io.atomic import folder_atomically

    views = inputs.read()
    row_labels = inputs.read_labels(next(iter(views.values())).index)
    complete = for_views(parameters, list(views))
    est = NGMVLVM(**complete | {"init": read_init(complete["init"])}, verbose=0 if output.quiet else 1)
    try:
        options = check_fit_options(est.get_params(deep=False))
        with_view_options(options, est.get_params(deep=False), list(views))
    except ValueError as error:
        raise UsageError(str(error)) from error
    begin = time.perf_counter()
    est.fit(views)
    seconds = time.perf_counter() - begin
    output.note("Preparing predictions.")
    with folder_atomically(out) as folder:
        record = {"input": inputs.to_toml(out), "parameters": _to_toml(complete, out), "fit": {"mvlvm": __version__}}
        write_model_folder(folder, est, views, labels=row_labels, options=record, data=data)
    n_rows = len(est.embedding_)
    output.note(
        f"Wrote {out}: {n_rows} rows, {len(views)} views, {est.n_components_} dimensions, bound {est.elbo_:,.0f}, "
        f"{est.n_iter_} steps ({est.stop_reason_}), {seconds:.1f} s."
    )
    output.result({
        "out": str(out), "rows": n_rows, "views": est.view_names_, "n_components": est.n_components_,
        "elbo": est.elbo_, "n_iter": est.n_iter_, "stop_reason": est.stop_reason_, "seconds": seconds,
        "explained_variance": est.explained_variance_, "random_state": complete["random_state"],
    })  # fmt: skip
    return est.stop_reason_


def _read_config(path: Path) -> tuple[dict[str, Any], Path]:
    """Return the contents of a configuration file, and the folder that its paths refer to."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--config: {path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--config: {path} is not a TOML file: {error}.") from None
    for section, entries in table.items():
        if section not in _CONFIG or not isinstance(entries, Mapping):
            raise UsageError(f"--config: {path} has the unknown section '{section}'. {suggest(section, list(_CONFIG))}")
        for name in entries if section != "fit" else ():
            if name not in _CONFIG[section]:
                raise UsageError(
                    f"--config: {path} has the unknown entry '{name}' in [{section}]. {suggest(name, _CONFIG[section])}"
                )
    return table, path.parent


def _config_parameters(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the parameters of a configuration; "none" stands for None, which TOML does not have."""
    parameters = {name: _from_toml(name, value) for name, value in table.get("parameters", {}).items()}
    return {name: resolve_init(value, folder) if name == "init" else value for name, value in parameters.items()}


def _from_toml(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {view: _from_toml(name, entry) for view, entry in value.items()}
    if isinstance(value, int) and MODEL_OPTIONS[name].kind is float:
        return float(value)
    return None if value == "none" else value


def _to_toml(parameters: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    table = {name: _with_none(value) for name, value in parameters.items()}
    if str(table["init"]).endswith(".npy"):
        table["init"] = relative_path(Path(table["init"]), folder)
    return table


def _with_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _with_none(entry) for name, entry in value.items()}
    return "none" if value is None else value
