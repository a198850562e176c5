"""Some rows of what was seen of a view, without a copy of all the others."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mvlvm.models.observed import ObservedView


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
