"""Initial latents: principal components, private dimensions, and embeddings of k-nearest-neighbour graphs."""
