"""What training is given: the observations, the parts of the model, and options. Training does not change it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mvlvm.estimators.objective_terms import AbstractTerm
from mvlvm.estimators.options import FitOptions
from mvlvm.estimators.preprocessing import SampleWeight, ScaledViews
from mvlvm.models.data import ViewData, samples_without_entries
from mvlvm.models.multiview import Dimensions, MultiViewLVM, ViewPlan, build_model
from mvlvm.models.state import StateSettings, ViewState
from mvlvm.models.views import ModelView, count_entries
from mvlvm.randomness import Stream, make_generator


@dataclass(frozen=True)
class Problem:
    """A model to train.

    Attributes:
        data: view name -> its observations.
        plans: view name -> the parts of its module.
        dimensions: which view depends on which latent dimensions, before pruning.
        terms: name -> a further term of the objective.
        sample_weight: weights of the rows; None stands for ones.
        empty_rows: rows without an observed entry.
        options: of the fit.
        seed: of all random draws.
    """

    data: Mapping[str, ViewData]
    plans: Mapping[str, ViewPlan]
    dimensions: Dimensions
    terms: Mapping[str, AbstractTerm]
    sample_weight: SampleWeight | None
    empty_rows: Int[Tensor, " E"]
    options: FitOptions
    seed: int

    def generator(self) -> torch.Generator:
        """Return the generator of the initial parameters and of training, in its initial state."""
        return make_generator(self.seed, Stream.TRAINING, self.options.device)

    def model(self, mean: Float[Tensor, "N D"], dimensions: Dimensions, generator: torch.Generator) -> MultiViewLVM:
        """Return an untrained model.

        Args:
            mean: initial latent means.
            dimensions: which view depends on which latent dimensions.
            generator: draws the initial parameters of the mixtures.
        """
        model = build_model(
            mean.to(self.options.dtype), self.plans, n_points=self.options.n_points, generator=generator,
            dimensions=dimensions,
        )  # fmt: skip
        model.latent.set_sample_weight(self.sample_weight)
        model.latent.reset_to_prior(self.empty_rows)
        return model

    def views(self, model: MultiViewLVM, states: Mapping[str, ViewState] | None = None) -> dict[str, ModelView]:
        """Return the views of a model by name; without states, they have none."""
        weights, states = {name: view.weight for name, view in self.options.views.items()}, states or {}
        return {
            name: ModelView(module, self.data[name], states.get(name), weights[name])
            for name, module in model.modules_by_view.items()
        }

    def settings(self) -> StateSettings:
        """Return how the states of views are made before training."""
        options = self.options
        return StateSettings(options.dtype, options.compress, options.memory_budget, options.arithmetic)

    @cached_property
    def n_entries(self) -> int:
        """The number of observed entries of all views; a label counts as one."""
        return sum(count_entries(self.plans[name].likelihood, data) for name, data in self.data.items())


def make_problem(
    views: ScaledViews, dimensions: Dimensions, terms: Mapping[str, AbstractTerm], options: FitOptions, seed: int
) -> Problem:
    """Return the problem of training a model on scaled views.

    Args:
        views: the scaled views.
        dimensions: which view depends on which latent dimensions.
        terms: name -> a further term of the objective.
        options: of the fit.
        seed: of all random draws.
    """
    data = {name: ViewData.from_array(Y, views.sample_weight) for name, Y in views.arrays.items()}
    plans = {
        name: ViewPlan(view.kernel, view.n_mixtures, views.likelihoods[name], data[name].missing is None)
        for name, view in options.views.items()
    }
    empty = samples_without_entries(data.values(), len(views))
    return Problem(data, plans, dimensions, terms, views.sample_weight, empty, options, seed)
