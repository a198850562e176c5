"""How much of a known truth was found again."""

import numpy as np
from jaxtyping import Float


def best_affine_map(truth: Float[np.ndarray, "N D"], found: Float[np.ndarray, "N K"]) -> Float[np.ndarray, "N D"]:
    """Map found latents as near to the true ones as a shift and a linear map can.

    A latent space is known only up to such a map: the kernels can undo any shift, stretch and rotation.
    """
    design = np.column_stack([np.ones(len(found)), found])
    return design @ np.linalg.lstsq(design, truth, rcond=None)[0]


def affine_r2(truth: Float[np.ndarray, "N D"], found: Float[np.ndarray, "N K"]) -> float:
    """Give the share of the true latents' variance that the best affine map of the found ones explains.

    Example:
        >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 5.0]])
        >>> round(affine_r2(X, 3 * X[:, ::-1] - 1), 9)
        1.0
    """
    residual = truth - best_affine_map(truth, found)
    total = truth - truth.mean(axis=0)
    return float(1 - (residual**2).sum() / (total**2).sum())


def gram_correlation(truth: Float[np.ndarray, "N N"], found: Float[np.ndarray, "N N"]) -> float:
    """Give the correlation of two kernel matrices' entries above the diagonal."""
    above = np.triu_indices(len(truth), k=1)
    return float(np.corrcoef(truth[above], found[above])[0, 1])
