"""Assertions about kernel matrices."""

import numpy as np
import torch

# Far above rounding errors, far below any relevant violation.
ROUNDING = 1e-10


def smallest_eigenvalue(K):
    return float(np.linalg.eigvalsh(np.asarray(K))[0])


def assert_covariance(K):
    torch.testing.assert_close(K, K.T, rtol=0.0, atol=1e-13)
    assert smallest_eigenvalue(K) > -ROUNDING
