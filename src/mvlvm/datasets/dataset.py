"""A data set: its views by name, and what is known of them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Int

from mvlvm.checks import listed
from mvlvm.errors import ViewError
from mvlvm.optional_dependencies import require
from mvlvm.views.anndata import as_mudata
from mvlvm.views.sparse import as_dense, is_sparse


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

    def as_frames(self) -> dict[str, Any]:
        """Give the views as pandas DataFrames, with the names of rows and columns that are known."""
        pandas = require("pandas", "Giving views as DataFrames")
        rows = None if self.rows is None else pandas.Index(self.rows)
        return {
            name: pandas.DataFrame(
                as_dense(name, Y) if is_sparse(Y) else Y, index=rows, columns=self.columns.get(name), copy=True
            )
            for name, Y in self.views.items()
        }  # fmt: skip

    def as_mudata(self) -> Any:
        """Give the views as a MuData, a modality each; samples that lack a view are not part of its modality.

        Labels go to `obs["label"]`: by name where they have names, as numbers elsewhere.

        Raises:
            ViewError: two samples are called alike.
        """
        self._check_rows()
        observed = {name: frame.dropna(how="all") for name, frame in self.as_frames().items()}
        mdata = as_mudata(observed)
        if self.labels is not None:
            pandas = require("pandas", "Giving views as MuData")
            names = map(str, range(len(self.labels)) if self.rows is None else self.rows)
            labels = self.labels
            if self.label_names is not None:
                labels = pandas.Categorical.from_codes(labels, list(self.label_names))
            mdata.obs["label"] = pandas.Series(labels, index=list(names)).reindex(mdata.obs_names)
        return mdata

    def _check_rows(self) -> None:
        rows = [] if self.rows is None else list(self.rows)
        repeated = [row for row, times in Counter(rows).items() if times > 1]
        if repeated:
            raise ViewError(
                f"The rows of a data set must have names of their own to be matched in a MuData. Got some twice: "
                f"{listed(repeated)}. Rename them: dataclasses.replace(data, rows=...)."
            )

    __eq__ = object.__eq__  # not the mapping's, which would compare arrays as if they were numbers
    __hash__ = object.__hash__  # pyright: ignore[reportAssignmentType]

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
