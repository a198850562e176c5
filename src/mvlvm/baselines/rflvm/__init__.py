"""Random feature latent variable models, sampled by Markov chain Monte Carlo."""
