"""How much of a view a trained model explains, and how much of that hangs on each latent dimension."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.models.latent import GaussianLatent
from mvlvm.models.observed import ObservedView
from mvlvm.models.observed_rows import block_of_entries
from mvlvm.row_blocks import row_blocks
from mvlvm.shapes import Scalar

# Rows of a view with few columns still have features, in all draws together about so many.
_MANY_FEATURES = 1000

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
    center, mean, std = latent.mean.mean(dim=0), seen.of(latent.mean), seen.of(latent.std)
    column_means, D = _column_means(seen), latent.mean.shape[1]
    total, *left = torch.zeros(D + 2, dtype=torch.float64, device=mean.device)
    for rows in row_blocks(len(seen.Y), max(seen.Y.shape[1], _MANY_FEATURES)):
        Y, weight = block_of_entries(seen, rows), _weight_of(seen, rows)
        total += _squares(Y - column_means, weight)
        left[0] += _squares(Y - expected(mean[rows], std[rows]), weight)
        for d in range(D):
            held, known = mean[rows].clone(), std[rows].clone()
            held[:, d], known[:, d] = center[d], 0.0
            left[d + 1] += _squares(Y - expected(held, known), weight)
    left_over, *without = (squares / total for squares in left)
    return Explained(1 - float(left_over), torch.stack([share - left_over for share in without]))


def _squares(residual: Float[Tensor, "n M"], weight: Float[Tensor, " n"] | None) -> Scalar:
    """Sum the squares of what was observed; rows count by their weights."""
    squares = residual.square_().nan_to_num_(nan=0.0)
    return squares.sum() if weight is None else weight.to(squares) @ squares.sum(dim=1)


def _column_means(seen: ObservedView) -> Float[Tensor, " M"]:
    """Give the mean of every column's observed entries; rows count by their weights."""
    total, count = torch.zeros((2, seen.Y.shape[1]), dtype=torch.float64, device=seen.Y.device)
    for rows in row_blocks(*seen.Y.shape):
        Y, weight = block_of_entries(seen, rows).double(), _weight_of(seen, rows)
        weight = Y.new_ones(len(Y)) if weight is None else weight.to(Y)
        total += weight @ Y.nan_to_num(nan=0.0)
        count += weight @ (~torch.isnan(Y)).to(Y)
    return total / count


def _weight_of(seen: ObservedView, rows: slice) -> Float[Tensor, " n"] | None:
    return None if seen.weight is None else seen.weight[rows]
