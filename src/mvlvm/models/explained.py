"""How much of a view a trained model explains, and how much of that hangs on each latent dimension."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.models.latent import GaussianLatent
from mvlvm.models.observed import ObservedView

# From means and standard deviations of latents to the expected entries of a view.
ExpectedView = Callable[[Float[Tensor, "N D"], Float[Tensor, "N D"]], Float[Tensor, "N M"]]


class Explained(NamedTuple):
    """Shares of a view's variance.

    Attributes:
        total: what the model explains.
        by_dimension: what is lost of it when one dimension is held at its mean.
    """

    total: float
    by_dimension: Float[Tensor, " D"]


@torch.no_grad()
def explained_variance(expected: ExpectedView, latent: GaussianLatent, seen: ObservedView) -> Explained:
    r"""Compare a view with what is expected of it, over the observed entries of the training rows.

    $$ R^2 = 1 - \frac{\sum_{nm} (y_{nm} - f_{nm})^2}{\sum_{nm} (y_{nm} - \bar y_m)^2} $$

    and the loss of a dimension is $R^2$ minus the $R^2$ of the same function with the dimension at its mean in every
    row. Losses need not add up to $R^2$: two dimensions that act together are both missed in full. A loss below zero
    says that the view would be expected better without the dimension.

    Args:
        expected: what is expected of the view at latents.
        latent: where the training rows lie.
        seen: the scaled view.
    """
    mean, std, Y = latent.mean, latent.std, seen.entries
    total = seen.weigh(Y - _column_means(seen)).square().nansum()
    left_over = seen.weigh(Y - seen.of(expected(mean, std))).square().nansum() / total
    lost = []
    for d in range(mean.shape[1]):
        held, known = mean.clone(), std.clone()
        held[:, d], known[:, d] = mean[:, d].mean(), 0.0
        lost.append(seen.weigh(Y - seen.of(expected(held, known))).square().nansum() / total - left_over)
    return Explained(1 - float(left_over), torch.stack(lost))


def _column_means(seen: ObservedView) -> Float[Tensor, " M"]:
    """Give the mean of every column's observed entries; rows count by their weights."""
    if seen.weight is None:
        return seen.entries.nanmean(dim=0)
    counts = seen.weight[:, None].to(seen.entries) * ~torch.isnan(seen.entries)
    return (counts * seen.entries).nansum(dim=0) / counts.sum(dim=0)
