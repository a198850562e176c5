r"""Observations of one view as the model takes them: observed rows, missing entries, sample weights.

**Sample weights.** A row of weight a has the likelihood $N(y | f, s)^a$, as a copies of it would have. The rows
$\sqrt a\, y$ and $\sqrt a\, f$ have the same exponent, but only one normalising constant, so the evidence of a weighted
view is that of its rows and features times $\sqrt a$, plus $-\tfrac12 \log 2 \pi s$ for every further observed entry:

    log p(Y | a) = log N(sqrt(a) Y | 0, sqrt(a) Phi Phi' sqrt(a) + s I) - 1/2 sum_n (a_n - 1) M_n log 2 pi s

with M_n the number of observed entries of row n. The same holds for the bound with missing entries.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mvlvm.shapes import Scalar


@dataclass(frozen=True)
class ViewData:
    """The observed rows of one view. Rows without any entry are not part of it.

    Attributes:
        Y: the scaled values of the observed rows, zero where an entry is missing.
        rows: indices of these rows among the samples; None if all samples are observed.
        missing: mask of the missing entries; None if there are none.
        sample_weight: weights of the observed rows; None stands for ones.
    """

    Y: Float[Tensor, "R M"]
    rows: Int[Tensor, " R"] | None = None
    missing: Bool[Tensor, "R M"] | None = None
    sample_weight: Float[Tensor, " R"] | None = None

    @classmethod
    def from_array(cls, Y: Float[Tensor, "N M"], sample_weight: Float[Tensor, " N"] | None = None) -> "ViewData":
        """Split a scaled view, in which NaN marks missing entries, into observed rows and a mask.

        Args:
            Y: the view.
            sample_weight: weights of all N rows; None stands for ones.
        """
        is_missing = torch.isnan(Y)
        observed = ~is_missing.all(dim=1)
        rows = None if observed.all() else observed.nonzero().squeeze(1)
        missing = is_missing[observed]
        missing = missing if missing.any() else None
        values = Y if rows is None and missing is None else Y[observed].nan_to_num(nan=0.0)
        return cls(values, rows, missing, None if sample_weight is None else sample_weight[observed])

    @cached_property
    def entries(self) -> Float[Tensor, "R M"]:
        """The observed rows with NaN where an entry is missing."""
        return self.Y if self.missing is None else self.Y.masked_fill(self.missing, torch.nan)

    def entries_of(self, block: slice) -> Float[Tensor, "n M"]:
        """Return a block of the observed rows with NaN where an entry is missing."""
        Y = self.Y[block]
        return Y if self.missing is None else Y.masked_fill(self.missing[block], torch.nan)

    def select(self, X: Float[Tensor, "N K"]) -> Float[Tensor, "R K"]:
        """Return the rows of a matrix over all samples that this view observes."""
        return X if self.rows is None else X[self.rows]

    def scale_rows(self, values: Float[Tensor, "R K"]) -> Float[Tensor, "R K"]:
        """Multiply rows by the square roots of their weights, so that sums of squares and products are weighted."""
        return values if self.sample_weight is None else values * self.sample_weight.sqrt().to(values)[:, None]

    def unscale_rows(self, values: Float[Tensor, "R K"]) -> Float[Tensor, "R K"]:
        """Invert `scale_rows`."""
        return values if self.sample_weight is None else values / self.sample_weight.sqrt().to(values)[:, None]

    @cached_property
    def n_repeated(self) -> Scalar:
        """The weighted number of observed entries minus their number; there are sample weights."""
        assert self.sample_weight is not None
        n_missing = 0 if self.missing is None else self.missing.sum(dim=1)
        return ((self.sample_weight - 1) * (self.Y.shape[1] - n_missing)).sum()


def repeated_normalizers(data: ViewData, noise_variance: Scalar) -> Scalar:
    """Return the log normalising constants that the evidence of scaled rows lacks (see the module's docstring)."""
    if data.sample_weight is None:
        return torch.zeros_like(noise_variance)
    return -0.5 * data.n_repeated * (2 * math.pi * noise_variance).log()


def spread_rows(data: ViewData, values: Float[Tensor, "R K"], n_samples: int) -> Float[Tensor, "N K"]:
    """Return values of the observed rows as a matrix over all samples, zero for the others."""
    if data.rows is None:
        return values
    spread = values.new_zeros((n_samples, values.shape[1]))
    spread[data.rows] = values
    return spread


class EntriesBySample:
    """Entries of a view, looked up by sample index instead of by observed row.

    Args:
        data: the view.
        n_samples: number of samples N.

    Attributes:
        observed: whether the view has an entry of each sample.
        n_columns: number of columns of the view.
    """

    def __init__(self, data: ViewData, n_samples: int) -> None:
        self._data = data
        rows = torch.arange(n_samples, device=data.Y.device) if data.rows is None else data.rows
        self._row_of = torch.full((n_samples,), -1, device=data.Y.device)
        self._row_of[rows] = torch.arange(len(rows), device=data.Y.device)
        self.observed: Bool[Tensor, " N"] = self._row_of >= 0
        self.n_columns = data.Y.shape[1]

    def __getitem__(self, samples: Int[Tensor, " n"]) -> Float[Tensor, "n M"]:
        """Return a copy of the given samples with NaN where an entry is missing."""
        row, Y, missing = self._row_of[samples], self._data.Y, self._data.missing
        entries = Y[row.clamp_min(0)]
        if missing is not None:
            entries.masked_fill_(missing[row.clamp_min(0)], torch.nan)
        return entries.masked_fill_((row < 0)[:, None], torch.nan)


def samples_without_entries(views: Iterable[ViewData], n_samples: int) -> Int[Tensor, " E"]:
    """Return the indices of samples that no view observes."""
    first, *others = views
    empty = torch.ones(n_samples, dtype=torch.bool, device=first.Y.device)
    for view in (first, *others):
        empty[view.rows if view.rows is not None else slice(None)] = False
    return empty.nonzero().squeeze(1)
