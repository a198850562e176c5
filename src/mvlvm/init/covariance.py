r"""Initial latents from the covariance of a view: classical scaling of distances under a squared exponential kernel.

If a view's columns are draws of a Gaussian process with the kernel $s^2 \exp(-|x - x'|^2 / 2)$, the expectation of half
the mean squared difference of two rows is $h = s^2 (1 - \exp(-|x - x'|^2 / 2))$, which does not depend on centring. So

$$ |x - x'|^2 = -2 \log(1 - h / s^2) $$

recovers distances of the latents, with an estimate of the variance $s^2$, and classical scaling the latents. Unlike
principal components, it does not fold a curve along which the covariance vanishes. Of several views, that of the most
nearly Euclidean distances in D dimensions is used.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

# The variance s^2 is estimated by this quantile of h: most pairs of rows are hardly correlated.
_QUANTILE = 0.75
# Correlations below this one do not determine a distance.
_MIN_CORRELATION = 0.1
# Of more rows, random ones are scaled, and the others are placed by their distances to them.
MAX_LANDMARKS = 2000
# The quantile is that of the distances of at most this many rows.
_MAX_ROWS_QUANTILE = 500


def covariance_embedding(
    Ys: Sequence[Float[Tensor, "N _"]], n_components: int, generator: torch.Generator
) -> Float[Tensor, "N D"]:
    """Return the classical scaling of the view whose distances are most nearly Euclidean in D dimensions.

    Args:
        Ys: views without missing entries.
        n_components: the number of dimensions D.
        generator: draws landmarks, if there are many rows.
    """
    N = len(Ys[0])
    order = torch.randperm(N, generator=generator) if N > MAX_LANDMARKS else torch.arange(N)
    landmarks = order[:MAX_LANDMARKS].to(Ys[0].device)
    best, most = None, -1.0
    for Y in Ys:
        scale = variance_of_differences(Y[landmarks[:_MAX_ROWS_QUANTILE]])
        squared = latent_distances(Y[landmarks], Y[landmarks], scale)
        values, vectors = torch.linalg.eigh(double_centred(squared))
        share = float(values[-n_components:].sum() / values.abs().sum())
        if share > most:
            best, most = (Y, scale, squared.mean(dim=0), values[-n_components:], vectors[:, -n_components:]), share
    Y, scale, mean_squared, values, vectors = best  # pyright: ignore[reportGeneralTypeIssues]
    basis = vectors / values.clamp_min(torch.finfo(values.dtype).eps * values.max()).sqrt()
    rows = torch.arange(N, device=Y.device).split(MAX_LANDMARKS)
    placed = [-0.5 * (latent_distances(Y[part], Y[landmarks], scale) - mean_squared) @ basis for part in rows]
    return torch.cat(placed).flip(1)


def latent_distances(Y: Float[Tensor, "n M"], others: Float[Tensor, "L M"], scale: float) -> Float[Tensor, "n L"]:
    """Return squared distances of latents, given the variance s^2 times the number of columns."""
    correlation = 1 - 0.5 * torch.cdist(Y.double(), others.double()).square() / scale
    return -2 * correlation.clamp_min(_MIN_CORRELATION).log()


def variance_of_differences(Y: Float[Tensor, "n M"]) -> float:
    """Return the estimated variance times the number of columns, from the distances of rows."""
    n = len(Y)
    pairs = torch.triu_indices(n, n, offset=1, device=Y.device)
    half = 0.5 * torch.cdist(Y.double(), Y.double()).square()[pairs[0], pairs[1]]
    return float(half.quantile(_QUANTILE).clamp_min(torch.finfo(torch.float64).tiny))


def double_centred(squared: Float[Tensor, "L L"]) -> Float[Tensor, "L L"]:
    """Return the Gram matrix of centred points with some squared distances."""
    gram = -0.5 * (squared - squared.mean(dim=0) - squared.mean(dim=1, keepdim=True) + squared.mean())
    return 0.5 * (gram + gram.T)
