"""The tied mixture, w_1 = w_2: the spectral density of the stationary SM kernel."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.spectral.density import BivariateMixture
from mvlvm.spectral.sampling import SpectralPoints


@dataclass(frozen=True)
class StationaryMixture:
    r"""The spectral density of a spectral mixture kernel, $p(w) = \sum_q \alpha_q N(w | \mu_q, \sigma_q^2)$.

    Args:
        alpha: mixture weights, positive.
        mu: means.
        sigma: standard deviations, not negative.
    """

    alpha: Float[Tensor, " Q"]
    mu: Float[Tensor, "Q D"]
    sigma: Float[Tensor, "Q D"]

    def as_bivariate(self) -> BivariateMixture:
        """Give the same density as an NG-SM one: equal means and deviations, correlation one."""
        return BivariateMixture(
            alpha=self.alpha, mu1=self.mu, mu2=self.mu, sigma1=self.sigma, sigma2=self.sigma,
            rho=torch.ones_like(self.alpha),
        )  # fmt: skip


def stationary_sample(density: StationaryMixture, eps: Float[Tensor, "Q P D"]) -> SpectralPoints:
    """Turn standard normal draws into tied spectral points, w_1 = w_2 = mu + sigma eps."""
    w = density.mu[:, None] + density.sigma[:, None] * eps
    return SpectralPoints(w, w)
