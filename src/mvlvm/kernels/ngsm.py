"""The next-gen spectral mixture kernel in closed form (App. B.3)."""

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.spectral.density import BivariateMixture


def ngsm_kernel(X1: Float[Tensor, "N D"], X2: Float[Tensor, "K D"], density: BivariateMixture) -> Float[Tensor, "N K"]:
    r"""Evaluate the NG-SM kernel [eq:ng-sm-kernel].

    $$ k(x, y) = \tfrac14 \sum_q \alpha_q [ c_{12}(x, y) + c_{21}(x, y) + c_{11}(x, y) + c_{22}(x, y) ] $$

    where $c_{ab}(x, y) = E \cos(w_a^\top x - w_b^\top y)$ under the q-th bivariate normal.

    Args:
        X1: one set of latents.
        X2: another.
        density: the spectral density.
    """
    total = torch.zeros(len(X1), len(X2)).to(X1)
    for alpha, mu1, mu2, sigma1, sigma2, rho in zip(
        density.alpha, density.mu1, density.mu2, density.sigma1, density.sigma2, density.rho, strict=True
    ):
        one, two, both = sigma1**2, sigma2**2, rho * sigma1 * sigma2
        total = total + 0.25 * alpha * (
            expected_cosine(X1, X2, (mu1, mu2), (one, two, both))
            + expected_cosine(X1, X2, (mu2, mu1), (two, one, both))
            + expected_cosine(X1, X2, (mu1, mu1), (one, one, one))
            + expected_cosine(X1, X2, (mu2, mu2), (two, two, two))
        )
    return total


def expected_cosine(
    X1: Float[Tensor, "N D"],
    X2: Float[Tensor, "K D"],
    means: tuple[Float[Tensor, " D"], Float[Tensor, " D"]],
    covariance: tuple[Float[Tensor, " D"], Float[Tensor, " D"], Float[Tensor, " D"]],
) -> Float[Tensor, "N K"]:
    r"""Give $E \cos(w_a^\top x - w_b^\top y)$ for jointly normal w_a, w_b, Term (1) to Term (4) of App. B.3.

    $$ \exp(-\tfrac12 (x^\top \Sigma_a x - 2 x^\top \Sigma_c y + y^\top \Sigma_b y))
       \cos(\mu_a^\top x - \mu_b^\top y) $$

    Args:
        X1: latents x.
        X2: latents y.
        means: $\mu_a$, $\mu_b$.
        covariance: the diagonals $\Sigma_a$, $\Sigma_b$, $\Sigma_c$.
    """
    (mu_a, mu_b), (var_a, var_b, cov) = means, covariance
    # x'Ax - 2 x'Cy + y'By = (x - y)'C(x - y) + x'(A - C)x + y'(B - C)y, which does not cancel far from the origin
    differences = (X1[:, None] - X2[None]).square() @ cov
    quadratic = differences + (X1**2 @ (var_a - cov))[:, None] + X2**2 @ (var_b - cov)
    return torch.exp(-0.5 * quadratic) * torch.cos((X1 @ mu_a)[:, None] - X2 @ mu_b)
