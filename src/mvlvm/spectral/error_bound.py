"""The error bound for the Gram matrix of random features (Thm 4).

With probability at least 1 - delta the spectral norm of the error Phi Phi' - K stays below epsilon. Each of the three
functions solves the bound for one of delta, P and epsilon.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def gram_error_probability(error: float, K: Float[Tensor, "N N"], alpha: Float[Tensor, " Q"], n_points: int) -> float:
    r"""Bound the probability that the spectral norm of $\hat K - K$ is at least `error` (Thm 4).

    $$ N \exp \frac{-3 \epsilon^2 L}{2 N C (6 \|K\|_2 + 3 N C \sqrt Q + 8 \epsilon)},
       \qquad C = \|\alpha\|_2, \quad L = 2P $$

    Args:
        error: the error epsilon, positive.
        K: the exact kernel matrix.
        alpha: the mixture weights.
        n_points: spectral points per mixture component, P.

    Returns:
        The bound on the probability, at most one.
    """
    rate = _exponent_per_point(error, K, alpha)
    return min(1.0, len(K) * math.exp(-rate * n_points))


def points_for_gram_error(error: float, K: Float[Tensor, "N N"], alpha: Float[Tensor, " Q"], probability: float) -> int:
    """Return the smallest number of points P for which Thm 4 bounds the probability of an error by `probability`.

    Args:
        error: the error epsilon, positive.
        K: the exact kernel matrix.
        alpha: the mixture weights.
        probability: the probability with which the error may reach epsilon.

    Returns:
        Spectral points per mixture component, at least one.
    """
    return max(1, math.ceil(math.log(len(K) / probability) / _exponent_per_point(error, K, alpha)))


def gram_error_at_points(
    n_points: int, K: Float[Tensor, "N N"], alpha: Float[Tensor, " Q"], probability: float
) -> float:
    r"""Return the error that is exceeded at P points with at most the given probability (Thm 4).

    The positive solution epsilon of

    $$ 6 P \epsilon^2 = 2 N C \log(N / \delta) \, (6 \|K\|_2 + 3 N C \sqrt Q + 8 \epsilon) $$

    Args:
        n_points: spectral points per mixture component, P.
        K: the exact kernel matrix.
        alpha: the mixture weights.
        probability: delta, between zero and one.

    Returns:
        The error epsilon in the spectral norm.
    """
    scale, variance = _bound_terms(K, alpha)
    linear = scale * math.log(len(K) / probability)
    return (8 * linear + math.sqrt(64 * linear**2 + 24 * n_points * linear * variance)) / (12 * n_points)


def _exponent_per_point(error: float, K: Float[Tensor, "N N"], alpha: Float[Tensor, " Q"]) -> float:
    scale, variance = _bound_terms(K, alpha)
    return 6 * error**2 / (scale * (variance + 8 * error))


def _bound_terms(K: Float[Tensor, "N N"], alpha: Float[Tensor, " Q"]) -> tuple[float, float]:
    """Return 2 N C and 6 |K| + 3 N C sqrt(Q), the variance term of the matrix Bernstein inequality."""
    N, Q = len(K), len(alpha)
    C = float(torch.linalg.vector_norm(alpha))
    K_norm = float(torch.linalg.matrix_norm(K, ord=2))
    return 2 * N * C, 6 * K_norm + 3 * N * C * math.sqrt(Q)
