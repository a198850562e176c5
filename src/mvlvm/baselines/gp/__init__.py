"""Gaussian process latent variable models: exact, sparse, deep, and wrappers of GPy."""
