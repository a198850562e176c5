"""View modules: they hold the parameters of one view and compute its log evidence without side effects."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

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
from mvlvm.models.data import ViewData
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.spectral_mixture import AbstractMixture, FeatureMap
from mvlvm.models.state import CompleteState, IncompleteState, StateSettings, VariationalState, ViewState
from mvlvm.models.weight_posterior import (
    AbstractWeightPosterior,
    ColumnPosterior,
    WeightPosterior,
    infer_weights_complete,
    infer_weights_missing,
)
from mvlvm.row_blocks import row_blocks
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
    def init_state(self, data: ViewData, settings: StateSettings) -> ViewState:
        """Return the state before training."""

    @abstractmethod
    def refresh(self, state: Any, n_steps: int) -> ViewState:
        """Return the state for the next steps, with what is decided only now and then decided anew.

        Args:
            state: the current state, of the kind that `init_state` returns.
            n_steps: number of training steps so far.
        """

    @abstractmethod
    def log_evidence(
        self, data: ViewData, state: Any, X: Float[Tensor, "N D"], generator: torch.Generator
    ) -> tuple[Scalar, ViewState]:
        """Estimate or bound the log evidence of the observations given latents. No side effects.

        Args:
            data: the observations.
            state: the current state, of the kind that `init_state` returns.
            X: latents of all samples.
            generator: source of the spectral points.

        Returns:
            The log evidence, and the state after this step.
        """

    @abstractmethod
    def infer_weights(
        self, latent: GaussianLatent, data: ViewData, state: Any, *, n_latent_draws: int, generator: torch.Generator
    ) -> AbstractWeightPosterior:
        """Return the posterior of the weights for one feature map, averaged over q(X).

        Args:
            latent: posterior of all samples.
            data: observations of this view, which may be other rows than those of training.
            state: the state after training; views whose posterior has a closed form do not need it.
            n_latent_draws: number of draws of the latents.
            generator: source of all draws.
        """

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


@dataclass(frozen=True)
class ModelView:
    """One view of a model: its module with everything that belongs to it.

    Attributes:
        module: the parameters.
        data: the observations.
        state: what changes during training besides the parameters; None for a compressed view after training.
        weight: of its evidence in the objective; a view of weight zero does not influence the latents.
    """

    module: AbstractView
    data: ViewData
    state: ViewState | None = None
    weight: float = 1.0

    @property
    def n_entries(self) -> int:
        """The number of observed entries; a label counts as one."""
        return count_entries(self.module.likelihood, self.data)

    def initialised(self, settings: StateSettings) -> "ModelView":
        """Return the view with the state before training."""
        return replace(self, state=self.module.init_state(self.data, settings))

    def released(self) -> "ModelView":
        """Return the view without what only training needs: the compressed view and scratch memory."""
        return replace(self, state=None) if isinstance(self.state, CompleteState) else self

    def infer_weights(
        self, latent: GaussianLatent, *, n_latent_draws: int, generator: torch.Generator
    ) -> AbstractWeightPosterior:
        """Return the posterior of the weights for one feature map, averaged over q(X)."""
        arguments = (latent, self.data, self.state)
        return self.module.infer_weights(*arguments, n_latent_draws=n_latent_draws, generator=generator)


def count_entries(likelihood: AbstractLikelihood, data: ViewData) -> int:
    """Return the number of observed entries of a view; a label counts as one."""
    return sum(likelihood.count_entries(data.entries_of(block)) for block in row_blocks(*data.Y.shape))


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

    def draw_features(self, generator: torch.Generator) -> FeatureMap:
        """Draw fresh spectral points, W^v ~ p(W^v)."""
        return self.mixture(self.n_points, generator)

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
        features, s = self.draw_features(generator), self.likelihood.noise_variance
        correction = data.repeated_normalizers(s.double())
        with self.named_in_errors():
            return _collapsed_evidence(state, data.select(X), features, s) + correction, state

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

    def draw_features(self, generator: torch.Generator) -> FeatureMap:
        """Draw fresh spectral points, W^v ~ p(W^v)."""
        return self.mixture(self.n_points, generator)

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
        features, s = self.draw_features(generator), self.likelihood.noise_variance
        correction = data.repeated_normalizers(s.double())
        assert data.missing is not None
        with self.named_in_errors():
            Phi = data.scale_rows(features(data.select(X)))
            bound = observed_evidence_bound(data.scale_rows(state.imputed), data.missing, Phi, s)
        return bound.value + correction, IncompleteState(data.unscale_rows(bound.Z).detach())

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
    return BlockPlan(n_rows, keep=bytes_to_keep <= settings.memory_budget, exact=state.exact, space=settings.workspace)


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

    def draw_features(self, generator: torch.Generator) -> FeatureMap:
        """Return the feature map of the kept base draws; nothing is drawn."""
        features = self.mixture.feature_map(self.draws)
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
        Phi = self.draw_features(generator)(data.select(X)).double()
        with self.named_in_errors():
            fixed = Phi.detach()
            weights = self._initial_weights(data.entries, fixed) if state.weights is None else state.weights
            weights = natural_gradient_step(weights, fixed, self._evaluate(data, fixed, weights)[1], rate=_WEIGHT_STEP)
            bound, _ = self._evaluate(data, Phi, weights)
        return bound, VariationalState(weights)

    def infer_weights(
        self, latent: GaussianLatent, data: ViewData, state: VariationalState, *, n_latent_draws: int,
        generator: torch.Generator,
    ) -> ColumnPosterior:  # fmt: skip
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
