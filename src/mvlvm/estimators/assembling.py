"""From prepared views to a model that can be trained: numbers in its units, likelihoods, latents to start from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.estimators.initialization import choose_start, starting_latents
from mvlvm.estimators.options import FitOptions, ViewOptions, check_dimensions
from mvlvm.estimators.preprocessing import PreparedViews, choose_scalings
from mvlvm.estimators.train import warn_of_empty_rows
from mvlvm.estimators.weights import Weight, rows_of_no_weight, without_rows_of_no_weight
from mvlvm.init.pca import values_for_init
from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.likelihoods.registry import LIKELIHOODS
from mvlvm.linalg.cuda import Workspace
from mvlvm.models.data import ObservedView, for_training, rows_without_entries
from mvlvm.models.multiview import Dimensions, MultiViewLVM, ViewPlan, build_model
from mvlvm.views.scaling import Scaling


@dataclass(frozen=True)
class ScaledViews:
    """Views in the model's units.

    Attributes:
        arrays: view name -> view; NaN is missing, and all of a row that does not count.
        scalings: view name -> how it came to these units.
        likelihoods: view name -> its likelihood, where training begins.
        weight: how often each row counts; None is once.
    """

    arrays: Mapping[str, Float[Tensor, "N _"]]
    scalings: Mapping[str, Scaling]
    likelihoods: Mapping[str, AbstractLikelihood]
    weight: Weight | None

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def values_for_init(self) -> dict[str, Float[Tensor, "N _"]]:
        """Give every view as a start takes it."""
        return {name: values_for_init(Y, self.likelihoods[name]) for name, Y in self.arrays.items()}


@dataclass(frozen=True)
class Assembly:
    """A model that is to be trained, and what on.

    Attributes:
        model: its modules.
        seen: what was seen of every view, in the order of the modules.
        training: the same as training takes it.
        dimensions: which view sees which latent dimensions.
        init: where the latents start, by name.
    """

    model: MultiViewLVM
    seen: list[ObservedView]
    training: list[ObservedView]
    dimensions: Dimensions
    init: str


def scale_views(
    prepared: PreparedViews, view_options: Mapping[str, ViewOptions], weight: Weight | None, options: FitOptions
) -> ScaledViews:
    """Centre and scale views, and let their likelihoods have a first look at them.

    Args:
        prepared: the views.
        view_options: how each is to be scaled.
        weight: of the rows; those of no weight have no say.
        options: where to put them.
    """
    encoded = prepared.encoded()
    counting = without_rows_of_no_weight(encoded, weight)
    scalings = choose_scalings(prepared, {name: view.scale for name, view in view_options.items()}, encoded, counting)
    Ys = {
        name: _in_memory(scalings[name].apply(Y), prepared.likelihoods[name], options) for name, Y in counting.items()
    }
    likelihoods = {name: LIKELIHOODS[prepared.likelihoods[name]].start(Y) for name, Y in Ys.items()}
    return ScaledViews(Ys, scalings, likelihoods, weight)


def _in_memory(Y: Float[np.ndarray, "N M"], likelihood: str, options: FitOptions) -> Float[Tensor, "N M"]:
    """Put a scaled view where it is needed; in a GPU's memory, which is small, measurements are as fine as features."""
    as_features = options.device.type == "cuda" and LIKELIHOODS[likelihood].real_valued
    return torch.as_tensor(Y).to(options.dtype if as_features else torch.float64).to(options.device)


def assemble(
    views: ScaledViews,
    parameters: Mapping[str, Any],
    options: FitOptions,
    view_options: Mapping[str, ViewOptions],
    generator: torch.Generator,
) -> Assembly:
    """Put an untrained model together, its latents where training begins.

    Args:
        views: what it is for.
        parameters: the constructor's, of which `init` and `n_private` are still to be read.
        options: the settings that all views share.
        view_options: the settings of every view.
        generator: draws where mixtures start.
    """
    values = views.values_for_init()
    dimensions = check_dimensions(options, view_options, parameters, values)
    heard = {name: Y for name, Y in values.items() if view_options[name].weight}
    starts = starting_latents(parameters["init"], heard, dimensions, generator.initial_seed())
    plans = {
        name: ViewPlan(view.kernel, view.n_mixtures, views.likelihoods[name]) for name, view in view_options.items()
    }
    seen = [ObservedView(Y, views.weight, options.memory_budget) for Y in views.arrays.values()]
    empty = rows_without_entries(seen, len(views))

    def model_from(name: str, generator: torch.Generator) -> MultiViewLVM:
        start = starts[name].to(options.dtype)
        model = build_model(start, plans, n_points=options.n_points, generator=generator, dimensions=dimensions)
        model.latent.weigh_rows(views.weight)
        model.latent.rest_at_prior(empty)
        return model

    space = Workspace()
    training = [for_training(view, options.dtype, share=options.compress, space=space) for view in seen]
    init = choose_start(list(starts), model_from, training, options, view_options, generator)
    warn_of_empty_rows(len(empty) - len(rows_of_no_weight(views.weight)))
    return Assembly(model_from(init, generator), seen, training, dimensions, init)
