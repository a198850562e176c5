"""The spectral density of the NG-SM kernel, a mixture of bivariate Gaussians."""

import math
from dataclasses import dataclass

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
