r"""The log density of rows with gaps under normal predictions, over what was seen of them.

$$ \log p(y) = -\tfrac12 \sum_{m\ \mathrm{seen}} \Big( \frac{(y_m - f_m)^2}{v_m} + \log 2\pi v_m \Big) $$
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def row_log_density(
    Y: Float[Tensor, "N M"], mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"]
) -> Float[Tensor, " N"]:
    """Give the log density of every row under a prediction of its own.

    Args:
        Y: the rows; NaN is missing.
        mean: the predicted means f.
        variance: the predicted variances v.
    """
    terms = (Y - mean).square() / variance + (2 * math.pi * variance).log()
    return -0.5 * terms.masked_fill(torch.isnan(Y), 0.0).sum(dim=1)


def pairwise_row_log_density(
    Y: Float[Tensor, "N M"], mean: Float[Tensor, "A M"], variance: Float[Tensor, "A M"]
) -> Float[Tensor, "N A"]:
    """Give the log density of every row under every one of A predictions, by products of matrices alone."""
    seen, filled = (~torch.isnan(Y)).to(mean), Y.nan_to_num(nan=0.0).to(mean)
    squares = filled.square() @ (1 / variance).T - 2 * filled @ (mean / variance).T
    return -0.5 * (squares + seen @ (mean.square() / variance + (2 * math.pi * variance).log()).T)
