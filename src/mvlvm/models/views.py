"""What every kind of view module has: a name, a mixture, and a likelihood around its function.

A Gaussian view: its weights are integrated out.

A view of any likelihood, with an explicit posterior of its weights.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.errors import NumericalError
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
from mvlvm.models.conditioning import infer_weights_complete, infer_weights_missing
from mvlvm.models.data import ObservedView, missing_normalisers, unweighed
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.spectral_mixture import AbstractMixture, FeatureMap
from mvlvm.models.weight_posterior import AbstractWeightPosterior, ColumnPosterior, WeightPosterior
from mvlvm.shapes import Scalar


class AbstractView(nn.Module, ABC):
    """One view of the model.

    Args:
        name: how errors call it.
        mixture: its spectral density.
        likelihood: how its entries are drawn around its function.
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
        """Give a feature map, with fresh spectral points where the view has no points of its own."""

    @abstractmethod
    def log_evidence(self, view: ObservedView, X: Float[Tensor, "N D"], generator: torch.Generator) -> Scalar:
        """Estimate or bound the log evidence of what was seen, given latents."""

    @abstractmethod
    def infer_weights(
        self, latent: GaussianLatent, seen: ObservedView, *, n_latent_draws: int, generator: torch.Generator
    ) -> AbstractWeightPosterior:
        """Give the posterior of the weights for one feature map, averaged over q(X)."""

    def settle(self, view: ObservedView, n_steps: int) -> Hashable | None:
        """Choose how the evidence is computed in the steps to come, after so many.

        Returns:
            What `log_evidence` takes for granted when a GPU records it; None if it cannot be recorded.
        """
        return None

    def keep_dimensions(self, kept: Bool[Tensor, " D"]) -> None:
        """Forget all other latent dimensions."""
        self.mixture.keep(kept)

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Say which view it was when a factorisation fails."""
        try:
            yield
        except NumericalError as error:
            raise NumericalError(f"View '{self.name}': {error}") from error


class FeatureView(AbstractView):
    """A view whose columns are Gaussian processes of the latent, y_m ~ N(0, Phi Phi' + s I).

    Args:
        name: how errors call it.
        mixture: its spectral density.
        n_points: spectral points per mixture, P.
        noise_variance: where the noise variance s starts.
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

    def log_evidence(self, view: ObservedView, X: Float[Tensor, "N D"], generator: torch.Generator) -> Scalar:
        """Estimate the log evidence of what was seen given latents, by one draw of spectral points.

        Where single entries are hidden it is a lower bound, and their guesses move a step.
        """
        features, s = self.draw_features(generator), self.noise_variance
        correction = missing_normalisers(view, s.double())
        with self.named_in_errors():
            if view.hidden is None:
                return view.working(X.dtype).log_evidence(view.of(X), features, s) + correction
            Phi = view.weigh(features(view.of(X)))
            bound = observed_evidence_bound(view.weigh(view.Y), view.hidden, Phi, s)
        view.guess(unweighed(bound.Z, view.weight))
        return bound.value + correction

    def settle(self, view: ObservedView, n_steps: int) -> Hashable | None:
        """Choose columns and precision; where entries are hidden their guesses move, and no step can be recorded."""
        if view.hidden is not None:
            return None
        working = view.working(self.mixture.seen.dtype)
        working.settle(self.noise_variance.item(), n_steps)
        return working.setting

    def infer_weights(
        self, latent: GaussianLatent, seen: ObservedView, *, n_latent_draws: int, generator: torch.Generator
    ) -> WeightPosterior:
        r"""Give the posterior of the weights for one draw of spectral points, averaged over q(X).

        $$ B = A^{-1} E[\Phi]^\top Y, \qquad \Sigma = s A^{-1}, \qquad A = E[\Phi^\top \Phi] + s I $$

        the optimal normal posterior beside q(X), with both expectations over the same `n_latent_draws` draws of X.
        The sums over rows are in `models/conditioning.py`. Where single entries are hidden, those of every column
        go over the rows in which it was seen (`models/conditioning.py`). Rows count by their weights.
        """
        features = self.draw_features(generator)
        s = self.noise_variance.double()
        draws = [seen.of(latent.sample(generator)) for _ in range(n_latent_draws)]
        with self.named_in_errors():
            if seen.hidden is not None:
                Phis = [seen.weigh(features(X).double()) for X in draws]
                return WeightPosterior(features, *infer_weights_missing(seen.weigh(seen.Y), ~seen.hidden, Phis, s))
            weights = infer_weights_complete(seen, features, draws, s)
        return WeightPosterior(features, *weights, torch.ones_like(weights.mean[0]))


# How far a training step moves the weights towards the optimum for its draw of the latents.
_RATE = 0.5
# Steps after training, at rates 1, 2/3, 1/2, ... so that they average over draws of the latents.
_STEPS_TO_SETTLE = 24


class WeightView(AbstractView):
    """A view y_nm ~ p(y | f_nm) around a function f = Phi w, with q(w) beside q(X).

    Posteriors of weights belong to one feature map, so its base draws are made once and kept. One more feature is
    constant: entries that are counts or classes cannot be centred.

    Args:
        name: how errors call it.
        mixture: its spectral density.
        likelihood: p(y | f).
        n_points: spectral points per mixture, P.
        generator: of the base draws.

    Attributes:
        weights: the posteriors as training left them; None before.
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
        self.weights: ColumnWeights | None = None

    def draw_features(self, generator: torch.Generator) -> FeatureMap:
        """Give the view's own feature map; nothing is drawn."""
        features = self.mixture.feature_map(self.draws)
        return FeatureMap(features.points, features.alpha, constant=defaults.CONSTANT_FEATURE)

    def log_evidence(self, view: ObservedView, X: Float[Tensor, "N D"], generator: torch.Generator) -> Scalar:
        """Bound the log evidence of what was seen given latents.

        The weights first move a step towards the optimum for these latents, and keep it where gradients are taken. The
        bound is then that of q(X) q(w | X), as the collapsed one is; held fixed, weights would reward latents that are
        too sure of themselves. The gradient takes the weights for constants, which is exact at their optimum.
        """
        Phi = self.draw_features(generator)(view.of(X)).double()
        with self.named_in_errors():
            fixed = Phi.detach()
            weights = self._start(view.entries, fixed) if self.weights is None else self.weights
            weights = natural_gradient_step(weights, fixed, self._evaluate(view, fixed, weights)[1], rate=_RATE)
            bound, _ = self._evaluate(view, Phi, weights)
        if torch.is_grad_enabled():
            self.weights = weights
        return bound

    def infer_weights(
        self, latent: GaussianLatent, seen: ObservedView, *, n_latent_draws: int, generator: torch.Generator
    ) -> ColumnPosterior:
        """Give the best posterior of the weights beside q(X), from where training left them.

        Every step has one draw of X; `n_latent_draws` is for views whose posterior has a closed form.
        """
        features, weights = self.draw_features(generator), self.weights
        with self.named_in_errors():
            for step in range(_STEPS_TO_SETTLE):
                Phi = features(seen.of(latent.sample(generator))).double()
                weights = self._start(seen.entries, Phi) if weights is None else weights
                _, slopes = self._evaluate(seen, Phi, weights)
                weights = natural_gradient_step(weights, Phi, slopes, rate=2 / (step + 2))
        assert weights is not None  # there is at least one step
        return ColumnPosterior(features, *(part.contiguous() for part in (weights.mean, weights.basis, weights.spread)))

    def _evaluate(
        self, view: ObservedView, Phi: Float[Tensor, "N F"], weights: ColumnWeights
    ) -> tuple[Scalar, LikelihoodGradients]:
        expected = partial(self.likelihood.expected_log_density, view.entries)
        times = 1.0 if view.weight is None else view.weight.to(Phi)[:, None]
        return weight_space_evidence(Phi, weights, expected, self.likelihood, row_weight=times)

    def keep_dimensions(self, kept: Bool[Tensor, " D"]) -> None:
        """Forget all other latent dimensions; what was known of the weights was about another function."""
        super().keep_dimensions(kept)
        self.draws = self.draws[..., kept]
        self.weights = None

    def _start(self, Y: Float[Tensor, "N M"], Phi: Float[Tensor, "N F"]) -> ColumnWeights:
        """Start from a constant function that suits every column, as sure of it as the data are."""
        offset = self.likelihood.offset(Y)
        mean = Phi.new_zeros((Phi.shape[1], Y.shape[1]))
        mean[-1] = offset / defaults.CONSTANT_FEATURE
        sure = column_weights(mean, torch.zeros_like(Phi.T @ Phi), torch.ones_like(offset))
        sure = sure._replace(spread=torch.zeros_like(sure.spread))
        expected = partial(self.likelihood.expected_log_density, Y)
        _, slopes = weight_space_evidence(Phi, sure, expected, self.likelihood)
        return natural_gradient_step(sure, Phi, slopes, rate=1.0)
