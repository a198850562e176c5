"""Spectral densities, and differentiable samples of spectral points from them (Prop. 1).

The density of the NG-SM kernel is a mixture of bivariate Gaussians; in that of the stationary SM kernel w_1 = w_2.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class BivariateMixture:
    r"""The spectral density of one view [eq:spectral_density_of_Next-Gen_SM].

    $$ p(w_1, w_2) = \sum_q \alpha_q s_q(w_1, w_2) $$

    where $s_q(w_1, w_2) = s_q(-w_1, -w_2)$ is the average of two bivariate normal densities of opposite sign. In each
    latent dimension w_1 and w_2 have means mu_q1 and mu_q2, standard deviations sigma_q1 and sigma_q2, and correlation
    rho_q [eq:s_q].

    Args:
        alpha: mixture weights, positive. Their sum is the variance of the kernel at the origin.
        mu1: means of w_1.
        mu2: means of w_2.
        sigma1: standard deviations of w_1, non-negative.
        sigma2: standard deviations of w_2, non-negative.
        rho: correlations of w_1 and w_2, in [-1, 1].
    """

    alpha: Float[Tensor, " Q"]
    mu1: Float[Tensor, "Q D"]
    mu2: Float[Tensor, "Q D"]
    sigma1: Float[Tensor, "Q D"]
    sigma2: Float[Tensor, "Q D"]
    rho: Float[Tensor, " Q"]

    def log_prob(self, w1: Float[Tensor, "K D"], w2: Float[Tensor, "K D"]) -> Float[Tensor, " K"]:
        """Return the log density log p(w_1, w_2) at K pairs of points [eq:spectral_density_of_Next-Gen_SM, eq:s_q]."""
        halves = [
            self.alpha.log() - math.log(2) + _log_bivariate_normal(self, sign * w1, sign * w2) for sign in (1.0, -1.0)
        ]
        return torch.logsumexp(torch.cat(halves, dim=1), dim=1)


def _log_bivariate_normal(
    density: BivariateMixture, w1: Float[Tensor, "K D"], w2: Float[Tensor, "K D"]
) -> Float[Tensor, "K Q"]:
    """Return the log density of each component at each pair, K x Q; the latent dimensions are independent."""
    z1 = (w1[:, None] - density.mu1) / density.sigma1
    z2 = (w2[:, None] - density.mu2) / density.sigma2
    rho = density.rho[:, None]
    mahalanobis = (z1**2 - 2 * rho * z1 * z2 + z2**2) / (1 - rho**2)
    log_norm = math.log(2 * math.pi) + (density.sigma1 * density.sigma2 * (1 - rho**2).sqrt()).log()
    return (-0.5 * mahalanobis - log_norm).sum(dim=2)


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
