"""Differentiable draws from a bivariate mixture (Prop. 1)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.spectral.density import BivariateMixture


class SpectralPoints(NamedTuple):
    """P pairs of frequencies for each of Q mixtures."""

    w1: Float[Tensor, "Q P D"]
    w2: Float[Tensor, "Q P D"]


def two_step_sample(
    density: BivariateMixture, eps1: Float[Tensor, "Q P D"], eps2: Float[Tensor, "Q P D"]
) -> SpectralPoints:
    r"""Turn standard normal draws into spectral points (Prop. 1).

    $$ w_1 = \mu_1 + \sigma_1 \epsilon_1, \qquad
       w_2 = \mu_2 + \rho \sigma_2 \epsilon_1 + \sqrt{1 - \rho^2}\, \sigma_2 \epsilon_2 $$

    The printed step 2 has $(\sigma_2 / \sigma_1) (w_1 - \mu_1)$ for $\sigma_2 \epsilon_1$: the same number without
    the division. Only one of the two signs of s_q is drawn: both give the same features up to the sign of the sines.
    """
    rho = density.rho[:, None, None]
    w1 = torch.addcmul(density.mu1[:, None], density.sigma1[:, None], eps1)
    correlated = torch.addcmul(rho * eps1, (1 - rho**2).sqrt(), eps2)
    w2 = torch.addcmul(density.mu2[:, None], density.sigma2[:, None], correlated)
    return SpectralPoints(w1, w2)
