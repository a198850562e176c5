"""Simple ways to fill gaps, as yardsticks: column means, the nearest rows, and principal components in rounds."""

import numpy as np
from jaxtyping import Float
from sklearn.impute import KNNImputer

_N_NEIGHBOURS = 10
_N_ROUNDS = 50


def by_means(Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    """Fill gaps with the means of what is there in their columns; zero where nothing is.

    Example:
        >>> by_means(np.array([[1.0, 5.0], [3.0, np.nan], [np.nan, 7.0]])).tolist()
        [[1.0, 5.0], [3.0, 6.0], [2.0, 7.0]]
    """
    there = ~np.isnan(Y)
    means = np.where(there, Y, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.where(there, Y, means)


def by_neighbours(Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    """Fill gaps with means over the ten nearest rows, by distances in what both rows have."""
    return KNNImputer(n_neighbors=_N_NEIGHBOURS, keep_empty_features=True).fit_transform(Y)


def by_components(Y: Float[np.ndarray, "N M"], n_components: int) -> Float[np.ndarray, "N M"]:
    """Fill gaps with column means, then fifty times with what the principal components of the filled data say."""
    filled, there = by_means(Y), ~np.isnan(Y)
    for _ in range(0 if there.all() else _N_ROUNDS):
        filled = np.where(there, Y, rebuilt_by_components(filled, n_components))
    return filled


def rebuilt_by_components(Y: Float[np.ndarray, "N M"], n_components: int) -> Float[np.ndarray, "N M"]:
    """Give data without gaps as their leading principal components say."""
    centre = Y.mean(axis=0)
    _, _, directions = np.linalg.svd(Y - centre, full_matrices=False)
    leading = directions[:n_components]
    return centre + (Y - centre) @ leading.T @ leading
