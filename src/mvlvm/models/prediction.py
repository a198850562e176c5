"""From a trained view to its function: the weights of its features, and what they predict."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.cholesky import cholesky, factor
from mvlvm.linalg.lowrank import add_to_diagonal
from mvlvm.models.feature_map import FeatureMap
from mvlvm.models.feature_view import FeatureView
from mvlvm.models.hidden_weights import infer_with_gaps
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.observed import ObservedView


class Prediction(NamedTuple):
    """The mean and variance of a view's entries."""

    mean: Float[Tensor, "N M"]
    variance: Float[Tensor, "N M"]


class Linear(NamedTuple):
    """A function around some latents: its mean and variance there, and the slopes of both."""

    mean: Float[Tensor, "N M"]
    variance: Float[Tensor, "N M"]
    slopes: Float[Tensor, "D N M"]
    variance_slopes: Float[Tensor, "D N M"]


@dataclass(frozen=True)
class WeightPosterior:
    r"""What one draw of spectral points knows about a view: $y = \Phi w + $ noise with $w_m \sim N(B_m, \Sigma)$.

    Attributes:
        features: the feature map phi.
        mean: the posterior means B of the weights of every column.
        covariance: their posterior covariance, the same for every column but for `inflation`.
        inflation: what the covariance is to be multiplied by in each column; one where nothing is hidden.
    """

    features: FeatureMap
    mean: Float[Tensor, "F M"]
    covariance: Float[Tensor, "F F"]
    inflation: Float[Tensor, " M"]

    def mean_at(self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        r"""Give the expected function values at normally distributed latents, $E[\phi]^\top B$, exactly."""
        return self.features.expectation(mean, std).double() @ self.mean

    def predict(
        self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"], draws: Sequence[Float[Tensor, "N D"]]
    ) -> Prediction:
        r"""Predict the view's function at normally distributed latents.

        The mean is exact. The variance has two parts, of the weights $E[\phi^\top \Sigma \phi]$ and of the latent
        $\operatorname{Var}[\phi^\top B]$, averaged over `draws` of the latents.
        """
        center = self.mean_at(mean, std)
        variance = torch.zeros_like(center)
        for X in draws:
            Phi = self.features(X).double()
            of_weights = ((Phi @ self.covariance) * Phi).sum(dim=1, keepdim=True) * self.inflation
            of_latent = (Phi @ self.mean - center).square()
            variance = variance + (of_weights + of_latent) / len(draws)
        return Prediction(center, variance)

    def draw(self, X: Float[Tensor, "N D"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Draw one function of the view and give its values."""
        eps = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype, device=self.mean.device)
        return self.features(X).double() @ (self.mean + self.inflation.sqrt() * (cholesky(self.covariance) @ eps))

    def squared_slopes(self, X: Float[Tensor, "N D"]) -> Float[Tensor, " D"]:
        r"""Give $\sum_{nm} (\partial f_{nm} / \partial x_{nd})^2$ for every dimension, without any N x M array."""
        _, slopes = self.features.with_slopes(X)
        gram = self.mean @ self.mean.T
        return torch.stack([((slope.double() @ gram) * slope).sum() for slope in slopes])

    def linearise(self, X: Float[Tensor, "N D"]) -> Linear:
        """Give the function around latents that are known."""
        Phi, slopes = (features.double() for features in self.features.with_slopes(X))
        spread = Phi @ self.covariance
        variance_slopes = 2 * (slopes * spread).sum(dim=2, keepdim=True) * self.inflation
        return Linear(
            Phi @ self.mean, (spread * Phi).sum(dim=1, keepdim=True) * self.inflation,
            slopes @ self.mean, variance_slopes,
        )  # fmt: skip


def infer_weights(
    view: FeatureView,
    latent: GaussianLatent,
    seen: ObservedView,
    *,
    n_latent_draws: int,
    generator: torch.Generator,
) -> WeightPosterior:
    r"""Give the posterior of a view's weights for one draw of its spectral points, averaged over q(X).

    $$ B = A^{-1} E[\Phi]^\top Y, \qquad \Sigma = s A^{-1}, \qquad A = E[\Phi^\top \Phi] + s I $$

    the optimal normal posterior beside q(X), with both expectations over the same `n_latent_draws` draws of X. Where
    single entries are hidden, the sums of every column go over the rows in which it was seen
    (`models/hidden_weights.py`).
    """
    features = view.draw_features(generator)
    s = view.noise_variance.double()
    Phis = (features(seen.of(latent.sample(generator))).double() for _ in range(n_latent_draws))
    with view.named_in_errors():
        if seen.hidden is not None:
            return WeightPosterior(features, *infer_with_gaps(seen.Y, ~seen.hidden, list(Phis), s))
        gram, mean_Phi = 0.0, 0.0
        for Phi in Phis:  # one at a time, since all of them may not fit into memory
            gram = gram + Phi.T @ Phi / n_latent_draws
            mean_Phi = mean_Phi + Phi / n_latent_draws
        # a saved model is read back in row-major order, and products depend on the order in their last bits
        inverse = factor(add_to_diagonal(torch.as_tensor(gram), s)).inverse().contiguous()
    mean = inverse @ (torch.as_tensor(mean_Phi).T @ seen.Y.double())
    return WeightPosterior(features, mean, s * inverse, torch.ones_like(mean[0]))
