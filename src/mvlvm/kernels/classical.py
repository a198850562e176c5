"""Classical kernels: stationary ones, and the Gibbs kernel, whose length scale varies over the inputs (App. D.1.1)."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.kernels.ngsm import expected_cosine
from mvlvm.spectral.density import StationaryMixture


def rbf_kernel(
    X1: Float[Tensor, "N D"], X2: Float[Tensor, "K D"], *, lengthscale: float = 1.0, variance: float = 1.0
) -> Float[Tensor, "N K"]:
    r"""Evaluate the squared exponential kernel, $s^2 \exp(-\|x - y\|^2 / (2 \ell^2))$ (App. D.1.1).

    Args:
        X1: latents x.
        X2: latents y.
        lengthscale: the length scale $\ell$.
        variance: the variance $s^2$.

    Returns:
        The kernel matrix, N x K.
    """
    return variance * torch.exp(-0.5 * squared_distance(X1, X2) / lengthscale**2)


def sm_kernel(X1: Float[Tensor, "N D"], X2: Float[Tensor, "K D"], density: StationaryMixture) -> Float[Tensor, "N K"]:
    r"""Evaluate the spectral mixture kernel, the tied case w_1 = w_2 of [eq:ng-sm-kernel].

    $$ k(x, y) = \sum_q \alpha_q \exp(-\tfrac12 \textstyle\sum_d \sigma_{qd}^2 (x_d - y_d)^2)
       \cos(\mu_q^\top (x - y)) $$

    Args:
        X1: latents x.
        X2: latents y.
        density: the spectral density.

    Returns:
        The kernel matrix, N x K.
    """
    total = torch.zeros(len(X1), len(X2)).to(X1)
    for alpha, mu, sigma in zip(density.alpha, density.mu, density.sigma, strict=True):
        total = total + alpha * expected_cosine(X1, X2, (mu, mu), (sigma**2, sigma**2, sigma**2))
    return total


def squared_distance(X1: Float[Tensor, "N D"], X2: Float[Tensor, "K D"]) -> Float[Tensor, "N K"]:
    """Return the squared Euclidean distance of each pair of rows, N x K; from differences, so never negative."""
    return (X1[:, None] - X2[None]).square().sum(dim=2)


Lengthscale = Callable[[Float[Tensor, "N D"]], Float[Tensor, " N"]]


def exponential_lengthscale(X: Float[Tensor, "N D"]) -> Float[Tensor, " N"]:
    r"""Return the length scale of the paper, $\ell(x) = \exp(-\tfrac12 \|x\|)$, for each row (App. D.1.1)."""
    return torch.exp(-0.5 * torch.linalg.vector_norm(X, dim=1))


def gibbs_kernel(
    X1: Float[Tensor, "N D"], X2: Float[Tensor, "K D"], lengthscale: Lengthscale = exponential_lengthscale
) -> Float[Tensor, "N K"]:
    r"""Evaluate the Gibbs kernel in D dimensions (App. D.1.1).

    $$ k(x, y) = \Big( \frac{2 \ell_x \ell_y}{\ell_x^2 + \ell_y^2} \Big)^{D/2}
       \exp\Big( -\frac{\|x - y\|^2}{\ell_x^2 + \ell_y^2} \Big) $$

    The paper has the power 1/2 for D = 2 as well, which is not a covariance (docs/errata.md).

    Args:
        X1: latents x.
        X2: latents y.
        lengthscale: maps latents to the length scale of each row.

    Returns:
        The kernel matrix, N x K.
    """
    D = X1.shape[1]
    l1, l2 = lengthscale(X1)[:, None], lengthscale(X2)[None]
    sum_of_squares = l1**2 + l2**2
    return (2 * l1 * l2 / sum_of_squares) ** (D / 2) * torch.exp(-squared_distance(X1, X2) / sum_of_squares)
