"""The third stage of a fit: the model to train, and the initial latents to start from."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import clone
from torch import Tensor

from mvlvm.errors import ViewWarning, warn
from mvlvm.estimators.fit_snapshot import Snapshot, unpack_fit
from mvlvm.estimators.fit_state import FitState, begin_fit
from mvlvm.estimators.objective_terms import objective_terms
from mvlvm.estimators.options import FitOptions, resolve_dimensions, with_weights
from mvlvm.estimators.preprocessing import ScaledViews, zero_weight_rows
from mvlvm.estimators.problem import Problem, make_problem
from mvlvm.init.initializations import (
    ALIASES,
    CUSTOM,
    INITIALIZATIONS,
    InitViews,
    Transformer,
    initial_means,
    is_custom,
    with_private,
)
from mvlvm.init.pca import values_for_init
from mvlvm.init.tsne import no_progress
from mvlvm.models.multiview import Dimensions
from mvlvm.randomness import Stream, make_generator
from mvlvm.training.progress import row_bar
from mvlvm.views.balance import balance_views

# Value of the parameter `init` that tries all initialisations, and the value of `init_` if it was an array.
AUTO, ARRAY = "auto", "array"
# Initial latents more prior standard deviations away than this are in the wrong units.
_MAX_DISTANCE = 1e3


def initialize(
    views: ScaledViews, options: FitOptions, seed: int, snapshot: Snapshot | None = None
) -> tuple[Problem, FitState]:
    """Return the model to train, and the state to start from.

    Args:
        views: the scaled views.
        options: of the fit.
        seed: of all random draws.
        snapshot: of a fit to the same views with the same options and seed, to continue; None computes initial latents.
    """
    values = {name: values_for_init(Y, views.likelihoods[name]) for name, Y in views.arrays.items()}
    norms = None
    if options.balance:
        generator = make_generator(seed, Stream.BALANCE)
        weights, norms = balance_views(values, views.likelihoods, generator)
        options = with_weights(options, weights)
    dimensions = resolve_dimensions(options, values)
    arrays, progress = {name: values[name] for name in options.influential}, row_bar if options.verbose else no_progress
    influential = InitViews(arrays, dimensions, seed, norms, progress)
    problem = make_problem(views, dimensions, objective_terms(influential, options), options, seed)
    if snapshot is not None:
        return problem, unpack_fit(problem, snapshot)
    latents = initial_latents(options.init, influential)
    _warn_of_empty_rows(len(problem.empty_rows) - len(zero_weight_rows(views.sample_weight)))
    return problem, begin_fit(problem, latents)


def initial_latents(init: Any, views: InitViews) -> dict[str, Float[Tensor, "N D"]]:
    """Return initial latent means by name; several if `init` is "auto".

    Args:
        init: the name of an initialisation, "auto", an array of the shared or of all dimensions, or a callable or a
            transformer that computes the shared dimensions.
        views: the views that influence the latents.
    """
    init = ALIASES.get(init, init) if isinstance(init, str) else init
    if isinstance(init, str) and init in INITIALIZATIONS:
        return {init: initial_means(INITIALIZATIONS[init], views)}
    if isinstance(init, str) and init == AUTO:
        first, *others = INITIALIZATIONS.values()
        tried = [first, *(kind for kind in others if kind.is_applicable(views))]
        return {kind.name: initial_means(kind, views) for kind in tried}
    if is_custom(init):
        return {CUSTOM: with_private(custom_latents(init, views), views)}
    Y = next(iter(views.arrays.values()))
    mean = torch.as_tensor(_check_array(init, len(Y), views.dimensions), device=Y.device)
    return {ARRAY: with_private(mean, views)}


def custom_latents(init: Any, views: InitViews) -> Float[Tensor, "N K"]:
    """Return initial means of the shared dimensions by a callable or a transformer, at unit variance.

    It gets the views side by side, each divided by its norm and completed, as one matrix without rows that have no
    entry.

    Raises:
        ValueError: the result has the wrong shape, or values that are not finite.
    """
    matrix, known = views.graph.matrix, views.graph.known_rows
    given = matrix.double().cpu().numpy()
    found = _copy_of(init).fit_transform(given) if isinstance(init, Transformer) else init(given)
    name, expected = getattr(init, "__name__", type(init).__name__), (len(given), views.dimensions.n_shared)
    try:
        mean = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"init={name} must return an array of shape {expected}. Got {type(found).__name__}.") from None
    if mean.shape != expected:
        raise ValueError(
            f"init={name} must return an array of shape {expected}, rows by n_components. Got {mean.shape}."
        )
    if not np.isfinite(mean).all():
        raise ValueError(f"init={name} must return finite values. Got {(~np.isfinite(mean)).sum()} that are not.")
    std = mean.std(axis=0)
    if not (std > 0).all():
        raise ValueError(f"init={name} must return dimensions that vary. Dimension {int(std.argmin())} is constant.")
    latents = matrix.new_zeros((len(known), expected[1]), dtype=torch.float64)
    latents[known] = torch.as_tensor((mean - mean.mean(axis=0)) / std, device=matrix.device)
    return latents


def _copy_of(init: Transformer) -> Transformer:
    """Return an unfitted copy of a transformer."""
    copy: Any = clone(init, safe=False)
    return copy


def _check_array(init: Any, n_samples: int, dimensions: Dimensions) -> Float[np.ndarray, "N _"]:
    """Validate an array of initial latents."""
    expected = (n_samples, dimensions.n_shared)
    choices = ", ".join(map(repr, (*INITIALIZATIONS, AUTO)))
    wanted = f"init must be {choices}, an array of shape {expected}, a callable or a transformer."
    if init is None or isinstance(init, str):
        raise ValueError(f"{wanted} Got {init!r}.")
    try:
        mean = np.asarray(init)
        if mean.dtype.kind not in "iuf":
            raise ValueError(f"its type is {mean.dtype}")
        mean = mean.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{wanted} Got something else: {error}.") from None
    if mean.shape not in (expected, (n_samples, dimensions.total)):
        or_all = f", or {dimensions.total} columns with the private ones" if dimensions.private else ""
        raise ValueError(
            f"init as an array must have shape {expected}, rows by n_components{or_all}. Got {mean.shape}."
        )
    if not (np.abs(mean) <= _MAX_DISTANCE).all():
        raise ValueError(
            f"init as an array must be finite and within {_MAX_DISTANCE:g} of the origin, because the prior of the "
            f"latents has mean 0 and variance 1. Got {(~(np.abs(mean) <= _MAX_DISTANCE)).sum()} entries that are not."
        )
    return mean


def _warn_of_empty_rows(n_empty: int) -> None:
    if n_empty:
        warn(
            f"There are {n_empty} row(s) without an entry in any view. Their latents stay at the prior, mean 0 and "
            "standard deviation 1. Drop them if they are not needed.",
            ViewWarning,
        )
