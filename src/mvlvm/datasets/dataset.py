"""A data set: its views by name, and what is known of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Int


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Mapping[str, Any]):
    """Named views of the same samples, with labels, truth and origin where they are known.

    It is a mapping from view names to matrices, so every estimator takes it as it is: `est.fit(load("bridges"))`.

    Attributes:
        views: view name -> matrix with a row for every sample; NaN is missing. Sparse where the data are.
        labels: the class of every sample, numbered from zero, -1 where unknown; None where there are no classes.
        label_names: what the numbers mean.
        truth: what the data were made from, for example "latents" and "kernels"; empty where that is not known.
        rows: a name for every sample.
        columns: view name -> a name for every column, for views whose columns have names.
        image_shapes: view name -> (height, width) or (height, width, channels), for views whose rows are images.
        name: what `load` calls the data set.
        description: what was measured, and what was done to it here.
        origin: who made it and where it came from.
        licence: the terms of use, as far as they are known.
    """

    views: dict[str, Any]
    labels: Int[np.ndarray, " N"] | None = None
    label_names: tuple[str, ...] | None = None
    truth: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[str] | None = None
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    image_shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    name: str = ""
    description: str = ""
    origin: str = ""
    licence: str = ""

    def __getitem__(self, view: str) -> Any:
        return self.views[view]

    def __iter__(self) -> Iterator[str]:
        return iter(self.views)

    def __len__(self) -> int:
        return len(self.views)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}: {' x '.join(map(str, Y.shape))}" for name, Y in self.views.items())
        classes = "" if self.label_names is None else f"; {len(self.label_names)} classes"
        return f"<Dataset {self.name!r}: {shapes}{classes}>"
