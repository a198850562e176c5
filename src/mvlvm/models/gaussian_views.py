"""Gaussian views, whose weights are integrated out: without missing entries, and with them."""

from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.evidence.collapsed import TruncatedColumns, log_evidence
from mvlvm.evidence.collapsed_blocked import blocked_log_evidence, evidence_gradients
from mvlvm.evidence.feature_space import BlockPlan
from mvlvm.evidence.missing_entries import observed_evidence_bound
from mvlvm.likelihoods.gaussian import Gaussian, noise_gradients
from mvlvm.models.data import ViewData, repeated_normalizers, spread_rows
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.spectral_mixture import AbstractMixture, FeatureMap
from mvlvm.models.state import CompleteState, IncompleteState, StateSettings
from mvlvm.models.views import AbstractView, ViewEvaluation, evaluate_by_autograd
from mvlvm.models.weight_posterior import WeightPosterior, infer_weights_complete, infer_weights_missing
from mvlvm.shapes import Scalar

# Rows per block: on a CPU the features of a block stay in the cache, on a GPU kernel launches must not dominate.
_ROWS_PER_BLOCK = {"cpu": 4096, "cuda": 131072}
# Matrix products are fast for multiples of this many rows.
_ALIGNMENT = 16
# Numbers that are kept for every feature of a row: the feature itself, and half a tangent.
NUMBERS_PER_FEATURE = 1.5


class CompleteGaussianView(AbstractView):
    """A view without missing entries whose columns are Gaussian processes of the latent, with collapsed weights.

    The columns are distributed as y_m ~ N(0, Phi Phi' + s I).

    Args:
        name: of the view, for error messages.
        mixture: its spectral density.
        likelihood: with the initial noise variance s.
        n_points: spectral points per mixture, P.
    """

    likelihood: Gaussian

    def __init__(self, name: str, mixture: AbstractMixture, likelihood: Gaussian, *, n_points: int) -> None:
        super().__init__(name, mixture, likelihood, n_points=n_points)

    def draw_features(self, generator: torch.Generator, n_points: int | None = None) -> FeatureMap:
        """Draw fresh spectral points, W^v ~ p(W^v)."""
        return self.mixture(n_points or self.n_points, generator)

    def init_state(self, data: ViewData, settings: StateSettings) -> CompleteState:
        """Compress the view."""
        return CompleteState.initial(data, settings)

    def refresh(self, state: CompleteState, n_steps: int) -> CompleteState:
        """Choose precision and truncation by the current noise variance."""
        return state.refreshed(self.likelihood.noise_variance.item(), n_steps, unit=self.likelihood.unit)

    def log_evidence(
        self, data: ViewData, state: CompleteState, X: Float[Tensor, "N D"], generator: torch.Generator
    ) -> tuple[Scalar, CompleteState]:
        """Estimate the log evidence by one draw of spectral points [eq:gaussian_elbo_estimate]."""
        features, s = self.draw_features(generator, state.n_points), self.likelihood.noise_variance
        correction = repeated_normalizers(data, s.double())
        with self.named_in_errors():
            return _collapsed_evidence(state, data.select(X), features, s) + correction, state

    def evaluate(
        self, data: ViewData, state: CompleteState, X: Float[Tensor, "N D"], generator: torch.Generator
    ) -> ViewEvaluation:
        """Estimate the log evidence by one draw of spectral points, with analytic gradients; not within autograd."""
        rows, n_points = data.select(X), state.n_points or self.n_points
        n_features = 2 * n_points * len(self.mixture.raw_alpha)
        if n_features >= len(rows):
            return evaluate_by_autograd(self, data, state, X, generator)
        frequencies, vjp = self.mixture.frequencies(self.mixture.base_draws(n_points, generator))
        s = self.likelihood.noise_variance.detach()
        s = s.double() if X.is_cuda else s.item()
        with self.named_in_errors():
            found = evidence_gradients(state.target, rows, frequencies, s, _block_plan(state, rows, n_features))
        value, grad_s = found.value, found.noise_variance
        if data.sample_weight is not None:
            value = value + repeated_normalizers(data, torch.as_tensor(s, dtype=torch.float64, device=X.device))
            grad_s = grad_s - 0.5 * data.n_repeated / s
        parameters = {**vjp(found.frequencies), **noise_gradients(self.likelihood, grad_s)}
        return ViewEvaluation(value, spread_rows(data, found.X, len(X)), parameters, state)

    def infer_weights(
        self, latent: GaussianLatent, data: ViewData, state: Any, *, n_latent_draws: int, generator: torch.Generator
    ) -> WeightPosterior:
        """Return the posterior of the weights for one draw of spectral points, see `_infer_gaussian_weights`."""
        features = self.draw_features(generator)
        with self.named_in_errors():
            return _infer_gaussian_weights(features, self.likelihood, latent, data, n_latent_draws, generator)


class IncompleteGaussianView(AbstractView):
    """A Gaussian view with missing entries, whose evidence is replaced by a lower bound on that of the observed ones.

    Args:
        name: of the view, for error messages.
        mixture: its spectral density.
        likelihood: with the initial noise variance s.
        n_points: spectral points per mixture, P.
    """

    likelihood: Gaussian

    def __init__(self, name: str, mixture: AbstractMixture, likelihood: Gaussian, *, n_points: int) -> None:
        super().__init__(name, mixture, likelihood, n_points=n_points)

    def draw_features(self, generator: torch.Generator, n_points: int | None = None) -> FeatureMap:
        """Draw fresh spectral points, W^v ~ p(W^v)."""
        return self.mixture(n_points or self.n_points, generator)

    def init_state(self, data: ViewData, settings: StateSettings) -> IncompleteState:
        """Start the variational means of missing entries at zero, the column means."""
        return IncompleteState(data.Y)

    def refresh(self, state: IncompleteState, n_steps: int) -> IncompleteState:
        """Return the state as it is."""
        return state

    def log_evidence(
        self, data: ViewData, state: IncompleteState, X: Float[Tensor, "N D"], generator: torch.Generator
    ) -> tuple[Scalar, IncompleteState]:
        """Bound the log evidence by one draw of spectral points; the new state has better variational means."""
        features, s = self.draw_features(generator, state.n_points), self.likelihood.noise_variance
        correction = repeated_normalizers(data, s.double())
        assert data.missing is not None
        with self.named_in_errors():
            Phi = data.scale_rows(features(data.select(X)))
            bound = observed_evidence_bound(data.scale_rows(state.imputed), data.missing, Phi, s)
        return bound.value + correction, replace(state, imputed=data.unscale_rows(bound.Z).detach())

    def evaluate(
        self, data: ViewData, state: IncompleteState, X: Float[Tensor, "N D"], generator: torch.Generator
    ) -> ViewEvaluation:
        """Return `log_evidence` with the gradients that autograd computes."""
        return evaluate_by_autograd(self, data, state, X, generator)

    def infer_weights(
        self, latent: GaussianLatent, data: ViewData, state: Any, *, n_latent_draws: int, generator: torch.Generator
    ) -> WeightPosterior:
        """Return the posterior of the weights for one draw of spectral points, see `_infer_gaussian_weights`."""
        features = self.draw_features(generator)
        with self.named_in_errors():
            return _infer_gaussian_weights(features, self.likelihood, latent, data, n_latent_draws, generator)


def _infer_gaussian_weights(
    features: FeatureMap,
    likelihood: Gaussian,
    latent: GaussianLatent,
    data: ViewData,
    n_latent_draws: int,
    generator: torch.Generator,
) -> WeightPosterior:
    r"""Return the posterior of the weights of a Gaussian view for one feature map, averaged over q(X).

    $$ B = A^{-1} E[\Phi]^\top Y, \qquad \Sigma = s A^{-1}, \qquad A = E[\Phi^\top \Phi] + s I $$

    the optimal Gaussian q(weights) given q(X), with both expectations over the same `n_latent_draws` draws of X
    (`models/weight_posterior.py`). With missing entries, the sums of every column run over its observed rows. Rows
    count by their sample weights.
    """
    s = likelihood.noise_variance.double()
    draws = [data.select(latent.sample(generator)) for _ in range(n_latent_draws)]
    if data.missing is not None:
        Phis = [data.scale_rows(features(X).double()) for X in draws]
        return WeightPosterior(features, *infer_weights_missing(data.scale_rows(data.Y), ~data.missing, Phis, s))
    weights = infer_weights_complete(data, features, draws, s)
    return WeightPosterior(features, *weights, torch.ones_like(weights.mean[0]))


def _collapsed_evidence(
    state: CompleteState, X: Float[Tensor, "N D"], features: FeatureMap, noise_variance: Scalar
) -> Scalar:
    """Compute the log evidence of a view without missing entries, in blocks of rows if F < N."""
    target, n_features = state.target, features.n_features
    if n_features < len(X):
        plan = _block_plan(state, X, n_features)
        return blocked_log_evidence(target, X, features.frequencies(), noise_variance, plan)
    Phi = features(X) if target.row_scale is None else features(X) * target.row_scale[:, None]
    dropped = TruncatedColumns(target.n_columns - target.Y.shape[1], target.truncated_energy)
    return log_evidence(target.Y, Phi, noise_variance, dropped)


def _block_plan(state: CompleteState, X: Float[Tensor, "N D"], n_features: int) -> BlockPlan:
    settings = state.settings
    n_blocks = -(-len(X) // _ROWS_PER_BLOCK[X.device.type])
    n_rows = _ALIGNMENT * -(-len(X) // (n_blocks * _ALIGNMENT))
    bytes_to_keep = NUMBERS_PER_FEATURE * n_features * len(X) * X.element_size()
    return BlockPlan(
        n_rows, keep=bytes_to_keep <= settings.memory_budget, exact=state.exact, arithmetic=settings.arithmetic,
        space=settings.workspace,
    )  # fmt: skip
