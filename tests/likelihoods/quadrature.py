"""Integrals over a normal variable with many evenly spaced points, independent of the integrand."""

import numpy as np

_REACH, _N_POINTS = 12.0, 20_001


def normal_points(mean, variance, n=_N_POINTS):
    """Return points f and weights that integrate a function over N(mean, variance)."""
    z = np.linspace(-_REACH, _REACH, n)
    weights = np.exp(-0.5 * z**2)
    return mean + np.sqrt(variance) * z, weights / weights.sum()


def log_normal_integral(log_function, mean, variance):
    """Return the log of the integral of exp(log_function(f)) N(f; mean, variance).

    The peak is located on a wide coarse grid, and the integral is computed on a fine grid around it.
    """

    def log_integrand(z):
        return log_function(mean + np.sqrt(variance) * z) - 0.5 * z**2 - 0.5 * np.log(2 * np.pi)

    coarse = np.linspace(-500, 2500, 30_001)
    coarse = coarse[mean + np.sqrt(variance) * coarse < 600]  # where exp(f) is finite
    with np.errstate(all="ignore"):  # densities may be zero
        centre = coarse[np.argmax(log_integrand(coarse))]
        fine = np.linspace(centre - 25, centre + 25, _N_POINTS)
        h = log_integrand(fine)
    return h.max() + np.log(np.exp(h - h.max()).sum() * (fine[1] - fine[0]))
