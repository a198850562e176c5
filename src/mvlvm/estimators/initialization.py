"""The third stage of a fit: initial latents, and an untrained model that starts from them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.errors import NumericalError, ViewWarning, warn
from mvlvm.estimators.options import FitOptions, resolve_dimensions
from mvlvm.estimators.preprocessing import ScaledViews, zero_weight_rows
from mvlvm.estimators.train import count_entries, train_model
from mvlvm.init.graph_embedding import graph_init
from mvlvm.init.pca import rotated_pca_init, values_for_init
from mvlvm.init.private import private_init
from mvlvm.models.data import ViewData, samples_without_entries
from mvlvm.models.multiview import Dimensions, MultiViewLVM, ViewPlan, build_model, init_states, states_of, with_states
from mvlvm.models.state import StateSettings
from mvlvm.models.views import ModelView
from mvlvm.randomness import Stream, make_generator
from mvlvm.training.history import History, StopReason
from mvlvm.training.interrupts import Interrupts
from mvlvm.training.steps import TrainState

# Values of the parameter `init` besides an array, and the value of `init_` if it was one.
PCA, AUTO, ARRAY = "pca", "auto", "array"
INITS = (PCA, "spectral", "neighbors", AUTO)
_CHOICES = ", ".join(map(repr, INITS))
# Initial latents more prior standard deviations away than this are in the wrong units.
_MAX_DISTANCE = 1e3
# Steps of a trial, and the number of its last steps over which the bound is averaged.
TRIAL_STEPS = 100
_AVERAGED_STEPS = 20


@dataclass(frozen=True)
class InitialModel:
    """An untrained model and the data to train it on.

    Attributes:
        model: its modules.
        views: the views with their data and their states before training.
        dimensions: which view depends on which latent dimensions.
        init: name of the initialisation.
        interrupted: the history of the model, if an interrupt of the trials ended its training; otherwise None.
    """

    model: MultiViewLVM
    views: Mapping[str, ModelView]
    dimensions: Dimensions
    init: str
    interrupted: History | None = None


class Trial(NamedTuple):
    """A short training from one of several initialisations.

    Attributes:
        init: name of the initialisation.
        bound: in nats per entry, the average over the last steps.
        model: the model after these steps.
        views: its views.
        state: its training state.
    """

    init: str
    bound: float
    model: MultiViewLVM
    views: Mapping[str, ModelView]
    state: TrainState


def initialize(
    views: ScaledViews, options: FitOptions, generator: torch.Generator, interrupts: Interrupts | None = None
) -> InitialModel:
    """Build an untrained model with initial latents; of several initialisations, the one with the best bound.

    Args:
        views: the scaled views.
        options: of the fit.
        generator: draws the initial parameters of the mixtures; training continues with it.
        interrupts: an interrupt of the trials ends the training, and the best model so far is returned.

    Raises:
        KeyboardInterrupt: there was an interrupt before the first step of a trial had ended.
    """
    values = {name: values_for_init(Y, views.likelihoods[name]) for name, Y in views.arrays.items()}
    dimensions = resolve_dimensions(options, values)
    influential = {name: values[name] for name in options.influential}
    candidates = initial_latents(options.init, influential, dimensions, generator.initial_seed())
    data = {name: ViewData.from_array(Y, views.sample_weight) for name, Y in views.arrays.items()}
    plans = {
        name: ViewPlan(view.kernel, view.n_mixtures, views.likelihoods[name], data[name].missing is None)
        for name, view in options.views.items()
    }
    empty = samples_without_entries(data.values(), len(views))

    settings = state_settings(options)

    def build(name: str, generator: torch.Generator) -> tuple[MultiViewLVM, dict[str, ModelView]]:
        mean = candidates[name].to(options.dtype)
        model = build_model(mean, plans, n_points=options.n_points, generator=generator, dimensions=dimensions)
        model.latent.set_sample_weight(views.sample_weight)
        model.latent.reset_to_prior(empty)
        modules, weights = model.modules_by_view, {name: view.weight for name, view in options.views.items()}
        return model, {name: ModelView(modules[name], data[name], weight=weights[name]) for name in data}

    _warn_of_empty_rows(len(empty) - len(zero_weight_rows(views.sample_weight)))
    init = next(iter(candidates))
    if len(candidates) > 1:
        init, interrupted = choose_init(list(candidates), build, options, generator, interrupts or Interrupts())
        if interrupted is not None:
            return InitialModel(interrupted.model, interrupted.views, dimensions, init, interrupted.state.history)
    model, model_views = build(init, generator)
    return InitialModel(model, init_states(model_views, settings), dimensions, init)


def initial_latents(
    init: Any, Ys: Mapping[str, Float[Tensor, "N _"]], dimensions: Dimensions, seed: int
) -> dict[str, Float[Tensor, "N D"]]:
    """Return initial latent means by name; several if `init` is "auto".

    Args:
        init: "pca", "spectral", "neighbors", "auto", or an array of the shared or of all dimensions.
        Ys: view name -> scaled view, centred.
        dimensions: which view depends on which latent dimensions.
        seed: of initialisations that draw random numbers.
    """
    names, matrices = list(Ys), list(Ys.values())
    if isinstance(init, str) and init in INITS:
        kinds = [init] if init != AUTO else [kind for kind in INITS if kind != AUTO]
        return _latents_by_kind(kinds, matrices, names, dimensions, seed)
    mean = torch.as_tensor(_check_array(init, len(matrices[0]), dimensions), device=matrices[0].device)
    return {ARRAY: _add_private(mean, matrices, names, dimensions)}


def choose_init(
    names: Sequence[str],
    build: Callable[[str, torch.Generator], tuple[MultiViewLVM, dict[str, ModelView]]],
    options: FitOptions,
    generator: torch.Generator,
    interrupts: Interrupts,
) -> tuple[str, Trial | None]:
    """Return the name of the initialisation with the best bound after a short training.

    All trials make the same draws, and so does the training that follows: a fit with a chosen initialisation equals the
    fit with this initialisation.

    Args:
        names: of the initialisations.
        build: returns an untrained model for an initialisation, and its views without states.
        options: of the fit.
        generator: of the training to come; its state does not change.
        interrupts: an interrupt ends the trials.

    Returns:
        The name, and its trial if the trials were interrupted.

    Raises:
        KeyboardInterrupt: there was an interrupt before the first step of a trial had ended.
    """
    trial = replace(options, max_iter=min(TRIAL_STEPS, options.max_iter), tol=0.0, verbose=0)
    bounds: dict[str, float] = {}
    best, states, interrupted = None, None, False
    try:
        for name in names:
            interrupts.raise_if_requested()
            draws = torch.Generator(generator.device).set_state(generator.get_state())
            model, views = build(name, draws)
            if states is None:  # the same for all
                states = states_of(init_states(views, state_settings(options)))
            views = with_states(views, states)
            try:
                state = train_model(model, views, trial, draws, interrupts)
            except NumericalError:  # another initialisation may succeed; if none does, training raises the error
                continue
            bounds[name] = fmean(state.history.bound[-_AVERAGED_STEPS:]) / count_entries(views)
            if best is None or bounds[name] > best.bound:
                best = Trial(name, bounds[name], model, with_states(views, state.view_states), state)
            if state.history.stop_reason is StopReason.INTERRUPTED:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        if best is None:
            raise
        interrupted = True
        best.state.history.stop_reason = StopReason.INTERRUPTED
    init = names[0] if best is None else best.init
    if options.verbose:
        tried = ", ".join(f"{name} {bound:.4g}" for name, bound in bounds.items())
        print(f"Initialisation: {init} (bound in nats per entry after {trial.max_iter} steps: {tried})")
    return init, best if interrupted else None


def _latents_by_kind(
    kinds: Sequence[str],
    matrices: Sequence[Float[Tensor, "N _"]],
    names: Sequence[str],
    dimensions: Dimensions,
    seed: int,
) -> dict[str, Float[Tensor, "N D"]]:
    latents = {}
    if PCA in kinds:
        latents[PCA] = (
            private_init(matrices, names, dimensions)
            if dimensions.private
            else rotated_pca_init(matrices, dimensions.n_shared)
        )
    graph_kinds = [kind for kind in kinds if kind != PCA]
    if graph_kinds:
        generator = make_generator(seed, Stream.INITIALISATION)
        for kind, shared in graph_init(graph_kinds, matrices, dimensions.n_shared, generator).items():
            latents[kind] = _add_private(shared, matrices, names, dimensions)
    return latents


def _add_private(
    mean: Float[Tensor, "N _"], matrices: Sequence[Float[Tensor, "N _"]], names: Sequence[str], dimensions: Dimensions
) -> Float[Tensor, "N D"]:
    """Append the private dimensions to latents that lack them."""
    return private_init(matrices, names, dimensions, shared=mean) if mean.shape[1] < dimensions.total else mean


def _check_array(init: Any, n_samples: int, dimensions: Dimensions) -> Float[np.ndarray, "N _"]:
    """Validate an array of initial latents."""
    expected = (n_samples, dimensions.n_shared)
    wanted = f"init must be {_CHOICES} or an array of shape {expected}."
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


def state_settings(options: FitOptions) -> StateSettings:
    """Return how the states of views are made before training."""
    return StateSettings(options.dtype, options.compress, options.memory_budget)


def _warn_of_empty_rows(n_empty: int) -> None:
    if n_empty:
        warn(
            f"There are {n_empty} row(s) without an entry in any view. Their latents stay at the prior, mean 0 and "
            "standard deviation 1. Drop them if they are not needed.",
            ViewWarning,
        )
