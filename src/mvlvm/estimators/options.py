"""Checks of the parameters that say where and how precisely to compute.

What a fit is to do: the constructor's parameters, checked and resolved for the views at hand.

What a user may ask about the latent dimensions: how many all views share, and how many each has for itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.checks import check_choice, check_integer, check_number, check_probability
from mvlvm.errors import ViewError
from mvlvm.init.pca import numerical_rank
from mvlvm.init.private import reduce_shared_dimensions
from mvlvm.models.compression import AUTO_SHARE
from mvlvm.models.multiview import Dimensions
from mvlvm.models.spectral_mixture import MIXTURES
from mvlvm.views.scaling import SCALES, per_view


def check_device(value: Any) -> torch.device:
    """Give the device to compute on; "auto" is the GPU where there is one."""
    if isinstance(value, str) and value == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(value)
    except (RuntimeError, TypeError):
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda'. Got {value!r}.")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device={value!r} needs a CUDA GPU, and torch finds none here. Give device='cpu' or 'auto'.")
    return device


def check_dtype(value: Any) -> torch.dtype:
    """Give the precision of the features; products and solves are float64 in either case."""
    return {"auto": torch.float32, "float64": torch.float64}[check_choice(value, "dtype", ("auto", "float64"))]


@dataclass(frozen=True, kw_only=True)
class ViewOptions:
    """The settings of one view."""

    kernel: str
    n_mixtures: int
    scale: Any
    weight: float


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """The settings of a fit that all views share."""

    n_components: int
    prune: bool
    n_points: int
    max_iter: int
    tol: float
    learning_rate: float
    latent_kl_weight: float
    n_draws: int
    n_draws_predict: int
    compress: float | None
    memory_budget: float
    device: torch.device
    dtype: torch.dtype
    verbose: int


def check_fit_options(parameters: Mapping[str, Any]) -> FitOptions:
    """Check the constructor's parameters that do not depend on the views.

    Args:
        parameters: parameter name -> value, as `get_params` gives them.
    """
    return FitOptions(
        n_components=_check_n_components(parameters),
        prune=_is_auto(parameters["n_components"]),
        n_points=check_integer(parameters["n_points"], "n_points", at_least=1),
        max_iter=check_integer(parameters["max_iter"], "max_iter", at_least=1),
        tol=check_number(parameters["tol"], "tol", positive=False),
        learning_rate=check_number(parameters["learning_rate"], "learning_rate", positive=True),
        latent_kl_weight=check_number(parameters["latent_kl_weight"], "latent_kl_weight", positive=False),
        n_draws=check_integer(parameters["n_draws"], "n_draws", at_least=1),
        n_draws_predict=check_integer(parameters["n_draws_predict"], "n_draws_predict", at_least=1),
        compress=_check_compress(parameters["compress"]),
        memory_budget=_check_memory_budget(parameters["memory_budget"]),
        device=check_device(parameters["device"]),
        dtype=check_dtype(parameters["dtype"]),
        verbose=check_integer(_number_for_switch(parameters["verbose"]), "verbose", at_least=0),
    )


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _check_n_components(parameters: Mapping[str, Any]) -> int:
    """Give the number of shared dimensions to start with."""
    value, most = parameters["n_components"], check_integer(parameters["max_components"], "max_components", at_least=1)
    if _is_auto(value):
        return most
    if isinstance(value, str):
        raise ValueError(f"n_components must be an integer of at least 1, or 'auto'. Got {value!r}.")
    return check_integer(value, "n_components", at_least=1)


def _check_compress(value: Any) -> float | None:
    """Give the share of the noise's energy that views may lose; None if they are not to be compressed."""
    if _is_auto(value):
        return AUTO_SHARE
    if value is None:
        return None
    if isinstance(value, str):
        raise ValueError(f"compress must be 'auto', None, or a number above 0 and below 1. Got {value!r}.")
    return check_probability(value, "compress")


def _check_memory_budget(value: Any) -> float:
    return defaults.MEMORY_BUDGET if value is None else check_number(value, "memory_budget", positive=True)


def _number_for_switch(value: Any) -> Any:
    """Let True and False stand for 1 and 0."""
    return int(value) if isinstance(value, bool) else value


def check_view_options(parameters: Mapping[str, Any], kernel: Any, names: Sequence[str]) -> dict[str, ViewOptions]:
    """Check the parameters that may differ from view to view.

    Args:
        parameters: parameter name -> value.
        kernel: the kernel of every view, or view name -> kernel.
        names: the views.
    """
    kernels = per_view(kernel, names, "kernel")
    n_mixtures = per_view(parameters["n_mixtures"], names, "n_mixtures")
    scales = per_view(parameters["scale"], names, "scale")
    weights = per_view(parameters["view_weights"], names, "view_weights")
    options = {
        name: ViewOptions(
            kernel=check_choice(kernels[name], "kernel", tuple(MIXTURES)),
            n_mixtures=check_integer(n_mixtures[name], "n_mixtures", at_least=1),
            scale=check_choice(scales[name], "scale", SCALES),
            weight=1.0 if weights[name] is None else check_number(weights[name], "view_weights", positive=False),
        )
        for name in names
    }
    if not any(view.weight for view in options.values()):
        raise ValueError(
            "view_weights must be positive for some view. Got zeros alone. Leave it out to count all views."
        )
    return options


def check_dimensions(
    options: FitOptions,
    view_options: Mapping[str, ViewOptions],
    parameters: Mapping[str, Any],
    Ys: Mapping[str, Float[Tensor, "N _"]],
) -> Dimensions:
    """Resolve the latent dimensions for the views at hand.

    Args:
        options: how many all views share; if it is for us to find out, at most how many.
        view_options: the views' settings.
        parameters: parameter name -> value; `n_private` and `init` are looked at.
        Ys: view name -> scaled view.

    Raises:
        ValueError: `n_private` is no dict of integers, names a view that does not exist or one of weight zero.
        ViewError: a view is to have more dimensions of its own than columns.
    """
    private = _check_private(parameters["n_private"], {name: Y.shape[1] for name, Y in Ys.items()})
    for name in private:
        if view_options[name].weight == 0:
            raise ValueError(
                f"n_private gives view '{name}' dimensions of its own, but view_weights gives it no say in them. "
                "Give it a positive weight, or no private dimensions."
            )
    dimensions = Dimensions(options.n_components, private)
    if options.prune and isinstance(parameters["init"], str):
        return _as_many_as_can_start(dimensions, {name: Y for name, Y in Ys.items() if view_options[name].weight})
    return dimensions


def _as_many_as_can_start(dimensions: Dimensions, Ys: Mapping[str, Float[Tensor, "N _"]]) -> Dimensions:
    """Lower the number of shared dimensions to what the views have directions for, beside their private ones."""
    matrices, most = list(Ys.values()), dimensions.n_shared
    dimensions = replace(dimensions, n_shared=max(1, min(most, numerical_rank(matrices, most))))
    return reduce_shared_dimensions(matrices, list(Ys), dimensions) if dimensions.private else dimensions


def _check_private(n_private: Any, n_columns: Mapping[str, int]) -> dict[str, int]:
    """Give the private dimensions of views that have some."""
    names = list(n_columns)
    if n_private is not None and not isinstance(n_private, Mapping):
        raise ValueError(
            "n_private must be None, or a dict of view names and numbers of dimensions. "
            f"Got {n_private!r}. The views are: {', '.join(names)}."
        )
    given = dict(n_private or {})
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(
            f"n_private must name views. Got {', '.join(map(repr, unknown))}. The views are: {', '.join(names)}."
        )
    private = {name: check_integer(given[name], "n_private", at_least=0) for name in names if name in given}
    for name, k in private.items():
        if k > n_columns[name]:
            raise ViewError(
                f"n_private gives view '{name}' {k} dimensions of its own, more than its {n_columns[name]} column(s). "
                f"Give it at most {n_columns[name]}."
            )
    return {name: k for name, k in private.items() if k}
