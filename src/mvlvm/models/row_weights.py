r"""Rows that count more or less than once.

A row of weight a has the likelihood $N(y | f, s)^a$, as a copies of it would have. The rows $\sqrt a\, y$ and
$\sqrt a\, f$ have the same exponent, but the normaliser only once, so the evidence of a view with weights is that of
its rows and features times $\sqrt a$, and $-\tfrac12 \log 2 \pi s$ for every observed entry beyond the first:

    log p(Y | a) = log N(sqrt(a) Y | 0, sqrt(a) Phi Phi' sqrt(a) + s I) - 1/2 sum_n (a_n - 1) M_n log 2 pi s

with M_n the number of entries that were seen in row n. The same holds for the bound where single entries are hidden.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.models.observed import ObservedView
from mvlvm.shapes import Scalar


def unweighed(values: Float[Tensor, "R K"], weight: Float[Tensor, " R"] | None) -> Float[Tensor, "R K"]:
    """Undo `ObservedView.weigh`."""
    return values if weight is None else values / weight.sqrt().to(values)[:, None]


def missing_normalisers(seen: ObservedView, noise_variance: Scalar) -> Scalar:
    """Give what the log evidence of weighed rows lacks: the normalisers of copies beyond the first."""
    if seen.weight is None:
        return torch.zeros_like(noise_variance)
    n_hidden = 0 if seen.hidden is None else seen.hidden.sum(dim=1)
    n_copies = ((seen.weight - 1) * (seen.Y.shape[1] - n_hidden)).sum()
    return -0.5 * n_copies * (2 * math.pi * noise_variance).log()
