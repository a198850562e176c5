"""The posterior of rows that were not in training: Laplace approximations, mixtures over candidate latents, tempering."""
