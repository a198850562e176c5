"""View modules: they hold the parameters of one view and compute its log evidence without side effects."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.errors import NumericalError
from mvlvm.evidence.collapsed import TruncatedColumns, log_evidence
from mvlvm.evidence.collapsed_blocked import BlockPlan, blocked_log_evidence
from mvlvm.evidence.missing_entries import observed_evidence_bound
from mvlvm.evidence.weight_space import (
    ColumnWeights,
    LikelihoodGradients,
    column_weights,
    natural_gradient_step,
    weight_space_evidence,
)
from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.linalg.cuda import Workspace
from mvlvm.models.data import ViewData
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.spectral_mixture import AbstractMixture, FeatureMap
from mvlvm.models.state import ViewState, initial_gaussian_state, refresh_gaussian_state
from mvlvm.models.weight_posterior import (
    AbstractWeightPosterior,
    ColumnPosterior,
    WeightPosterior,
    infer_weights_complete,
    infer_weights_missing,
)
from mvlvm.shapes import Scalar

# Rows per block: on a CPU the features of a block stay in the cache, on a GPU kernel launches must not dominate.
_ROWS_PER_BLOCK = {"cpu": 4096, "cuda": 131072}
# Matrix products are fast for multiples of this many rows.
_ALIGNMENT = 16
# Numbers that are kept for every feature of a row: the feature itself, and half a tangent.
NUMBERS_PER_FEATURE = 1.5
# Step size of q(weights) towards the optimum for the current draw of the latents.
_WEIGHT_STEP = 0.5
# Steps of q(weights) after training, of sizes 1, 2/3, 1/2, ..., so that they average over draws of the latents.
_N_FINAL_WEIGHT_STEPS = 24


class AbstractView(nn.Module, ABC):
    """One view of the model.

    Args:
        name: of the view, for error messages.
        mixture: its spectral density.
        likelihood: p(y | f).
        n_points: spectral points per mixture, P.

    Attributes:
        redraws: whether every feature map has fresh spectral points.
    """

    redraws: ClassVar[bool] = True

    def __init__(self, name: str, mixture: AbstractMixture, likelihood: AbstractLikelihood, *, n_points: int) -> None:
        super().__init__()
        self.name = name
        self.mixture = mixture
        self.likelihood = likelihood
        self.n_points = n_points

    @abstractmethod
    def draw_features(self, generator: torch.Generator) -> FeatureMap:
        """Return a feature map, with fresh spectral points unless the view keeps its own."""

    @abstractmethod
    def init_state(
        self,
        data: ViewData,
        *,
        dtype: torch.dtype,
        max_energy_share: float | None = None,
        memory_budget: float = defaults.MEMORY_BUDGET,
        workspace: Workspace | None = None,
    ) -> ViewState:
        """Return the state before training.

        Args:
            data: the observations.
            dtype: precision of the features.
            max_energy_share: energy that compression may remove from a complete Gaussian view, as a share of the
                noise's; None for no compression.
            memory_budget: bytes that features may take during a step.
            workspace: scratch memory to share with other views.
        """

    @abstractmethod
    def refresh(self, data: ViewData, state: ViewState, n_steps: int) -> ViewState:
        """Return the state for the next steps, with what is decided only now and then decided anew.

        Args:
            data: the observations.
            state: the current state.
            n_steps: number of training steps so far.
        """

    @abstractmethod
    def log_evidence(
        self, data: ViewData, state: ViewState, X: Float[Tensor, "N D"], generator: torch.Generator
    ) -> tuple[Scalar, ViewState]:
        """Estimate or bound the log evidence of the observations given latents. No side effects.

        Args:
            data: the observations.
            state: the current state.
            X: latents of all samples.
            generator: source of the spectral points.

        Returns:
            The log evidence, and the state after this step.
        """

    @abstractmethod
    def infer_weights(
        self,
        latent: GaussianLatent,
        data: ViewData,
        state: ViewState,
        *,
        n_latent_draws: int,
        generator: torch.Generator,
    ) -> AbstractWeightPosterior:
        """Return the posterior of the weights for one feature map, averaged over q(X)."""

    def keep_dimensions(self, kept: Bool[Tensor, " D"]) -> None:
        """Remove all other latent dimensions."""
        self.mixture.keep(kept)

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Name the view in numerical errors."""
        try:
            yield
        except NumericalError as error:
            raise NumericalError(f"View '{self.name}': {error}") from error


class FeatureView(AbstractView):
    """A view whose columns are Gaussian processes of the latent, y_m ~ N(0, Phi Phi' + s I); weights are collapsed.

    Args:
        name: of the view, for error messages.
        mixture: its spectral density.
        n_points: spectral points per mixture, P.
        noise_variance: initial noise variance s.
    """

    likelihood: Gaussian

    def __init__(self, name: str, mixture: AbstractMixture, *, n_points: int, noise_variance: float) -> None:
        super().__init__(name, mixture, Gaussian(noise_variance), n_points=n_points)

    @property
    def noise_variance(self) -> Scalar:
        """The noise variance s."""
        return self.likelihood.noise_variance

    def draw_features(self, generator: torch.Generator) -> FeatureMap:
        """Draw fresh spectral points, W^v ~ p(W^v)."""
        return self.mixture(self.n_points, generator)

    def init_state(
        self,
        data: ViewData,
        *,
        dtype: torch.dtype,
        max_energy_share: float | None = None,
        memory_budget: float = defaults.MEMORY_BUDGET,
        workspace: Workspace | None = None,
    ) -> ViewState:
        """Compress a complete view; with missing entries, start their variational means at zero, the column means."""
        return initial_gaussian_state(
            data, dtype=dtype, max_energy_share=max_energy_share, memory_budget=memory_budget, workspace=workspace
        )

    def refresh(self, data: ViewData, state: ViewState, n_steps: int) -> ViewState:
        """Choose precision and truncation by the current noise variance."""
        if state.target is None:
            return state
        return refresh_gaussian_state(state, self.noise_variance.item(), n_steps)

    def log_evidence(
        self, data: ViewData, state: ViewState, X: Float[Tensor, "N D"], generator: torch.Generator
    ) -> tuple[Scalar, ViewState]:
        """Estimate the log evidence by one draw of spectral points [eq:gaussian_elbo_estimate].

        With missing entries it is a lower bound, and the new state holds their improved variational means.
        """
        features, s = self.draw_features(generator), self.noise_variance
        correction = data.repeated_normalizers(s.double())
        with self.named_in_errors():
            if data.missing is None:
                return _collapsed_evidence(state, data.select(X), features, s) + correction, state
            assert state.imputed is not None
            Phi = data.scale_rows(features(data.select(X)))
            bound = observed_evidence_bound(data.scale_rows(state.imputed), data.missing, Phi, s)
        return bound.value + correction, replace(state, imputed=data.unscale_rows(bound.Z).detach())

    def infer_weights(
        self,
        latent: GaussianLatent,
        data: ViewData,
        state: ViewState,
        *,
        n_latent_draws: int,
        generator: torch.Generator,
    ) -> WeightPosterior:
        r"""Return the posterior of the weights for one draw of spectral points, averaged over q(X).

        $$ B = A^{-1} E[\Phi]^\top Y, \qquad \Sigma = s A^{-1}, \qquad A = E[\Phi^\top \Phi] + s I $$

        the optimal Gaussian q(weights) given q(X), with both expectations over the same `n_latent_draws` draws of X
        (`models/weight_posterior.py`). With missing entries, the sums of every column run over its observed rows. Rows
        count by their sample weights.
        """
        features = self.draw_features(generator)
        s = self.noise_variance.double()
        draws = [data.select(latent.sample(generator)) for _ in range(n_latent_draws)]
        with self.named_in_errors():
            if data.missing is not None:
                Phis = [data.scale_rows(features(X).double()) for X in draws]
                return WeightPosterior(
                    features, *infer_weights_missing(data.scale_rows(data.Y), ~data.missing, Phis, s)
                )
            weights = infer_weights_complete(data, features, draws, s)
        return WeightPosterior(features, *weights, torch.ones_like(weights.mean[0]))


def _collapsed_evidence(
    state: ViewState, X: Float[Tensor, "N D"], features: FeatureMap, noise_variance: Scalar
) -> Scalar:
    """Compute the log evidence of a view without missing entries, in blocks of rows if F < N."""
    target, frequencies = state.target, features.frequencies()
    assert target is not None
    n_features = 2 * len(frequencies.amplitude)
    if n_features < len(X):
        return blocked_log_evidence(target, X, frequencies, noise_variance, _block_plan(state, X, n_features))
    Phi = features(X) if target.row_scale is None else features(X) * target.row_scale[:, None]
    dropped = TruncatedColumns(target.n_columns - target.Y.shape[1], target.truncated_energy)
    return log_evidence(target.Y, Phi, noise_variance, dropped)


def _block_plan(state: ViewState, X: Float[Tensor, "N D"], n_features: int) -> BlockPlan:
    n_blocks = -(-len(X) // _ROWS_PER_BLOCK[X.device.type])
    n_rows = _ALIGNMENT * -(-len(X) // (n_blocks * _ALIGNMENT))
    bytes_to_keep = NUMBERS_PER_FEATURE * n_features * len(X) * X.element_size()
    return BlockPlan(n_rows, keep=bytes_to_keep <= state.memory_budget, exact=state.exact, space=state.workspace)


class WeightView(AbstractView):
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

    def draw_features(self, generator: torch.Generator) -> FeatureMap:
        """Return the feature map of the kept base draws; nothing is drawn."""
        features = self.mixture.feature_map(self.draws)
        return FeatureMap(features.points, features.alpha, constant=defaults.CONSTANT_FEATURE)

    def init_state(
        self,
        data: ViewData,
        *,
        dtype: torch.dtype,
        max_energy_share: float | None = None,
        memory_budget: float = defaults.MEMORY_BUDGET,
        workspace: Workspace | None = None,
    ) -> ViewState:
        """Return a state without q(weights), which the first step initialises. Nothing is compressed."""
        return ViewState()

    def refresh(self, data: ViewData, state: ViewState, n_steps: int) -> ViewState:
        """Return the state as it is: q(weights) is updated in every step."""
        return state

    def log_evidence(
        self, data: ViewData, state: ViewState, X: Float[Tensor, "N D"], generator: torch.Generator
    ) -> tuple[Scalar, ViewState]:
        """Bound the log evidence of the observations given latents.

        q(weights) first takes a natural-gradient step towards the optimum for these latents, which the new state holds.
        The bound is then that of q(X) q(w | X), as the collapsed one is; with fixed weights it would favour latents
        with too small a variance. The gradient treats the weights as constants, which is exact at their optimum.
        """
        Phi = self.draw_features(generator)(data.select(X)).double()
        with self.named_in_errors():
            fixed = Phi.detach()
            weights = self._initial_weights(data.entries, fixed) if state.weights is None else state.weights
            weights = natural_gradient_step(weights, fixed, self._evaluate(data, fixed, weights)[1], rate=_WEIGHT_STEP)
            bound, _ = self._evaluate(data, Phi, weights)
        return bound, replace(state, weights=weights)

    def infer_weights(
        self,
        latent: GaussianLatent,
        data: ViewData,
        state: ViewState,
        *,
        n_latent_draws: int,
        generator: torch.Generator,
    ) -> ColumnPosterior:
        """Return the optimal q(weights) given q(X), by natural-gradient steps from the state's.

        Every step has one draw of X; `n_latent_draws` applies to views whose posterior has a closed form.
        """
        features, weights = self.draw_features(generator), state.weights
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
        expected = partial(self.likelihood.expected_log_density, data.entries)
        row_weight = 1.0 if data.sample_weight is None else data.sample_weight.to(Phi)[:, None]
        return weight_space_evidence(Phi, weights, expected, self.likelihood, row_weight=row_weight)

    def _initial_weights(self, Y: Float[Tensor, "N M"], Phi: Float[Tensor, "N F"]) -> ColumnWeights:
        """Return q(weights) after one full step from the best constant function of every column."""
        offset = self.likelihood.offset(Y)
        mean = Phi.new_zeros((Phi.shape[1], Y.shape[1]))
        mean[-1] = offset / defaults.CONSTANT_FEATURE
        certain = column_weights(mean, torch.zeros_like(Phi.T @ Phi), torch.ones_like(offset))
        certain = certain._replace(spread=torch.zeros_like(certain.spread))
        expected = partial(self.likelihood.expected_log_density, Y)
        _, gradients = weight_space_evidence(Phi, certain, expected, self.likelihood)
        return natural_gradient_step(certain, Phi, gradients, rate=1.0)
