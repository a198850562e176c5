"""The views of a data set, checked and named."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from mvlvm.views.interop import Layout


@dataclass(frozen=True)
class Views:
    """Named matrices with the same rows in the same order.

    Attributes:
        arrays: view name -> matrix, in the order given.
        layout: how the user handed them over, so that results can go back the same way.
    """

    arrays: Mapping[str, Float[np.ndarray, "N _"]]
    layout: Layout

    @property
    def names(self) -> list[str]:
        """The views' names."""
        return list(self.arrays)

    @property
    def n_samples(self) -> int:
        """The number of rows, N."""
        return len(next(iter(self.arrays.values())))
