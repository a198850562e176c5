"""The views of a data set, checked and named."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from mvlvm.views.interop import Layout
from mvlvm.views.label_forms import Label, LabelForm, LabelShape
from mvlvm.views.missing import distinct_values


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


def as_label_view(views: Views, name: str) -> Views:
    """Take a single column of numbers for a column of labels."""
    layout, Y = views.layout, views.arrays[name]
    if name in layout.labels:
        return views
    values = distinct_values(Y)
    classes = tuple(int(value) if value.is_integer() else value for value in values.tolist())
    header = next(iter(layout.columns[name])) if name in layout.columns else None
    form = LabelForm(classes, LabelShape.FRAME if name in layout.columns else LabelShape.COLUMN, name=header)
    codes = np.where(np.isnan(Y), np.nan, np.searchsorted(values, Y).astype(np.float64))
    columns = {view: labels for view, labels in layout.columns.items() if view != name}
    return Views({**views.arrays, name: codes}, replace(layout, columns=columns, labels={**layout.labels, name: form}))
