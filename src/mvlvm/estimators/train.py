"""Training a model as the user asked for it, with progress shown and an unfinished end said aloud.

Training that takes away latent dimensions which no view uses, until all that are left are used.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import torch

from mvlvm.errors import ConvergenceWarning, ViewWarning
from mvlvm.estimators.options import FitOptions, ViewOptions
from mvlvm.evidence.elbo import WeightedElbo
from mvlvm.models.conditioning import n_latent_draws_for
from mvlvm.models.data import ObservedView
from mvlvm.models.diagnostics import ExpectedView, keep_dimensions, used_dimensions
from mvlvm.models.multiview import Dimensions, MultiViewLVM
from mvlvm.models.weight_posterior import ViewFunction
from mvlvm.training.history import History, StopReason
from mvlvm.training.loop import train
from mvlvm.training.progress import progress_bar, silent
from mvlvm.training.schedule import TrainConfig


def train_model(
    model: MultiViewLVM,
    views: Sequence[ObservedView],
    options: FitOptions,
    view_options: Mapping[str, ViewOptions],
    generator: torch.Generator,
) -> History:
    """Train a model on scaled views.

    The tolerance is given per observed entry, so that it means the same for large and small data sets.
    """
    # a view of weight zero learns its own kernel and noise at full weight, from latents that others have placed
    mute = {name for name, view in view_options.items() if view.weight == 0}
    weights = torch.tensor(
        [view.weight or 1.0 for view in view_options.values()], dtype=torch.float64, device=options.device
    )

    def objective(generator: torch.Generator) -> WeightedElbo:
        elbo = model.elbo(views, generator, n_draws=options.n_draws, mute=mute)
        return WeightedElbo(elbo, weights, options.latent_kl_weight)

    config = TrainConfig(
        max_iter=options.max_iter, learning_rate=options.learning_rate, tol=options.tol * count_entries(model, views)
    )  # fmt: skip
    show = progress_bar(options.max_iter, "Training") if options.verbose else nullcontext(silent)
    with show as watch:
        settle = partial(model.settle, views)
        return train(model.parameters(), objective, config, generator, watch=watch, settle=settle)


def count_entries(model: MultiViewLVM, views: Sequence[ObservedView]) -> int:
    """Give the number of observed entries of all views; a class is one."""
    pairs = zip(model.feature_views, views, strict=True)
    return sum(view.likelihood.count_entries(seen.entries) for view, seen in pairs)


def warn_of_empty_rows(n_empty: int) -> None:
    """Say how many rows have no entry in any view."""
    if n_empty:
        warnings.warn(
            f"There are {n_empty} row(s) without an entry in any view. Their latents stay at the prior, mean 0 and "
            "standard deviation 1. Drop them if they tell you nothing.",
            ViewWarning,
            stacklevel=4,
        )


def warn_if_unfinished(history: History, options: FitOptions, n_entries: int) -> None:
    """Say that training ended before the bound was flat.

    Args:
        history: of the last round.
        options: what was asked for.
        n_entries: how many were observed.
    """
    steps, rise_per_entry = len(history.bound), history.last_rise / n_entries
    if history.stop_reason is StopReason.INTERRUPTED:
        warnings.warn(
            f"Training was interrupted after {steps} of {options.max_iter} steps. The model as it was then is kept and "
            "can be used.",
            ConvergenceWarning,
            stacklevel=4,
        )
    elif history.stop_reason is StopReason.MAX_ITER and rise_per_entry > options.tol > 0:
        known = math.isfinite(rise_per_entry)
        judged = f"it last rose by {rise_per_entry:.2g} nats per entry" if known else "the run was too short to tell"
        warnings.warn(
            f"Training reached max_iter={options.max_iter} before the bound was flat to tol={options.tol:g}: {judged}. "
            "Raise max_iter, raise tol, or give tol=0 if this many steps is what you want.",
            ConvergenceWarning,
            stacklevel=4,
        )


def fit_and_prune(
    model: MultiViewLVM,
    views: Sequence[ObservedView],
    options: FitOptions,
    view_options: Mapping[str, ViewOptions],
    dimensions: Dimensions,
    generator: torch.Generator,
) -> tuple[History, Dimensions]:
    """Train; if the number of dimensions is to be found, take away those that no view uses, and go on.

    Private dimensions were asked for one by one, and stay.

    Returns:
        The course of all rounds, and the dimensions that were kept.
    """
    history = last = train_model(model, views, options, view_options, generator)
    while options.prune and last.stop_reason is not StopReason.INTERRUPTED:
        functions = _rough_functions(model, views, generator)
        kept = used_dimensions(functions, model.latent, views)
        kept[dimensions.n_shared :] = True
        kept[0] |= not kept[: dimensions.n_shared].any()
        if kept.all():
            break
        keep_dimensions(model, kept)
        dimensions = replace(dimensions, n_shared=int(kept[: dimensions.n_shared].sum()))
        last = train_model(model, views, options, view_options, generator)
        history.go_on(last)
    warn_if_unfinished(last, options, count_entries(model, views))
    return history, dimensions


@torch.no_grad()
def _rough_functions(
    model: MultiViewLVM, views: Sequence[ObservedView], generator: torch.Generator
) -> list[ExpectedView]:
    """Give what is expected of every view, for one draw of its spectral points."""
    posteriors = [
        view.infer_weights(
            model.latent, seen, n_latent_draws=n_latent_draws_for(len(model.latent.mean)), generator=generator
        )
        for view, seen in zip(model.feature_views, views, strict=True)
    ]
    return [
        ViewFunction((posterior,), view.likelihood).entries
        for view, posterior in zip(model.feature_views, posteriors, strict=True)
    ]
