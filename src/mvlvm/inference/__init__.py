"""The posterior of new rows: Laplace approximations, mixtures over candidate latents, likelihood tempering."""
