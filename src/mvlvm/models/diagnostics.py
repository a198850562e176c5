"""Diagnostics of a trained model: explained variance, the reported bound, kernel matrices, unused dimensions."""

import statistics
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.models.data import ViewData
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import MultiViewLVM, with_states
from mvlvm.models.state import IncompleteState
from mvlvm.models.views import AbstractView, ModelView
from mvlvm.row_blocks import row_blocks, row_sum
from mvlvm.shapes import Scalar

# Features of all spectral draws together: the largest array per row of a view with few columns.
_N_FEATURES = 1000
# A dimension is used if some view would lose at least this share of its variance without it. Measured on 3, 5 and 8
# factors: true factors account for 0.07 and more of some view, spurious ones for 0.015 after 200 steps and at most
# 0.004 after 500. Where the number of factors is not well defined, as in mfeat, this threshold bounds the search.
MIN_SHARE = 0.02

# From means and standard deviations of latents to the expected entries of a view.
ExpectedView = Callable[[Float[Tensor, "N D"], Float[Tensor, "N D"]], Float[Tensor, "N M"]]


class ExplainedVariance(NamedTuple):
    """Shares of a view's variance.

    Attributes:
        total: the share that the model explains, R^2.
        lost: decrease of R^2 when one dimension is held at its mean.
    """

    total: float
    lost: Float[Tensor, " D"]

    def per_dimension(self) -> Float[Tensor, " D"]:
        """Return the part of the explained variance that is lost without each dimension, at most `total`.

        A reconstruction without the dimension may be worse than the column means, and its R^2 negative; it then counts
        as explaining nothing.
        """
        return self.lost.clamp_max(self.total)


@torch.no_grad()
def explained_variance(expected: ExpectedView, latent: GaussianLatent, data: ViewData) -> ExplainedVariance:
    r"""Compare the observed entries of the training rows with their expectations.

    $$ R^2 = 1 - \frac{\sum_{nm} (y_{nm} - f_{nm})^2}{\sum_{nm} (y_{nm} - \bar y_m)^2} $$

    The loss of a dimension is $R^2$ minus the $R^2$ of the same function with the dimension at its mean in every row.
    Losses need not add up to $R^2$: if two dimensions interact, each of them accounts for the interaction. A negative
    loss means that the expectation is closer to the view without the dimension.

    Args:
        expected: the expected entries at given latents.
        latent: posterior of the training rows.
        data: the scaled view.
    """
    center, mean, std = latent.mean.mean(dim=0), data.select(latent.mean), data.select(latent.std)
    column_means, D = _column_means(data), latent.mean.shape[1]

    def term(rows: slice) -> tuple[Scalar, ...]:
        Y, weight = data.entries_of(rows), _sample_weight(data, rows)
        squares = [_sum_of_squares(Y - column_means, weight)]
        squares.append(_sum_of_squares(Y - expected(mean[rows], std[rows]), weight))
        for d in range(D):
            held_mean, held_std = mean[rows].clone(), std[rows].clone()
            held_mean[:, d], held_std[:, d] = center[d], 0.0
            squares.append(_sum_of_squares(Y - expected(held_mean, held_std), weight))
        return tuple(squares)

    total, *left = row_sum(row_blocks(len(data.Y), max(data.Y.shape[1], _N_FEATURES)), term)
    residual, *without = (squares / total for squares in left)
    return ExplainedVariance(1 - float(residual), torch.stack([share - residual for share in without]))


def _sum_of_squares(residual: Float[Tensor, "n M"], weight: Float[Tensor, " n"] | None) -> Scalar:
    """Sum the squares of the observed entries, weighted by row. The residual is overwritten."""
    squares = residual.square_().nan_to_num_(nan=0.0)
    return squares.sum() if weight is None else weight.to(squares) @ squares.sum(dim=1)


def _column_means(data: ViewData) -> Float[Tensor, " M"]:
    """Return the weighted means of the observed entries of every column."""

    def term(rows: slice) -> tuple[Float[Tensor, " M"], Float[Tensor, " M"]]:
        Y, weight = data.entries_of(rows).double(), _sample_weight(data, rows)
        weight = Y.new_ones(len(Y)) if weight is None else weight.to(Y)
        return weight @ Y.nan_to_num(nan=0.0), weight @ (~torch.isnan(Y)).to(Y)

    total, count = row_sum(row_blocks(*data.Y.shape), term)
    return total / count


def _sample_weight(data: ViewData, rows: slice) -> Float[Tensor, " n"] | None:
    return None if data.sample_weight is None else data.sample_weight[rows]


@torch.no_grad()
def expected_bound(
    model: MultiViewLVM, views: Mapping[str, ModelView], generator: torch.Generator, *, n_entries: int
) -> float:
    """Average the bound over draws of latents and spectral points until its standard error is small.

    Small means `defaults.BOUND_PRECISION` nats per entry, with at least `defaults.MIN_DRAWS_BOUND` and at most
    `defaults.MAX_DRAWS_BOUND` draws. With many rows the draws vary less, so large data sets need few.

    Args:
        model: the trained model.
        views: the views; imputed entries are improved from draw to draw, q(weights) stays as trained.
        generator: source of the draws.
        n_entries: number of observed entries.
    """
    values: list[float] = []
    while len(values) < defaults.MAX_DRAWS_BOUND:
        bound, states = model.elbo(views, generator)
        values.append(float(bound.value))
        imputed = {name: state for name, state in states.items() if isinstance(state, IncompleteState)}
        views = with_states(views, {name: imputed.get(name, view.state) for name, view in views.items()})
        if len(values) >= defaults.MIN_DRAWS_BOUND:
            standard_error = statistics.stdev(values) / len(values) ** 0.5
            if standard_error <= defaults.BOUND_PRECISION * n_entries:
                break
    return statistics.fmean(values)


def learned_gram(
    view: AbstractView, latent: GaussianLatent, n_draws: int, generator: torch.Generator
) -> Float[Tensor, "N N"]:
    """Average Phi Phi' over draws of the latents and the spectral points, in float64.

    The constant feature, which models the level of a column, is left out: it does not distinguish rows.
    """
    total = 0.0
    for _ in range(n_draws):
        features = replace(view.draw_features(generator), constant=0.0)
        Phi = features(latent.sample(generator)).double()
        total = total + Phi @ Phi.T / n_draws
    return torch.as_tensor(total)


def used_dimensions(
    functions: Mapping[str, ExpectedView], latent: GaussianLatent, views: Mapping[str, ModelView]
) -> Bool[Tensor, " D"]:
    """Return which dimensions some view uses; if none does, the most important one counts as used.

    A dimension that explains nothing increases the divergence from the prior, so training shrinks its latents towards
    the prior and its frequencies towards zero.

    Args:
        functions: view name -> its expected entries at given latents.
        latent: posterior of the training rows.
        views: the views with their data.
    """
    lost = [explained_variance(function, latent, views[name].data).lost for name, function in functions.items()]
    most = torch.stack(lost).max(dim=0).values
    used = most >= MIN_SHARE
    used[most.argmax()] = True
    return used


@torch.no_grad()
def keep_dimensions(model: MultiViewLVM, kept: Bool[Tensor, " D"]) -> None:
    """Remove all other dimensions from a model."""
    latent = model.latent
    latent.mean = nn.Parameter(latent.mean[:, kept].contiguous())
    latent.raw_std = nn.Parameter(latent.raw_std[:, kept].contiguous())
    for module in model.modules_by_view.values():
        module.keep_dimensions(kept)
