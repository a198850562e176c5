"""A Gaussian view: its weights are integrated out."""

from collections.abc import Hashable

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.evidence.hidden_entries import hidden_log_evidence
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.models.complete_weights import infer_complete
from mvlvm.models.feature_map import FeatureMap
from mvlvm.models.hidden_weights import infer_with_gaps
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.observed import ObservedView
from mvlvm.models.row_weights import missing_normalisers, unweighed
from mvlvm.models.spectral_mixture import AbstractMixture
from mvlvm.models.view import AbstractView
from mvlvm.models.weight_posterior import WeightPosterior
from mvlvm.shapes import Scalar


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
            bound = hidden_log_evidence(view.weigh(view.Y), view.hidden, Phi, s)
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
        The sums over rows are in `models/complete_weights.py`. Where single entries are hidden, those of every column
        go over the rows in which it was seen (`models/hidden_weights.py`). Rows count by their weights.
        """
        features = self.draw_features(generator)
        s = self.noise_variance.double()
        draws = [seen.of(latent.sample(generator)) for _ in range(n_latent_draws)]
        with self.named_in_errors():
            if seen.hidden is not None:
                Phis = [seen.weigh(features(X).double()) for X in draws]
                return WeightPosterior(features, *infer_with_gaps(seen.weigh(seen.Y), ~seen.hidden, Phis, s))
            weights = infer_complete(seen, features, draws, s)
        return WeightPosterior(features, *weights, torch.ones_like(weights.mean[0]))
