"""Manifold learning: Isomap, t-SNE and UMAP."""
