"""The form in which a user gave labels, so that they go back the same way."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.util import find_spec
from typing import Any

import numpy as np
from jaxtyping import Float

from mvlvm.views.labels import plain_label

Label = str | int | float | bool


class LabelShape(StrEnum):
    """The outer form of a column of labels."""

    ARRAY = "array"
    COLUMN = "column"
    SERIES = "series"
    FRAME = "frame"


@dataclass(frozen=True)
class LabelForm:
    """How the user gave a label view, so that labels go back the same way.

    Attributes:
        classes: the labels in order; class k has the code k.
        shape: a 1-D array, an (N, 1) array, a Series or a DataFrame of one column.
        dtype: the type of its entries as NumPy or pandas writes it; empty to go by the labels.
        name: what the Series or the column is called.
        ordered: whether pandas categories have an order that means something.
    """

    classes: tuple[Label, ...]
    shape: LabelShape
    dtype: str = ""
    name: Any = None
    ordered: bool = False

    def labels(self, codes: Float[np.ndarray, "N 1"], index: Any = None) -> Any:
        """Give labels in the form of the input.

        Args:
            codes: the class of every row; NaN is missing.
            index: row labels, for a Series or DataFrame.
        """
        entries = [None if math.isnan(code) else self.classes[int(code)] for code in codes[:, 0]]
        if self.shape in (LabelShape.SERIES, LabelShape.FRAME):
            column = self._series(entries, index)
            return column if self.shape is LabelShape.SERIES else column.to_frame(self.name)
        array = _as_array(entries, self.dtype)
        return array if self.shape is LabelShape.ARRAY else array.reshape(-1, 1)

    def per_class(self, P: Float[np.ndarray, "N C"], index: Any = None) -> Any:
        """Give probabilities or the like, as a DataFrame with the classes as columns if they are text or from pandas.

        Args:
            P: a column for every class.
            index: row labels, for a DataFrame.
        """
        text = isinstance(self.classes[0], str) and find_spec("pandas") is not None
        if not text and self.shape in (LabelShape.ARRAY, LabelShape.COLUMN):
            return P
        import pandas as pd  # only those who gave text or a Series, or saved one, come here

        return pd.DataFrame(P, index=index, columns=pd.Index(list(self.classes)))

    def _series(self, entries: list[Label | None], index: Any) -> Any:
        import pandas as pd

        if self.dtype == "category":
            values = pd.Categorical(entries, categories=list(self.classes), ordered=self.ordered)
            return pd.Series(values, index=index, name=self.name)
        dtype = object if None in entries and _cannot_be_missing(self.dtype) else self.dtype or None
        return pd.Series(entries, index=index, name=self.name, dtype=dtype)


def pack_label_form(form: LabelForm) -> dict[str, Any]:
    """Give a form as JSON can hold it."""
    name = form.name if form.name is None else plain_label(form.name)
    return asdict(form) | {"classes": list(form.classes), "name": name}


def unpack_label_form(packed: Mapping[str, Any]) -> LabelForm:
    """Give the form that was packed."""
    return LabelForm(**{**packed, "classes": tuple(packed["classes"]), "shape": LabelShape(packed["shape"])})


def _cannot_be_missing(dtype: str) -> bool:
    try:
        return np.dtype(dtype).kind in "biu"
    except TypeError:  # a type of pandas
        return False


def _as_array(entries: list[Label | None], dtype: str) -> np.ndarray:
    if None not in entries:
        return np.array(entries, dtype=dtype or None)
    if dtype and np.dtype(dtype).kind == "f":
        return np.array([math.nan if entry is None else entry for entry in entries], dtype=dtype)
    return np.array(entries, dtype=object)
