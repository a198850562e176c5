"""Multi-view latent variable models with Gaussian processes."""

__version__ = "0.1.0"
