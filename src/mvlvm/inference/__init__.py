"""Posterior of out-of-sample rows: Laplace approximations, mixtures over candidate latents, likelihood tempering."""
