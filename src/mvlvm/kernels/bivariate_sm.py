"""The bivariate spectral mixture kernel, the NG-SM kernel's forerunner (App. B.1)."""

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.kernels.ngsm import expected_cosine
from mvlvm.spectral.density import BivariateMixture


def bivariate_sm_kernel(
    X1: Float[Tensor, "N D"], X2: Float[Tensor, "K D"], density: BivariateMixture
) -> Float[Tensor, "N K"]:
    r"""Evaluate the bivariate SM kernel [eq:kernel_BSM_1].

    $$ k(x, y) = \tfrac14 \sum_q \alpha_q \exp(-\tfrac12 \tilde x^\top \Sigma_q \tilde x)\, \Psi_q(x)^\top \Psi_q(y),
       \qquad \tilde x = (x, -y) $$

    The factor 1/4, which the printed kernel lacks, is what the printed density of eight components with weight 1/8
    has for its transform.

    Args:
        X1: one set of latents.
        X2: another.
        density: the spectral density. The kernel is a covariance only if sigma1 = sigma2 and rho >= 0.

    Raises:
        ValueError: the density does not give a covariance.
    """
    if not torch.equal(density.sigma1, density.sigma2):
        raise ValueError(
            "The bivariate SM kernel is symmetric only for equal deviations. Got sigma1 and sigma2 that differ. "
            "Give the same tensor for both, or use ngsm_kernel, which has no such limit."
        )
    if (density.rho < 0).any():
        raise ValueError(
            "The bivariate SM kernel is positive semi-definite only for correlations in [0, 1]. "
            f"Got rho = {density.rho.tolist()}. Use ngsm_kernel, which has no such limit."
        )
    total = torch.zeros(len(X1), len(X2)).to(X1)
    for alpha, mu1, mu2, sigma, rho in zip(
        density.alpha, density.mu1, density.mu2, density.sigma1, density.rho, strict=True
    ):
        covariance = (sigma**2, sigma**2, rho * sigma**2)
        for mu_a in (mu1, mu2):
            for mu_b in (mu1, mu2):
                total = total + 0.25 * alpha * expected_cosine(X1, X2, (mu_a, mu_b), covariance)
    return total
