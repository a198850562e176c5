"""The log evidence of a view under an arbitrary kernel matrix, in O(N^3)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.cholesky import add_to_diagonal, factor
from mvlvm.shapes import Scalar


def exact_log_evidence(Y: Float[Tensor, "N M"], K: Float[Tensor, "N N"], noise_variance: Scalar) -> Scalar:
    r"""Return the log density of all columns of a view, $\sum_m \log N(y_m | 0, K + s I)$.

    This is term (a) of the bound with the exact kernel matrix instead of random features [eq:gaussian_elbo_estimate].

    Args:
        Y: the view.
        K: its kernel matrix.
        noise_variance: s, positive.

    Returns:
        The log evidence, a float64 scalar.

    Raises:
        NumericalError: the covariance cannot be factored.
    """
    N, M = Y.shape
    covariance = factor(add_to_diagonal(K.double(), noise_variance.double()))
    whitened = torch.linalg.solve_triangular(covariance.L, Y.double(), upper=False)
    return -0.5 * (M * (covariance.log_det + N * math.log(2 * math.pi)) + whitened.square().sum())
