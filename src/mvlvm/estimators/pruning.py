"""Training that takes away latent dimensions which no view uses, until all that are left are used."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from mvlvm.estimators.fitting import count_entries, train_model, warn_if_unfinished
from mvlvm.estimators.options import FitOptions, ViewOptions
from mvlvm.models.complete_weights import n_latent_draws_for
from mvlvm.models.explained import ExpectedView
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.models.observed import ObservedView
from mvlvm.models.private import Dimensions
from mvlvm.models.pruning import keep_dimensions, used_dimensions
from mvlvm.models.view_function import ViewFunction
from mvlvm.training.history import History, StopReason


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
