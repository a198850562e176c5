"""Choosing where to start: every start is trained for a while, and the one with the best bound is kept."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from statistics import fmean

import torch

from mvlvm.errors import NumericalError
from mvlvm.estimators.fitting import count_entries, train_model
from mvlvm.estimators.options import FitOptions, ViewOptions
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.models.observed import ObservedView
from mvlvm.training.history import StopReason

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
