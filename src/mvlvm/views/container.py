"""The views of a data set, checked and named."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from mvlvm.views.interop import Layout
from mvlvm.views.label_forms import Label


@dataclass(frozen=True)
class Views:
    """Named matrices with the same rows in the same order.

    Attributes:
        arrays: view name -> matrix, in the order given; for a label view the codes of its classes in one column.
        layout: how the user handed them over, so that results can go back the same way.
    """

    arrays: Mapping[str, Float[np.ndarray, "N _"]]
    layout: Layout

    @property
    def names(self) -> list[str]:
        """The views' names."""
        return list(self.arrays)

    @property
    def classes(self) -> dict[str, tuple[Label, ...]]:
        """View name -> classes, for label views; their matrices hold the codes 0, 1, ... in one column."""
        return {name: form.classes for name, form in self.layout.labels.items()}

    @property
    def n_samples(self) -> int:
        """The number of rows, N."""
        return len(next(iter(self.arrays.values())))
