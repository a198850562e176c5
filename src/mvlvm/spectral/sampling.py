"""Differentiable samples of spectral points (Prop. 1), and the tied mixture w_1 = w_2 of the stationary SM kernel."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.spectral.density import BivariateMixture


class SpectralPoints(NamedTuple):
    """P pairs of frequencies (w_1, w_2) for each of Q mixture components."""

    w1: Float[Tensor, "Q P D"]
    w2: Float[Tensor, "Q P D"]


def two_step_sample(
    density: BivariateMixture, eps1: Float[Tensor, "Q P D"], eps2: Float[Tensor, "Q P D"]
) -> SpectralPoints:
    r"""Transform standard normal draws into spectral points (Prop. 1).

    $$ w_1 = \mu_1 + \sigma_1 \epsilon_1, \qquad
       w_2 = \mu_2 + \rho \sigma_2 \epsilon_1 + \sqrt{1 - \rho^2}\, \sigma_2 \epsilon_2 $$

    Step 2 of the paper has $(\sigma_2 / \sigma_1) (w_1 - \mu_1)$ in place of $\sigma_2 \epsilon_1$, which is the same
    number and needs a division. Only one of the two signs of s_q [eq:s_q] is sampled, because both yield the same
    features up to the sign of the sines.

    Args:
        density: the spectral density.
        eps1: standard normal draws for w_1.
        eps2: standard normal draws for w_2.

    Returns:
        The points w_1 and w_2, each Q x P x D, differentiable with respect to the parameters of the density.
    """
    rho = density.rho[:, None, None]
    w1 = torch.addcmul(density.mu1[:, None], density.sigma1[:, None], eps1)
    correlated = torch.addcmul(rho * eps1, (1 - rho**2).sqrt(), eps2)
    w2 = torch.addcmul(density.mu2[:, None], density.sigma2[:, None], correlated)
    return SpectralPoints(w1, w2)


@dataclass(frozen=True)
class StationaryMixture:
    r"""The spectral density of a spectral mixture kernel, $p(w) = \sum_q \alpha_q N(w | \mu_q, \sigma_q^2)$.

    Args:
        alpha: mixture weights, positive.
        mu: means.
        sigma: standard deviations, non-negative.
    """

    alpha: Float[Tensor, " Q"]
    mu: Float[Tensor, "Q D"]
    sigma: Float[Tensor, "Q D"]

    def as_bivariate(self) -> BivariateMixture:
        """Return the equivalent bivariate mixture: equal means and standard deviations, correlation one."""
        return BivariateMixture(
            alpha=self.alpha, mu1=self.mu, mu2=self.mu, sigma1=self.sigma, sigma2=self.sigma,
            rho=torch.ones_like(self.alpha),
        )  # fmt: skip


def stationary_sample(density: StationaryMixture, eps: Float[Tensor, "Q P D"]) -> SpectralPoints:
    """Transform standard normal draws into tied spectral points, w_1 = w_2 = mu + sigma eps, each Q x P x D."""
    w = density.mu[:, None] + density.sigma[:, None] * eps
    return SpectralPoints(w, w)
