"""Gaussian process latent variable models: exact, sparse, deep, and those of GPy."""
