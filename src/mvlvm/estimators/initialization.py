"""Where the latents start, from what the user said about it.

Choosing where to start: every start is trained for a while, and the one with the best bound is kept.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.errors import NumericalError
from mvlvm.estimators.options import FitOptions, ViewOptions
from mvlvm.estimators.train import count_entries, train_model
from mvlvm.init.graph_embedding import graph_init
from mvlvm.init.pca import rotated_pca_init
from mvlvm.init.private import private_init
from mvlvm.models.data import ObservedView
from mvlvm.models.multiview import Dimensions, MultiViewLVM
from mvlvm.randomness import Stream, make_generator
from mvlvm.training.history import StopReason

# What a user can give for `init` beside an array, and how a start is called that was one.
PCA, AUTO, GIVEN = "pca", "auto", "array"
STARTS = (PCA, "spectral", "neighbors", AUTO)
_CHOICES = ", ".join(map(repr, STARTS))

# A start this many prior standard deviations away is a mistake of units.
_FARTHEST = 1e3


def starting_latents(
    init: Any, Ys: Mapping[str, Float[Tensor, "N _"]], dimensions: Dimensions, seed: int
) -> dict[str, Float[Tensor, "N D"]]:
    """Give the latent means to start from, by name; there are several to choose from if `init` is "auto".

    Args:
        init: "pca", "spectral", "neighbors", "auto", or the means themselves as an array: of the shared dimensions, or
            of all.
        Ys: view name -> scaled view.
        dimensions: which view sees which.
        seed: of starts that draw.
    """
    names, matrices = list(Ys), list(Ys.values())
    if isinstance(init, str) and init in STARTS:
        kinds = [init] if init != AUTO else [kind for kind in STARTS if kind != AUTO]
        return _by_kind(kinds, matrices, names, dimensions, seed)
    start = torch.as_tensor(_checked_array(init, len(matrices[0]), dimensions), device=matrices[0].device)
    return {GIVEN: _with_private(start, matrices, names, dimensions)}


def _by_kind(
    kinds: Sequence[str],
    matrices: Sequence[Float[Tensor, "N _"]],
    names: Sequence[str],
    dimensions: Dimensions,
    seed: int,
) -> dict[str, Float[Tensor, "N D"]]:
    starts = {}
    if PCA in kinds:
        own = dimensions.private
        starts[PCA] = (
            private_init(matrices, names, dimensions) if own else rotated_pca_init(matrices, dimensions.n_shared)
        )
    of_graph = [kind for kind in kinds if kind != PCA]
    if of_graph:
        generator = make_generator(seed, Stream.INITIALISATION)
        for kind, shared in graph_init(of_graph, matrices, dimensions.n_shared, generator).items():
            starts[kind] = _with_private(shared, matrices, names, dimensions)
    return starts


def _with_private(
    start: Float[Tensor, "N _"], matrices: Sequence[Float[Tensor, "N _"]], names: Sequence[str], dimensions: Dimensions
) -> Float[Tensor, "N D"]:
    """Add the private dimensions to a start that has none of them."""
    return private_init(matrices, names, dimensions, shared=start) if start.shape[1] < dimensions.total else start


def _checked_array(init: Any, n_samples: int, dimensions: Dimensions) -> Float[np.ndarray, "N _"]:
    """Give the user's start as numbers, or say why it cannot be used."""
    expected = (n_samples, dimensions.n_shared)
    wanted = f"init must be {_CHOICES} or an array of shape {expected}."
    if init is None or isinstance(init, str):
        raise ValueError(f"{wanted} Got {init!r}.")
    try:
        start = np.asarray(init)
        if start.dtype.kind not in "iuf":
            raise ValueError(f"its type is {start.dtype}")
        start = start.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"init must be {_CHOICES} or an array of shape {expected}. Got something else: {error}."
        ) from None
    if start.shape not in (expected, (n_samples, dimensions.total)):
        or_all = f", or {dimensions.total} columns with the private ones" if dimensions.private else ""
        raise ValueError(
            f"init as an array must have shape {expected}, rows by n_components{or_all}. Got {start.shape}."
        )
    if not (np.abs(start) <= _FARTHEST).all():
        raise ValueError(
            f"init as an array must be finite and within {_FARTHEST:g} of the origin, because the latents' prior has "
            f"mean 0 and variance 1. Got {(~(np.abs(start) <= _FARTHEST)).sum()} entries that are not."
        )
    return start


# Steps of a trial, and how many of its last ones its bound is averaged over.
TRIAL_STEPS = 100
_LAST_STEPS = 20


def choose_start(
    names: Sequence[str],
    model_from: Callable[[str, torch.Generator], MultiViewLVM],
    seen: Sequence[ObservedView],
    options: FitOptions,
    view_options: Mapping[str, ViewOptions],
    generator: torch.Generator,
) -> str:
    """Give the name of the start whose bound is best after a short training. Nothing of the trials is kept.

    All trials make the same draws, and so does the training that follows: a fit whose start was chosen is the fit from
    that start.

    Args:
        names: of the starts; if there is but one, nothing is tried.
        model_from: gives an untrained model for a start.
        seen: what was seen of every view.
        options: the settings that all views share.
        view_options: the settings of every view.
        generator: of the training to come; it is left as it is.
    """
    if len(names) == 1:
        return names[0]
    trial = replace(options, max_iter=min(TRIAL_STEPS, options.max_iter), tol=0.0, verbose=0)
    bounds: dict[str, float] = {}
    for name in names:
        same = torch.Generator(generator.device).set_state(generator.get_state())
        model, views = model_from(name, same), [copy(view) for view in seen]
        try:
            history = train_model(model, views, trial, view_options, same)
        except NumericalError:  # another start may be better off; if none is, training will say so
            continue
        if history.bound:
            bounds[name] = fmean(history.bound[-_LAST_STEPS:]) / count_entries(model, seen)
        if history.stop_reason is StopReason.INTERRUPTED:
            break
    best = max(bounds, key=bounds.__getitem__, default=names[0])
    if options.verbose:
        tried = ", ".join(f"{name} {bound:.4g}" for name, bound in bounds.items())
        print(f"Start: {best} (bound in nats per entry after {trial.max_iter} steps: {tried})")
    return best
