"""Options of a fit: the constructor's parameters, validated and resolved for the views."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.checks import check_choice, check_integer, check_number, check_probability
from mvlvm.errors import ViewError
from mvlvm.init.pca import numerical_rank
from mvlvm.init.private import reduce_shared_dimensions
from mvlvm.init.tsne import MAX_DIM_INTERPOLATED
from mvlvm.linalg.cpu_arithmetic import PRODUCTS, Arithmetic, choose_arithmetic
from mvlvm.models.compression import AUTO_SHARE
from mvlvm.models.multiview import Dimensions
from mvlvm.models.spectral_mixture import MIXTURES, STATIONARY
from mvlvm.randomness import RandomStateLike
from mvlvm.views.scaling import SCALES, per_view

# Value of the parameter `view_weights`.
BALANCED = "balanced"
# Values of the parameter `schedule`.
CONSTANT, COARSE_TO_FINE = SCHEDULES = ("constant", "coarse-to-fine")


@dataclass(frozen=True, kw_only=True)
class ViewOptions:
    """Options of one view.

    Attributes:
        kernel: the name of its kernel.
        n_mixtures: Q.
        scale: how it is scaled.
        weight: of its evidence in the objective.
    """

    kernel: str
    n_mixtures: int
    scale: Any
    weight: float


@dataclass(frozen=True, kw_only=True)
class TrainingSchedule:
    """The number of spectral points and the learning rate until the bound is flat, and after it.

    Attributes:
        n_first_points: number of points per mixture until the bound is flat; None stands for all.
        rate: learning rate until then.
        hold_steps: number of steps for which the rate is held afterwards, before it decays.
        final_fraction: fraction of the rate at the end of the decay.
    """

    n_first_points: int | None
    rate: float
    hold_steps: int
    final_fraction: float


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Options of a fit.

    Attributes:
        n_components: number of shared latent dimensions to begin with.
        prune: whether dimensions that no view uses are removed.
        n_private: view name -> number of private dimensions, as given; `resolve_dimensions` validates it.
        arithmetic: implementation of float32 products and functions on a CPU.
        init: initialisation as given; `initial_latents` validates it.
        balance: whether the weights of the views' evidences balance them; until the views are scaled, they are one.
        compress: energy that views may lose in training, as a share of the noise's; None for no compression.
        random_state: seed of the fit, as given.
        views: view name -> its options; empty until the views are known.

    The other attributes are the parameters of the estimators.
    """

    n_components: int
    prune: bool
    n_private: Any
    init: Any
    balance: bool
    n_points: int
    schedule_name: str
    max_iter: int
    tol: float
    learning_rate: float
    latent_kl_weight: float
    neighbor_weight: float
    n_draws: int
    n_draws_predict: int
    compress: float | None
    memory_budget: float
    arithmetic: Arithmetic
    device: torch.device
    dtype: torch.dtype
    random_state: RandomStateLike
    verbose: int
    views: Mapping[str, ViewOptions] = field(default_factory=dict)

    @property
    def influential(self) -> list[str]:
        """The views of positive weight, which influence the latents."""
        return [name for name, view in self.views.items() if view.weight]

    @property
    def schedule(self) -> TrainingSchedule:
        """The schedule of points and learning rate.

        Few points determine the latents of a single view too coarsely, a run without a tolerance has no flat bound, and
        a short one has no time for two phases: the number of points is then constant.
        """
        changes = (
            self.schedule_name == COARSE_TO_FINE and len(self.influential) > 1 and self.n_points > defaults.FIRST_POINTS
            and self.tol > 0 and self.max_iter >= 2 * defaults.DECAY_STEPS
        )  # fmt: skip
        factor, hold_steps = (defaults.FIRST_RATE_FACTOR, defaults.HOLD_STEPS) if changes else (1.0, 0)
        return TrainingSchedule(
            n_first_points=defaults.FIRST_POINTS if changes else None,
            rate=factor * self.learning_rate,
            hold_steps=hold_steps,
            final_fraction=defaults.FINAL_LEARNING_RATE_FRACTION / factor,
        )


def check_fit_options(parameters: Mapping[str, Any]) -> FitOptions:
    """Validate the constructor's parameters that do not depend on the views.

    Args:
        parameters: parameter name -> value, as returned by `get_params`.
    """
    return FitOptions(
        n_components=_check_n_components(parameters),
        prune=_is_auto(parameters["n_components"]),
        n_private=parameters["n_private"],
        init=parameters["init"],
        balance=_is_balanced(parameters["view_weights"]),
        n_points=check_integer(parameters["n_points"], "n_points", at_least=1),
        schedule_name=check_choice(parameters["schedule"], "schedule", SCHEDULES),
        max_iter=check_integer(parameters["max_iter"], "max_iter", at_least=1),
        tol=check_number(parameters["tol"], "tol", positive=False),
        learning_rate=check_number(parameters["learning_rate"], "learning_rate", positive=True),
        latent_kl_weight=check_number(parameters["latent_kl_weight"], "latent_kl_weight", positive=False),
        neighbor_weight=_check_neighbor_weight(parameters["neighbor_weight"]),
        n_draws=check_integer(parameters["n_draws"], "n_draws", at_least=1),
        n_draws_predict=check_integer(parameters["n_draws_predict"], "n_draws_predict", at_least=1),
        compress=_check_compress(parameters["compress"]),
        memory_budget=_check_memory_budget(parameters["memory_budget"]),
        arithmetic=_check_arithmetic(parameters),
        device=check_device(parameters["device"]),
        dtype=check_dtype(parameters["dtype"]),
        random_state=parameters["random_state"],
        verbose=check_integer(_switch_to_integer(parameters["verbose"]), "verbose", at_least=0),
    )


def with_view_options(options: FitOptions, parameters: Mapping[str, Any], names: Sequence[str]) -> FitOptions:
    """Validate the parameters that may differ between views, and add them to the options.

    Args:
        options: the other options.
        parameters: parameter name -> value; without `kernel`, the kernel is stationary.
        names: the views.
    """
    kernels = per_view(parameters.get("kernel", STATIONARY), names, "kernel")
    n_mixtures = per_view(parameters["n_mixtures"], names, "n_mixtures")
    scales = per_view(parameters["scale"], names, "scale")
    weights = per_view(None if options.balance else parameters["view_weights"], names, "view_weights")
    views = {
        name: ViewOptions(
            kernel=check_choice(kernels[name], "kernel", tuple(MIXTURES)),
            n_mixtures=check_integer(n_mixtures[name], "n_mixtures", at_least=1),
            scale=check_choice(scales[name], "scale", SCALES),
            weight=_check_weight(weights[name]),
        )
        for name in names
    }
    if not any(view.weight for view in views.values()):
        raise ValueError(
            "view_weights must be positive for at least one view. Got only zeros. Omit it to weight all views equally."
        )
    return replace(options, views=views)


def _is_balanced(value: Any) -> bool:
    return isinstance(value, str) and value == BALANCED


def _check_weight(value: Any) -> float:
    if isinstance(value, str):
        raise ValueError(
            f"view_weights must be None, {BALANCED!r}, or a dict of view names and non-negative numbers. Got {value!r}."
        )
    return 1.0 if value is None else check_number(value, "view_weights", positive=False)


def with_weights(options: FitOptions, weights: Mapping[str, float]) -> FitOptions:
    """Return options with weights of the views' evidences."""
    return replace(options, views={name: replace(view, weight=weights[name]) for name, view in options.views.items()})


def check_device(value: Any) -> torch.device:
    """Return the device to compute on; "auto" is a GPU if one is available."""
    if isinstance(value, str) and value == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(value)
    except (RuntimeError, TypeError):
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda'. Got {value!r}.")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device={value!r} needs a CUDA GPU, but torch finds none. Use device='cpu' or 'auto'.")
    return device


def check_dtype(value: Any) -> torch.dtype:
    """Return the precision of the features; factorisations are float64 in either case."""
    return {"auto": torch.float32, "float64": torch.float64}[check_choice(value, "dtype", ("auto", "float64"))]


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _check_n_components(parameters: Mapping[str, Any]) -> int:
    """Return the number of shared dimensions to begin with."""
    value, most = parameters["n_components"], check_integer(parameters["max_components"], "max_components", at_least=1)
    if _is_auto(value):
        return most
    if isinstance(value, str):
        raise ValueError(f"n_components must be an integer of at least 1, or 'auto'. Got {value!r}.")
    return check_integer(value, "n_components", at_least=1)


def _check_neighbor_weight(value: Any) -> float:
    if _is_auto(value):
        return defaults.NEIGHBOR_WEIGHT
    if isinstance(value, str):
        raise ValueError(f"neighbor_weight must be a non-negative number, or 'auto'. Got {value!r}.")
    return check_number(value, "neighbor_weight", positive=False)


def _check_compress(value: Any) -> float | None:
    if _is_auto(value):
        return AUTO_SHARE
    if value is None:
        return None
    if isinstance(value, str):
        raise ValueError(f"compress must be 'auto', None, or a number above 0 and below 1. Got {value!r}.")
    return check_probability(value, "compress")


def _check_memory_budget(value: Any) -> float:
    return defaults.MEMORY_BUDGET if value is None else check_number(value, "memory_budget", positive=True)


def _check_arithmetic(parameters: Mapping[str, Any]) -> Arithmetic:
    """Return the implementation of products on a CPU; a GPU always uses torch."""
    products = check_choice(parameters["matmul_backend"], "matmul_backend", PRODUCTS)
    return Arithmetic() if check_device(parameters["device"]).type == "cuda" else choose_arithmetic(products)


def _switch_to_integer(value: Any) -> Any:
    """Convert True and False to 1 and 0."""
    return int(value) if isinstance(value, bool) else value


def resolve_dimensions(options: FitOptions, Ys: Mapping[str, Float[Tensor, "N _"]]) -> Dimensions:
    """Determine the latent dimensions for the given views.

    Args:
        options: the number of shared dimensions, or the maximum if unused ones are pruned.
        Ys: view name -> scaled view.

    Raises:
        ValueError: `n_private` is not a dict of integers, or names an unknown view or one of weight zero.
        ViewError: a view has fewer columns than private dimensions.
    """
    private = _check_private(options.n_private, {name: Y.shape[1] for name, Y in Ys.items()})
    for name in private:
        if options.views[name].weight == 0:
            raise ValueError(
                f"n_private assigns private dimensions to view '{name}', but its weight in view_weights is zero, so it "
                "does not influence the latents. Give it a positive weight, or no private dimensions."
            )
    if options.neighbor_weight and (options.n_components > MAX_DIM_INTERPOLATED or options.prune):
        given = "n_components='auto'" if options.prune else f"n_components={options.n_components}"
        raise ValueError(
            f"neighbor_weight={options.neighbor_weight:g} preserves the neighbourhoods of a map, and needs "
            f"n_components of 1 or 2. Got {given}. Use two dimensions, or neighbor_weight=0."
        )
    dimensions = Dimensions(options.n_components, private)
    if options.prune and isinstance(options.init, str):
        return _limit_to_rank(dimensions, {name: Ys[name] for name in options.influential})
    return dimensions


def _limit_to_rank(dimensions: Dimensions, Ys: Mapping[str, Float[Tensor, "N _"]]) -> Dimensions:
    """Reduce the number of shared dimensions to the rank that the views leave beside their private ones."""
    matrices, most = list(Ys.values()), dimensions.n_shared
    dimensions = replace(dimensions, n_shared=max(1, min(most, numerical_rank(matrices, most))))
    return reduce_shared_dimensions(matrices, list(Ys), dimensions) if dimensions.private else dimensions


def _check_private(n_private: Any, n_columns: Mapping[str, int]) -> dict[str, int]:
    """Return view name -> number of private dimensions, for views that have some."""
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
                f"n_private assigns {k} private dimensions to view '{name}', which has only {n_columns[name]} "
                f"column(s). Use at most {n_columns[name]}."
            )
    return {name: k for name, k in private.items() if k}
