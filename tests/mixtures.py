"""Random spectral densities, and samples from them."""

from types import SimpleNamespace

import torch

from mvlvm.spectral import BivariateMixture, StationaryMixture, two_step_sample


def uniform(low, high, shape, generator):
    return low + (high - low) * torch.rand(shape, generator=generator, dtype=torch.float64)


def normal(shape, generator):
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def random_mixture(Q, D, generator, *, rho=None):
    """Return a mixture with mu1 != mu2 and sigma1 well below sigma2; rho is near the given number, or random."""
    return BivariateMixture(
        alpha=uniform(0.3, 1, (Q,), generator),
        mu1=normal((Q, D), generator),
        mu2=normal((Q, D), generator),
        sigma1=uniform(0.4, 0.8, (Q, D), generator),
        sigma2=uniform(1.2, 1.8, (Q, D), generator),
        rho=uniform(-0.95, 0.95, (Q,), generator) if rho is None else rho + uniform(-0.05, 0.05, (Q,), generator),
    )


def random_stationary_mixture(Q, D, generator):
    return StationaryMixture(
        alpha=uniform(0.3, 1, (Q,), generator),
        mu=normal((Q, D), generator),
        sigma=uniform(0.4, 1.8, (Q, D), generator),
    )


def draw_points(density, n_points, generator, sample=two_step_sample):
    Q, D = density.mu1.shape
    eps1, eps2 = (normal((Q, n_points, D), generator) for _ in range(2))
    return sample(density, eps1, eps2)


def as_arrays(density):
    """Return the parameters of a density as NumPy arrays, for the oracles."""
    return SimpleNamespace(**{name: value.numpy() for name, value in vars(density).items()})
