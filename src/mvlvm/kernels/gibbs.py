"""The Gibbs kernel, a squared exponential kernel whose length scale varies over the input space (App. D.1.1)."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.kernels.stationary import squared_distance

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
