"""Integrals over a normal variable by a rule that knows nothing of the integrand: many points, evenly spaced."""

import numpy as np

_WIDE, _MANY = 12.0, 20_001


def normal_points(mean, variance, n=_MANY):
    """Points f and weights that integrate a function over N(mean, variance)."""
    z = np.linspace(-_WIDE, _WIDE, n)
    weights = np.exp(-0.5 * z**2)
    return mean + np.sqrt(variance) * z, weights / weights.sum()


def log_normal_integral(log_function, mean, variance):
    """Log of the integral of exp(log_function(f)) N(f; mean, variance), wherever its peak is.

    It is looked for on a coarse grid that reaches far, and the integral is taken on a fine one about it.
    """

    def log_integrand(z):
        return log_function(mean + np.sqrt(variance) * z) - 0.5 * z**2 - 0.5 * np.log(2 * np.pi)

    coarse = np.linspace(-500, 2500, 30_001)
    coarse = coarse[mean + np.sqrt(variance) * coarse < 600]  # where exp(f) is a number
    with np.errstate(all="ignore"):  # densities that are zero
        centre = coarse[np.argmax(log_integrand(coarse))]
        fine = np.linspace(centre - 25, centre + 25, _MANY)
        h = log_integrand(fine)
    return h.max() + np.log(np.exp(h - h.max()).sum() * (fine[1] - fine[0]))
