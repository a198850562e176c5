r"""Weights that balance views of different widths.

The evidence of a view is a sum over its columns, so a wide view of few effective dimensions outweighs a narrow one that
has as many. The balanced weight of view v is

$$ w_v = \frac{e_v / m_v}{\max_u e_u / m_u} $$

with the number $m_v$ of observed entries per row that has the view (one for a categorical view), and its effective
number of columns $e_v$: the participation ratio $(\sum_i l_i)^2 / \sum_i l_i^2$ of the eigenvalues of its covariance,
times the share of the variance above the noise edge $\mathrm{median}(l) (1 + \sqrt{\gamma})^2$, where
$\gamma \leq 1$ is the ratio of rows and columns or its inverse. The leading eigenvalue always counts, so that no
weight is zero.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.likelihoods import AbstractLikelihood, Support

# Eigenvalues are computed from at most this many rows, drawn at random.
_MAX_ROWS = 1000
# Eigenvalues below this fraction of the largest are considered rounding errors.
_TOLERANCE = 1e-10


class Balance(NamedTuple):
    """How views are balanced.

    Attributes:
        weights: view name -> weight of its evidence, at most one.
        norms: view name -> its Frobenius norm beside the other views in initialisations, at most one.
    """

    weights: dict[str, float]
    norms: dict[str, float]


def balance_views(
    Ys: Mapping[str, Float[Tensor, "N _"]],
    likelihoods: Mapping[str, AbstractLikelihood],
    generator: torch.Generator,
) -> Balance:
    """Return balanced weights of the evidence, and norms in initialisations; squared norms are proportional to e_v.

    Args:
        Ys: view name -> centred view; NaN marks missing entries.
        likelihoods: view name -> likelihood.
        generator: draws rows, if there are many.
    """
    effective, per_entry = {}, {}
    for name, Y in Ys.items():
        n_entries = _entries_per_row(Y, likelihoods[name])
        effective[name] = min(n_entries, effective_columns(Y, generator))
        per_entry[name] = effective[name] / n_entries
    largest, most = max(per_entry.values()), max(effective.values())
    return Balance(
        {name: share / largest for name, share in per_entry.items()},
        {name: (e / most) ** 0.5 for name, e in effective.items()},
    )


def effective_columns(Y: Float[Tensor, "N M"], generator: torch.Generator) -> float:
    """Return the participation ratio of a view's covariance, times the share of its variance above the noise edge.

    Args:
        Y: the view; missing entries are replaced by the mean of their column.
        generator: draws rows, if there are many.
    """
    rows = (~Y.isnan()).any(dim=1).nonzero().flatten()
    if len(rows) > _MAX_ROWS:
        rows = rows[torch.randperm(len(rows), generator=generator)[:_MAX_ROWS].to(rows.device)]
    values = covariance_eigenvalues(Y[rows].double())
    total = values.sum()
    gamma = len(values) / max(len(rows) - 1, Y.shape[1], len(values))
    edge = values.median() * (1 + gamma**0.5) ** 2
    signal = torch.maximum(values[values > edge].sum(), values.max())
    return float(total.square() / values.square().sum() * signal / total)


def covariance_eigenvalues(Y: Float[Tensor, "n M"]) -> Float[Tensor, " k"]:
    """Return the positive eigenvalues of the covariance of a view, up to rounding."""
    centred = (Y - Y.nanmean(dim=0)).nan_to_num(nan=0.0)
    gram = centred @ centred.T if len(Y) < Y.shape[1] else centred.T @ centred
    values = torch.linalg.eigvalsh(gram) / max(1, len(Y) - 1)
    return values[values > _TOLERANCE * values[-1]]


def _entries_per_row(Y: Float[Tensor, "N M"], likelihood: AbstractLikelihood) -> float:
    """Return the mean number of observed entries of the rows that have any; labels count as one."""
    if likelihood.support is Support.ONE_HOT:
        return 1.0
    n_observed = (~Y.isnan()).sum(dim=1)
    return float(n_observed.sum() / (n_observed > 0).sum())
