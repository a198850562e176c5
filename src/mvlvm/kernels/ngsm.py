r"""The next-gen spectral mixture (NG-SM) kernel (App. B.3) and its predecessor, the bivariate SM kernel (App. B.1).

Both are sums of terms $E \cos(w_a^\top x - w_b^\top y)$ over jointly normal frequencies, which have a closed form.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.spectral.density import BivariateMixture


def bivariate_sm_kernel(
    X1: Float[Tensor, "N D"], X2: Float[Tensor, "K D"], density: BivariateMixture
) -> Float[Tensor, "N K"]:
    r"""Evaluate the bivariate SM kernel [eq:kernel_BSM_1].

    $$ k(x, y) = \tfrac14 \sum_q \alpha_q \exp(-\tfrac12 \tilde x^\top \Sigma_q \tilde x)\, \Psi_q(x)^\top \Psi_q(y),
       \qquad \tilde x = (x, -y) $$

    The factor 1/4 is missing in the paper. It follows from the Fourier transform of the paper's density, which has
    eight components of weight 1/8 (docs/errata.md).

    Args:
        X1: latents x.
        X2: latents y.
        density: the spectral density. The kernel is a covariance only if sigma1 = sigma2 and rho >= 0.

    Returns:
        The kernel matrix, N x K.

    Raises:
        ValueError: the kernel of this density is not a covariance.
    """
    if not torch.equal(density.sigma1, density.sigma2):
        raise ValueError(
            "The bivariate SM kernel is symmetric only for equal standard deviations. Got different sigma1 and sigma2. "
            "Pass the same tensor for both, or use ngsm_kernel, which has no such restriction."
        )
    if (density.rho < 0).any():
        raise ValueError(
            "The bivariate SM kernel is positive semi-definite only for correlations in [0, 1]. "
            f"Got rho = {density.rho.tolist()}. Use ngsm_kernel, which has no such restriction."
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


def ngsm_kernel(X1: Float[Tensor, "N D"], X2: Float[Tensor, "K D"], density: BivariateMixture) -> Float[Tensor, "N K"]:
    r"""Evaluate the NG-SM kernel [eq:ng-sm-kernel].

    $$ k(x, y) = \tfrac14 \sum_q \alpha_q [ c_{12}(x, y) + c_{21}(x, y) + c_{11}(x, y) + c_{22}(x, y) ] $$

    where $c_{ab}(x, y) = E \cos(w_a^\top x - w_b^\top y)$ under the q-th bivariate normal.

    Args:
        X1: latents x.
        X2: latents y.
        density: the spectral density.

    Returns:
        The kernel matrix, N x K.
    """
    total = torch.zeros(len(X1), len(X2)).to(X1)
    for alpha, mu1, mu2, sigma1, sigma2, rho in zip(
        density.alpha, density.mu1, density.mu2, density.sigma1, density.sigma2, density.rho, strict=True
    ):
        var1, var2, cov = sigma1**2, sigma2**2, rho * sigma1 * sigma2
        total = total + 0.25 * alpha * (
            expected_cosine(X1, X2, (mu1, mu2), (var1, var2, cov))
            + expected_cosine(X1, X2, (mu2, mu1), (var2, var1, cov))
            + expected_cosine(X1, X2, (mu1, mu1), (var1, var1, var1))
            + expected_cosine(X1, X2, (mu2, mu2), (var2, var2, var2))
        )
    return total


def expected_cosine(
    X1: Float[Tensor, "N D"],
    X2: Float[Tensor, "K D"],
    means: tuple[Float[Tensor, " D"], Float[Tensor, " D"]],
    covariance: tuple[Float[Tensor, " D"], Float[Tensor, " D"], Float[Tensor, " D"]],
) -> Float[Tensor, "N K"]:
    r"""Return $E \cos(w_a^\top x - w_b^\top y)$ for jointly normal w_a, w_b, Term (1) to Term (4) of App. B.3.

    $$ \exp(-\tfrac12 (x^\top \Sigma_a x - 2 x^\top \Sigma_c y + y^\top \Sigma_b y))
       \cos(\mu_a^\top x - \mu_b^\top y) $$

    Args:
        X1: latents x.
        X2: latents y.
        means: $\mu_a$, $\mu_b$.
        covariance: the diagonals of $\Sigma_a$, $\Sigma_b$ and the cross-covariance $\Sigma_c$.

    Returns:
        The expectation for each pair of rows, N x K.
    """
    (mu_a, mu_b), (var_a, var_b, cov) = means, covariance
    # x'Ax - 2 x'Cy + y'By = (x - y)'C(x - y) + x'(A - C)x + y'(B - C)y: no cancellation far from the origin
    differences = (X1[:, None] - X2[None]).square() @ cov
    quadratic = differences + (X1**2 @ (var_a - cov))[:, None] + X2**2 @ (var_b - cov)
    return torch.exp(-0.5 * quadratic) * torch.cos((X1 @ mu_a)[:, None] - X2 @ mu_b)
