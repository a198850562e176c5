r"""What was seen of a view: the rows it has, and the entries among them that are hidden.

Some rows of what was seen of a view, without a copy of all the others.

Rows that count more or less than once.

A row of weight a has the likelihood $N(y | f, s)^a$, as a copies of it would have. The rows $\sqrt a\, y$ and
$\sqrt a\, f$ have the same exponent, but the normaliser only once, so the evidence of a view with weights is that of
its rows and features times $\sqrt a$, and $-\tfrac12 \log 2 \pi s$ for every observed entry beyond the first:

    log p(Y | a) = log N(sqrt(a) Y | 0, sqrt(a) Phi Phi' sqrt(a) + s I) - 1/2 sum_n (a_n - 1) M_n log 2 pi s

with M_n the number of entries that were seen in row n. The same holds for the bound where single entries are hidden.
"""

import copy
import math
from collections.abc import Sequence
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mvlvm import defaults
from mvlvm.linalg.cuda import Workspace
from mvlvm.models.state import WorkingView
from mvlvm.shapes import Scalar


class ObservedView:
    """The observed rows of one view, with a guess in every gap.

    A row without any entry is no row of the view. Where single entries of the other rows are hidden, their guesses
    start at zero, the mean of a scaled column, and move with training (`evidence/missing_entries.py`).

    Args:
        Y: the scaled view; NaN is missing.
        weight: how many copies of itself each row counts for; None is one each.
        memory_budget: bytes that features may take where its evidence is computed.

    Attributes:
        Y: its observed rows, guesses included.
        rows: which rows of the latent they are; None if all.
        hidden: where the guesses are; None if there are none.
        weight: of the observed rows; None is one each.
    """

    def __init__(
        self,
        Y: Float[Tensor, "N M"],
        weight: Float[Tensor, " N"] | None = None,
        memory_budget: float = defaults.MEMORY_BUDGET,
    ) -> None:
        missing = torch.isnan(Y)
        seen = ~missing.all(dim=1)
        self.rows: Int[Tensor, " R"] | None = None if seen.all() else seen.nonzero().squeeze(1)
        hidden = missing[seen]
        self.hidden: Bool[Tensor, "R M"] | None = hidden if hidden.any() else None
        self.Y: Float[Tensor, "R M"] = Y if self.complete else Y[seen].nan_to_num(nan=0.0)
        self.weight: Float[Tensor, " R"] | None = None if weight is None else weight[seen]
        self._memory_budget = memory_budget
        self._working: WorkingView | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.rows is None and self.hidden is None

    @cached_property
    def entries(self) -> Float[Tensor, "R M"]:
        """The observed rows as they were given, NaN where an entry is hidden."""
        return self.Y if self.hidden is None else self.Y.masked_fill(self.hidden, torch.nan)

    def with_gaps(self, n_samples: int) -> Float[Tensor, "N M"]:
        """Give the view as it was before gaps were closed: `n_samples` rows, NaN where nothing was seen."""
        Y = self.entries
        if self.rows is None:
            return Y
        full = Y.new_full((n_samples, Y.shape[1]), torch.nan)
        full[self.rows] = Y
        return full

    def of(self, X: Float[Tensor, "N _"]) -> Float[Tensor, "R _"]:
        """Give the rows of a matrix that the view has."""
        return X if self.rows is None else X[self.rows]

    def weigh(self, values: Float[Tensor, "R K"]) -> Float[Tensor, "R K"]:
        """Multiply rows by the root of their weights, so that sums of squares and products count them as often."""
        return values if self.weight is None else values * self.weight.sqrt().to(values)[:, None]

    def working(self, dtype: torch.dtype) -> WorkingView:
        """Give the view as its evidence takes it, where no entry is hidden; made once."""
        if self._working is None:
            self._working = self._work(dtype)
        return self._working

    def _work(self, dtype: torch.dtype, share: float | None = None, space: Workspace | None = None) -> WorkingView:
        row_scale = None if self.weight is None else self.weight.sqrt()
        Y = self.weigh(self.Y)
        return WorkingView(Y, row_scale, dtype=dtype, share=share, memory_budget=self._memory_budget, space=space)

    def guess(self, Z: Float[Tensor, "R M"]) -> None:
        """Take over better guesses for the hidden entries."""
        self.Y = Z.detach()


def for_training(
    view: ObservedView, dtype: torch.dtype, *, share: float | None, space: Workspace | None = None
) -> ObservedView:
    """Give a view as training takes it: where no entry is hidden, cut short.

    Args:
        view: the view, which is not changed.
        dtype: of its features.
        share: what may be cut of it, as a share of the noise's energy; None cuts nothing.
        space: memory for features, which views that take turns may share.
    """
    if view.hidden is not None:
        return view
    view = copy.copy(view)
    view._working = view._work(dtype, share, space)
    return view


def rows_without_entries(views: Sequence[ObservedView], n_samples: int) -> Int[Tensor, " R"]:
    """Give the rows of which no view has an entry."""
    empty = torch.ones(n_samples, dtype=torch.bool, device=views[0].Y.device)
    for view in views:
        empty[view.rows if view.rows is not None else slice(None)] = False
    return empty.nonzero().squeeze(1)


def block_of_entries(seen: ObservedView, rows: slice) -> Float[Tensor, "n M"]:
    """Give some of the observed rows as they were given, NaN where an entry is hidden."""
    Y = seen.Y[rows]
    return Y if seen.hidden is None else Y.masked_fill(seen.hidden[rows], torch.nan)


class EntriesByRow:
    """What was seen of a view, by the rows of the latent.

    Args:
        seen: the view.
        n_samples: how many rows the latent has.

    Attributes:
        has: whether the view has an entry in each row.
        n_columns: the view's columns.
    """

    def __init__(self, seen: ObservedView, n_samples: int) -> None:
        self._seen = seen
        observed = torch.arange(n_samples, device=seen.Y.device) if seen.rows is None else seen.rows
        self._place = torch.full((n_samples,), -1, device=seen.Y.device)
        self._place[observed] = torch.arange(len(observed), device=seen.Y.device)
        self.has: Bool[Tensor, " N"] = self._place >= 0
        self.n_columns = seen.Y.shape[1]

    def of(self, rows: Int[Tensor, " n"]) -> Float[Tensor, "n M"]:
        """Give rows with NaN where nothing was seen."""
        place, Y, hidden = self._place[rows], self._seen.Y, self._seen.hidden
        missing = place < 0
        entries = Y[place.clamp_min(0)]
        if hidden is not None:
            entries.masked_fill_(hidden[place.clamp_min(0)], torch.nan)
        return entries.masked_fill_(missing[:, None], torch.nan)


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
