"""Agreement of estimated latents and kernels with the ground truth of simulated data."""

import numpy as np
from jaxtyping import Float


def best_affine_map(truth: Float[np.ndarray, "N D"], found: Float[np.ndarray, "N K"]) -> Float[np.ndarray, "N D"]:
    """Map estimated latents to the true latents by affine least-squares regression.

    Latents are identified only up to an affine map, since the kernel parameters can compensate for translation, scaling
    and rotation.

    Args:
        truth: true latents.
        found: estimated latents of the same rows.

    Returns:
        The (N, D) fitted values of the regression of `truth` on `found`.
    """
    design = np.column_stack([np.ones(len(found)), found])
    return design @ np.linalg.lstsq(design, truth, rcond=None)[0]


def affine_r2(truth: Float[np.ndarray, "N D"], found: Float[np.ndarray, "N K"]) -> float:
    """Compute the R^2 of the affine regression of the true latents on the estimated latents.

    Args:
        truth: true latents.
        found: estimated latents of the same rows.

    Returns:
        The fraction of the total variance of `truth` that is explained, at most 1.

    Example:
        >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 5.0]])
        >>> round(affine_r2(X, 3 * X[:, ::-1] - 1), 9)
        1.0
    """
    residual = truth - best_affine_map(truth, found)
    total = truth - truth.mean(axis=0)
    return float(1 - (residual**2).sum() / (total**2).sum())


def gram_correlation(truth: Float[np.ndarray, "N N"], found: Float[np.ndarray, "N N"]) -> float:
    """Return the Pearson correlation of the entries of two kernel matrices above the diagonal."""
    above = np.triu_indices(len(truth), k=1)
    return float(np.corrcoef(truth[above], found[above])[0, 1])
