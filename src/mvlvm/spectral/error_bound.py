"""How far the feature Gram matrix may be from the kernel matrix (Thm 4)."""

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
        n_points: spectral points per mixture, P.

    Returns:
        The bound, cut at one.
    """
    rate = _exponent_per_point(error, K, alpha)
    return min(1.0, len(K) * math.exp(-rate * n_points))


def points_for_gram_error(error: float, K: Float[Tensor, "N N"], alpha: Float[Tensor, " Q"], probability: float) -> int:
    """Give the number of points P at which Thm 4 promises an error below `error` except with this probability."""
    return max(1, math.ceil(math.log(len(K) / probability) / _exponent_per_point(error, K, alpha)))


def gram_error_at_points(
    n_points: int, K: Float[Tensor, "N N"], alpha: Float[Tensor, " Q"], probability: float
) -> float:
    r"""Give the error that Thm 4 promises at P points to be exceeded with this probability at most.

    $$ 6 P \epsilon^2 = 2 N C \log(N / \delta) \, (6 \|K\|_2 + 3 N C \sqrt Q + 8 \epsilon) $$

    solved for epsilon, with delta the probability, below one.
    """
    scale, room = _bound_terms(K, alpha)
    steep = scale * math.log(len(K) / probability)
    return (8 * steep + math.sqrt(64 * steep**2 + 24 * n_points * steep * room)) / (12 * n_points)


def _exponent_per_point(error: float, K: Float[Tensor, "N N"], alpha: Float[Tensor, " Q"]) -> float:
    scale, room = _bound_terms(K, alpha)
    return 6 * error**2 / (scale * (room + 8 * error))


def _bound_terms(K: Float[Tensor, "N N"], alpha: Float[Tensor, " Q"]) -> tuple[float, float]:
    """Give 2 N C and 6 |K| + 3 N C sqrt(Q)."""
    N, Q = len(K), len(alpha)
    C = float(torch.linalg.vector_norm(alpha))
    K_norm = float(torch.linalg.matrix_norm(K, ord=2))
    return 2 * N * C, 6 * K_norm + 3 * N * C * math.sqrt(Q)
