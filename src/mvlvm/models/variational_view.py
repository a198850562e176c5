"""Views with any likelihood, and an explicit posterior of the weights."""

from dataclasses import replace
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.evidence.weight_space import (
    ColumnWeights,
    LikelihoodGradients,
    column_weights,
    natural_gradient_step,
    weight_space_evidence,
)
from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.models.data import ViewData
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.spectral_mixture import AbstractMixture, FeatureMap
from mvlvm.models.state import StateSettings, VariationalState
from mvlvm.models.views import AbstractView, ViewEvaluation, evaluate_by_autograd
from mvlvm.models.weight_posterior import ColumnPosterior
from mvlvm.shapes import Scalar

# Step size of q(weights) towards the optimum for the current draw of the latents.
_WEIGHT_STEP = 0.5
# Steps of q(weights) after training, of sizes 1, 2/3, 1/2, ..., so that they average over draws of the latents.
_N_FINAL_WEIGHT_STEPS = 24


class VariationalView(AbstractView):
    """A view y_nm ~ p(y | f_nm) with f = Phi w and an explicit posterior q(w).

    q(w) belongs to one feature map, so the base draws of the spectral points are made once and kept. A constant feature
    models the level of every column, because counts and classes cannot be centred.

    Args:
        name: of the view, for error messages.
        mixture: its spectral density.
        likelihood: p(y | f).
        n_points: spectral points per mixture, P.
        generator: source of the base draws.
    """

    redraws: ClassVar[bool] = False

    def __init__(
        self,
        name: str,
        mixture: AbstractMixture,
        likelihood: AbstractLikelihood,
        *,
        n_points: int,
        generator: torch.Generator,
    ) -> None:
        super().__init__(name, mixture, likelihood, n_points=n_points)
        self.draws: Tensor
        self.register_buffer("draws", mixture.base_draws(n_points, generator))

    def draw_features(self, generator: torch.Generator, n_points: int | None = None) -> FeatureMap:
        """Return the feature map of the kept base draws, or the first of them; nothing is drawn."""
        features = self.mixture.feature_map(self.draws[:, :, :n_points])
        return FeatureMap(features.points, features.alpha, constant=defaults.CONSTANT_FEATURE)

    def init_state(self, data: ViewData, settings: StateSettings) -> VariationalState:
        """Return a state without q(weights), which the first step initialises."""
        return VariationalState()

    def refresh(self, state: VariationalState, n_steps: int) -> VariationalState:
        """Return the state as it is: q(weights) is updated in every step."""
        return state

    def log_evidence(
        self, data: ViewData, state: VariationalState, X: Float[Tensor, "N D"], generator: torch.Generator
    ) -> tuple[Scalar, VariationalState]:
        """Bound the log evidence of the observations given latents.

        q(weights) first takes a natural-gradient step towards the optimum for these latents, which the new state holds.
        The bound is then that of q(X) q(w | X), as the collapsed one is; with fixed weights it would favour latents
        with too small a variance. The gradient treats the weights as constants, which is exact at their optimum.
        """
        Phi = self.draw_features(generator, state.n_points)(data.select(X)).double()
        with self.named_in_errors():
            fixed = Phi.detach()
            weights = self._initial_weights(data.entries, fixed) if state.weights is None else state.weights
            weights = natural_gradient_step(weights, fixed, self._evaluate(data, fixed, weights)[1], rate=_WEIGHT_STEP)
            bound, _ = self._evaluate(data, Phi, weights)
        return bound, replace(state, weights=weights)

    def evaluate(
        self, data: ViewData, state: VariationalState, X: Float[Tensor, "N D"], generator: torch.Generator
    ) -> ViewEvaluation:
        """Return `log_evidence` with the gradients that autograd computes."""
        return evaluate_by_autograd(self, data, state, X, generator)

    def infer_weights(
        self, latent: GaussianLatent, data: ViewData, state: VariationalState, *, n_latent_draws: int,
        generator: torch.Generator,
    ) -> ColumnPosterior:  # fmt: skip
        """Return the optimal q(weights) given q(X), by natural-gradient steps from the state's.

        Every step has one draw of X; `n_latent_draws` applies to views whose posterior has a closed form.
        """
        features, weights = self.draw_features(generator), state.with_points(None).weights
        with self.named_in_errors():
            for step in range(_N_FINAL_WEIGHT_STEPS):
                Phi = features(data.select(latent.sample(generator))).double()
                weights = self._initial_weights(data.entries, Phi) if weights is None else weights
                _, gradients = self._evaluate(data, Phi, weights)
                weights = natural_gradient_step(weights, Phi, gradients, rate=2 / (step + 2))
        assert weights is not None  # there is at least one step
        return ColumnPosterior(features, *(part.contiguous() for part in (weights.mean, weights.basis, weights.spread)))

    def keep_dimensions(self, kept: Bool[Tensor, " D"]) -> None:
        """Remove all other latent dimensions; q(weights) of the state no longer applies."""
        super().keep_dimensions(kept)
        self.draws = self.draws[..., kept]

    def _evaluate(
        self, data: ViewData, Phi: Float[Tensor, "N F"], weights: ColumnWeights
    ) -> tuple[Scalar, LikelihoodGradients]:
        row_weight = 1.0 if data.sample_weight is None else data.sample_weight.to(Phi)[:, None]
        return weight_space_evidence(data.entries, Phi, weights, self.likelihood, row_weight=row_weight)

    def _initial_weights(self, Y: Float[Tensor, "N M"], Phi: Float[Tensor, "N F"]) -> ColumnWeights:
        """Return q(weights) after one full step from the best constant function of every column."""
        offset = self.likelihood.offset(Y)
        mean = Phi.new_zeros((Phi.shape[1], Y.shape[1]))
        mean[-1] = offset / defaults.CONSTANT_FEATURE
        certain = column_weights(mean, torch.zeros_like(Phi.T @ Phi), torch.ones_like(offset))
        certain = certain._replace(spread=torch.zeros_like(certain.spread))
        _, gradients = weight_space_evidence(Y, Phi, certain, self.likelihood)
        return natural_gradient_step(certain, Phi, gradients, rate=1.0)
