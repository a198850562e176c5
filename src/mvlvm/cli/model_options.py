"""The parameters of `NGMVLVM` as options of `mvlvm fit`, on the command line and in TOML files."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from mvlvm import defaults
from mvlvm.cli.exit_handling import UsageError

_PANELS = MODEL, TRAINING, MISSING = "Model", "Training", "Missing data and new rows"
_NONE = "none"


class ModelOption(NamedTuple):
    """A parameter of the estimator.

    Attributes:
        name: of the parameter; the option has hyphens instead of underscores.
        kind: of a number, int or float; str for text. Text that is not such a number is passed on, for "auto".
        default: its default.
        panel: heading in the help.
        help: one sentence.
        per_view: whether it may have one value per view.
    """

    name: str
    kind: type[int] | type[float] | type[str]
    default: Any
    panel: str
    help: str
    per_view: bool = False


MODEL_OPTIONS = {
    option.name: option
    for option in (
        ModelOption("n_components", int, defaults.N_COMPONENTS, MODEL,
                    "Number of latent dimensions; auto learns how many are needed."),
        ModelOption("max_components", int, defaults.MAX_COMPONENTS, MODEL, "Most dimensions for --n-components auto."),
        ModelOption("n_private", int, None, MODEL, "Latent dimensions of a single view.", True),
        ModelOption("n_mixtures", int, defaults.N_MIXTURES, MODEL, "Mixture components of the spectral density.", True),
        ModelOption("n_points", int, defaults.N_POINTS, MODEL, "Spectral points per mixture component."),
        ModelOption("kernel", str, "ngsm", MODEL, "ngsm, or sm for a stationary kernel.", True),
        ModelOption("likelihood", str, "gaussian", MODEL,
                    "gaussian, student-t, bernoulli, poisson, negative-binomial, categorical, or auto.", True),
        ModelOption("scale", str, "auto", MODEL, "Scaling of a view: auto, view, column or none.", True),
        ModelOption("view_weights", float, None, MODEL,
                    "Weight of a view in the objective, by default 1; or balanced.", True),
        ModelOption("init", str, "pca", TRAINING,
                    "Initial latents: pca, spectral, tsne, covariance, auto, or an .npy file with a row per sample."),
        ModelOption("max_iter", int, defaults.MAX_ITER, TRAINING, "Largest number of steps."),
        ModelOption("tol", float, defaults.TOL, TRAINING,
                    "Increase of the bound, in nats per entry and window of steps, at which training ends; 0 never."),
        ModelOption("learning_rate", float, defaults.LEARNING_RATE, TRAINING, "Learning rate of Adam."),
        ModelOption("schedule", str, "constant", TRAINING,
                    "constant, or coarse-to-fine, which begins with few spectral points: half the time."),
        ModelOption("n_draws", int, defaults.N_DRAWS, TRAINING, "Draws of latents and spectral points per step."),
        ModelOption("latent_kl_weight", float, 1.0, TRAINING, "Weight of the KL divergence from the prior."),
        ModelOption("neighbor_weight", float, 0.0, TRAINING,
                    "Weight of t-SNE's objective in that of the model, for maps; auto is 100."),
        ModelOption("compress", float, "auto", TRAINING,
                    "Energy that complete views may lose in training, as a share of the noise's; auto or none."),
        ModelOption("memory_budget", float, None, TRAINING, "Bytes that the features of a view may take."),
        ModelOption("matmul_backend", str, "auto", TRAINING, "Float32 products on a CPU: auto, torch or onednn."),
        ModelOption("device", str, "auto", TRAINING, "auto, cpu or cuda."),
        ModelOption("dtype", str, "auto", TRAINING, "auto, float32 or float64."),
        ModelOption("random_state", int, 0, TRAINING, "Seed: the same seed gives the same result."),
        ModelOption("n_draws_predict", int, defaults.N_DRAWS_PREDICT, MISSING,
                    "Draws of spectral points that predictions average over."),
    )
}  # fmt: skip


def with_model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `model_options` of a command by one option for every parameter of the estimator.

    The command receives a dict, parameter name -> text as given, of those that were given.
    """
    own = [parameter for name, parameter in inspect.signature(command).parameters.items() if name != "model_options"]

    def wrapped(**arguments: Any) -> None:
        given = {name: arguments.pop(name) for name in MODEL_OPTIONS}
        command(**arguments, model_options={name: text for name, text in given.items() if text})

    added = [_parameter(option) for option in MODEL_OPTIONS.values()]
    wrapped.__signature__ = inspect.Signature([*own, *added])  # pyright: ignore[reportFunctionMemberAccess]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *added)}
    wrapped.__doc__ = command.__doc__
    return wrapped


def _parameter(option: ModelOption) -> inspect.Parameter:
    shown = _NONE if option.default is None else str(option.default)
    metavar = {int: "INTEGER", float: "NUMBER", str: "TEXT"}[option.kind]
    info = typer.Option(
        f"--{option.name.replace('_', '-')}",
        help=f"{option.help} Repeatable as VIEW={metavar}." if option.per_view else option.help,
        metavar=f"[VIEW=]{metavar}" if option.per_view else metavar,
        rich_help_panel=option.panel,
        show_default=shown,
    )
    kind = list[str] | None if option.per_view else str | None
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, info]
    )


def parse_options(given: Mapping[str, str | Sequence[str]]) -> dict[str, Any]:
    """Convert the texts of options to parameters; those with values per view to dicts, where "" stands for all others.

    Raises:
        UsageError: a text is not of the form that the option takes.
    """
    parsed: dict[str, Any] = {}
    for name, texts in given.items():
        option = MODEL_OPTIONS[name]
        if isinstance(texts, str):
            parsed[name] = _value(option, texts)
            continue
        pairs = [("", text) if "=" not in text else tuple(text.split("=", 1)) for text in texts]
        if len({view for view, _ in pairs}) < len(pairs):
            raise UsageError(f"{_flag(name)} was given twice for the same view: {', '.join(texts)}. Give it once.")
        values = {view: _value(option, text) for view, text in pairs}
        parsed[name] = values[""] if list(values) == [""] and option.default is not None else values
    return parsed


def _value(option: ModelOption, text: str) -> Any:
    """Return a number if the option takes numbers and the text is one; the estimator validates everything else."""
    if text == _NONE:
        return None
    try:
        return option.kind(text)
    except ValueError:
        return text


def for_views(parameters: Mapping[str, Any], views: Sequence[str]) -> dict[str, Any]:
    """Return parameters of the estimator, with values per view for all views.

    Args:
        parameters: parameter name -> value, or dict with "" for all views that it does not name.
        views: the views.

    Raises:
        UsageError: a value was given for a view that does not exist.
    """
    complete = {name: option.default for name, option in MODEL_OPTIONS.items()}
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            unknown = next((view for view in value if view not in ("", *views)), None)
            if unknown is not None:
                raise UsageError(f"{_flag(name)}: there is no view '{unknown}'. {suggest(unknown, views)}")
            rest = value.get("", 1.0 if name == "view_weights" else MODEL_OPTIONS[name].default)
            value = {view: value.get(view, rest) for view in views}
            value = {view: entry for view, entry in value.items() if entry is not None or name == "scale"}
        complete[name] = value
    return complete


def read_init(value: Any) -> Any:
    """Return the initial latents: the name of a method, or the array in an .npy file."""
    if not isinstance(value, str) or not value.endswith(".npy"):
        return value
    import numpy as np

    try:
        return np.load(value, allow_pickle=False)
    except FileNotFoundError:
        raise UsageError(f"--init: there is no file {value}. Check its name.") from None
    except ValueError as error:
        raise UsageError(f"--init: {value} cannot be read: {error}") from None


def resolve_init(value: Any, folder: Path) -> Any:
    """Return the value of --init in a configuration file, with the path of a file relative to its folder."""
    return str(folder / value) if isinstance(value, str) and value.endswith(".npy") else value


def suggest(unknown: str, known: Sequence[str]) -> str:
    """Return a sentence with the closest of some names, or all of them."""
    close = get_close_matches(unknown, known, n=1)
    return f"Did you mean '{close[0]}'?" if close else f"Known are: {', '.join(known)}."


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
