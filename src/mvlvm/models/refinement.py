r"""Where new rows lie: the normal q(x*) around the nearest mode of the posterior, with everything else frozen.

    log p(x | y) = const + t \sum_v \log p(y_v | x) - |x|^2 / 2

climbed by Gauss-Newton steps with damping, every row for itself. `t` tempers the likelihood: residuals of one row are
correlated (neighbouring pixels err together), so that M entries count for fewer than M independent ones.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.models.row_likelihood import row_slopes
from mvlvm.models.view_function import ViewFunction
from mvlvm.models.weight_posterior import Prediction

# Levenberg's damping, as a share of the curvature: where it starts, and how it moves after good and bad steps. What
# counts is the share of the promised height that a step gains: one that leads across the summit to the other side may
# gain a little too, and without damping so will the next one, back again.
_START_DAMPING = 1e-2
_GOOD_GAIN, _BAD_GAIN = 0.75, 0.25
_AFTER_GOOD, _AFTER_BAD = 1 / 3, 4.0
_DAMPING_RANGE = (1e-6, 1e6)

# The function of a view, and what was seen of it in new rows; NaN is missing.
SeenView = tuple[ViewFunction, Float[Tensor, "N _"]]


class Placed(NamedTuple):
    """A normal distribution for every row's latent.

    Attributes:
        mean: its mode.
        std: standard deviations, from the curvature there; that dimensions are correlated is not kept.
        log_evidence: the log of the integral of likelihood times prior around the mode (Laplace).
    """

    mean: Float[Tensor, "N D"]
    std: Float[Tensor, "N D"]
    log_evidence: Float[Tensor, " N"]


class _Hill(NamedTuple):
    """The log posterior at latents, its slope, and its curvature with the sign turned."""

    height: Float[Tensor, " N"]
    slope: Float[Tensor, "N D"]
    curvature: Float[Tensor, "N D D"]


def refine(seen: Sequence[SeenView], start: Float[Tensor, "N D"], *, tempering: float, n_steps: int) -> Placed:
    """Climb from where rows are thought to lie to the nearest mode.

    Args:
        seen: the views that were seen, with what was seen.
        start: where to start, in the precision of the functions' features.
        tempering: t, from 0 to 1.
        n_steps: how many steps to try.
    """
    X, hill = start, _climb(seen, start, tempering)
    damping = torch.full_like(hill.height, _START_DAMPING)
    for _ in range(n_steps):
        diagonal = hill.curvature.diagonal(dim1=1, dim2=2) * damping[:, None]
        step = torch.linalg.solve(hill.curvature + torch.diag_embed(diagonal), hill.slope)
        tried = _climb(seen, X + step, tempering)
        better = tried.height > hill.height
        gain = (tried.height - hill.height) / (0.5 * step * (hill.slope + diagonal * step)).sum(dim=1)
        X = torch.where(better[:, None], X + step, X)
        hill = _Hill(*(torch.where(_like(better, new), new, old) for new, old in zip(tried, hill, strict=True)))
        change = torch.where(gain > _GOOD_GAIN, _AFTER_GOOD, torch.where(gain > _BAD_GAIN, 1.0, _AFTER_BAD))
        damping = (damping * change).clamp(*_DAMPING_RANGE)
    covariance = torch.linalg.inv(hill.curvature)
    volume = 0.5 * torch.linalg.slogdet(covariance).logabsdet
    return Placed(X, covariance.diagonal(dim1=1, dim2=2).sqrt(), hill.height + volume)


def _climb(seen: Sequence[SeenView], X: Float[Tensor, "N D"], tempering: float) -> _Hill:
    """Give height, slope and curvature of the log posterior."""
    hill = _Hill(-0.5 * X.square().sum(dim=1), -X, torch.eye(X.shape[1]).to(X).repeat(len(X), 1, 1))
    for function, Y in seen:
        rows = (~torch.isnan(Y).all(dim=1)).nonzero().squeeze(1)  # a view that a row lacks costs it nothing
        part = _likelihood(function, Y[rows], X[rows], tempering)
        for total, addition in zip(hill, part, strict=True):
            total.index_add_(0, rows, addition)
    return hill


def _likelihood(function: ViewFunction, Y: Float[Tensor, "N M"], X: Float[Tensor, "N D"], tempering: float) -> _Hill:
    """Give a view's share; the curvature is that of the means alone, which is never negative."""
    mean, variance, slopes, variance_slopes = function.linearise(X)
    row = row_slopes(function.likelihood, Y, Prediction(mean, variance))
    J, J_variance = slopes.transpose(0, 1), variance_slopes.transpose(0, 1)
    slope = (J @ row.by_mean[:, :, None] + J_variance @ row.by_variance[:, :, None]).squeeze(2)
    curvature = (J * row.curvature[:, None]) @ J.transpose(1, 2)
    return _Hill(*(tempering * part for part in (row.value, slope, curvature)))


def _like(choice: Tensor, values: Tensor) -> Tensor:
    """Give a choice for every row with as many axes as the values have."""
    return choice.reshape(-1, *[1] * (values.ndim - 1))
