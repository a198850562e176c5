"""Labels of rows and columns, as a saved model holds them.

The form in which a user gave labels, so that they go back the same way.

Label views at the door: text, numbers, truth values or pandas categories become the codes of classes.
"""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.util import find_spec
from typing import Any

import numpy as np
from jaxtyping import Float

from mvlvm.checks import listed
from mvlvm.errors import ViewError
from mvlvm.optional_dependencies import is_dataframe, is_series
from mvlvm.views.csv import is_number
from mvlvm.views.sparse import is_sparse


def json_label(label: Any) -> str | int | float:
    """Give a label as JSON can hold it; what is neither text nor number becomes text.

    Example:
        >>> json_label(np.int64(3)), json_label(("a", 1)), json_label(None)
        (3, "('a', 1)", 'None')
    """
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, bool) or not isinstance(plain, str | int | float):
        return str(plain)
    return math.nan if plain != plain else plain  # one NaN for all, which is found in lists and sets


def json_labels(labels: Iterable[Any]) -> list[str | int | float]:
    """Give labels as a saved model holds them. Two such lists are equal if their labels are, NaN included."""
    return [json_label(label) for label in labels]


Label = str | int | float | bool


class LabelContainer(StrEnum):
    """The outer form of a column of labels."""

    ARRAY = "array"
    COLUMN = "column"
    SERIES = "series"
    FRAME = "frame"


@dataclass(frozen=True)
class LabelFormat:
    """How the user gave a label view, so that labels go back the same way.

    Attributes:
        classes: the labels in order; class k has the code k.
        shape: a 1-D array, an (N, 1) array, a Series or a DataFrame of one column.
        dtype: the type of its entries as NumPy or pandas writes it; empty to go by the labels.
        name: what the Series or the column is called.
        ordered: whether pandas categories have an order that means something.
    """

    classes: tuple[Label, ...]
    shape: LabelContainer
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
        if self.shape in (LabelContainer.SERIES, LabelContainer.FRAME):
            column = self._series(entries, index)
            return column if self.shape is LabelContainer.SERIES else column.to_frame(self.name)
        array = _as_array(entries, self.dtype)
        return array if self.shape is LabelContainer.ARRAY else array.reshape(-1, 1)

    def per_class(self, P: Float[np.ndarray, "N C"], index: Any = None) -> Any:
        """Give probabilities or the like, as a DataFrame with the classes as columns if they are text or from pandas.

        Args:
            P: a column for every class.
            index: row labels, for a DataFrame.
        """
        text = isinstance(self.classes[0], str) and find_spec("pandas") is not None
        if not text and self.shape in (LabelContainer.ARRAY, LabelContainer.COLUMN):
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


def label_format_to_dict(form: LabelFormat) -> dict[str, Any]:
    """Give a form as JSON can hold it."""
    name = form.name if form.name is None else json_label(form.name)
    return asdict(form) | {"classes": list(form.classes), "name": name}


def label_format_from_dict(packed: Mapping[str, Any]) -> LabelFormat:
    """Give the form that was packed."""
    return LabelFormat(**{**packed, "classes": tuple(packed["classes"]), "shape": LabelContainer(packed["shape"])})


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


# Kinds of NumPy arrays that may hold labels: truth values, whole numbers, floats, text, objects.
_LABEL_KINDS = "biufUOT"


def is_label_column(table: Any) -> bool:
    """Tell whether a table, one among several, is a column of labels and not a matrix of numbers.

    It is if it has one axis, unless it holds fractions, dates or complex numbers; or if it has one column, of text or
    of pandas categories.
    """
    if _is_categorical(table):
        return True
    if is_series(table):
        return len(table) > 0 and (_is_category(table) or _are_labels(table.dropna().to_numpy()))
    if is_dataframe(table):
        return table.shape[1] == 1 and (_is_category(table.iloc[:, 0]) or _has_text(table.to_numpy()))
    if is_sparse(table):
        return False
    try:
        array = _as_objects(table)
    except (TypeError, ValueError, RuntimeError):  # ragged lists, and tensors that numpy cannot read
        return False
    if array.ndim == 1:
        return _are_labels(array) if len(array) else False
    return array.ndim == 2 and array.shape[1] == 1 and _has_text(array)


def infer_label_format(name: str, table: Any, classes: Sequence[Label] | None = None) -> LabelFormat:
    """Remember the form of a label view.

    Args:
        name: the view, for messages.
        table: a column of labels.
        classes: those of a fitted model; None finds them: sorted, pandas categories in their order, unused ones left
            out.

    Raises:
        ViewError: an entry is no label, or labels are of several kinds.
    """
    found = tuple(_find_classes(name, table) if classes is None else classes)
    if is_dataframe(table) or is_series(table):
        column = table if is_series(table) else table.iloc[:, 0]
        shape = LabelContainer.SERIES if is_series(table) else LabelContainer.FRAME
        ordered = _is_category(column) and bool(column.cat.ordered)
        return LabelFormat(found, shape, str(column.dtype), column.name, ordered)
    if _is_categorical(table):
        return LabelFormat(found, LabelContainer.SERIES, "category", ordered=bool(table.ordered))
    array = _as_objects(table)
    dtype = array.dtype.str if array.dtype.kind in "biuf" else "object" if isinstance(table, np.ndarray) else ""
    is_text = array.dtype.kind in "UT"
    return LabelFormat(
        found, LabelContainer.ARRAY if array.ndim == 1 else LabelContainer.COLUMN, "" if is_text else dtype
    )


def encode_labels(name: str, table: Any, classes: Sequence[Label]) -> Float[np.ndarray, "N 1"]:
    """Give the code of every row's class, NaN where the label is missing.

    Args:
        name: the view, for messages.
        table: one column of labels.
        classes: the known classes, in the order of their codes.

    Raises:
        ViewError: there are several columns, or a class that is not known.
    """
    entries = _entries(name, table)
    code_of = {label: float(code) for code, label in enumerate(classes)}
    unseen = [label for label in dict.fromkeys(entries) if label is not None and label not in code_of]
    if unseen:
        raise ViewError(
            f"View '{name}' must hold classes that occur in training. Got {listed(unseen)}. The known classes are "
            f"{', '.join(map(repr, classes))}. Use NaN or None where the class is unknown, or fit again with such rows."
        )
    return np.array([math.nan if label is None else code_of[label] for label in entries]).reshape(-1, 1)


def _find_classes(name: str, table: Any) -> list[Label]:
    present = [entry for entry in _entries(name, table) if entry is not None]
    first_of_kind: dict[str, Label] = {}
    for label in present:
        first_of_kind.setdefault(_kind(label), label)
    if len(first_of_kind) > 1:
        one, other = list(first_of_kind.values())[:2]
        raise ViewError(
            f"The labels of view '{name}' must be of one kind. Got {one!r} beside {other!r}. "
            "Turn them all into text, or all into numbers."
        )
    categories = _categories(table)
    used = set(present)
    return sorted(used) if categories is None else [label for label in categories if label in used]


def _kind(label: Label) -> str:
    return "truth value" if isinstance(label, bool) else "text" if isinstance(label, str) else "number"


def _entries(name: str, table: Any) -> list[Label | None]:
    """Give the labels one by one, None where one is missing."""
    array = _as_objects(table)
    if array.ndim > 2 or (array.ndim == 2 and array.shape[1] != 1):
        raise ViewError(
            f"View '{name}' must be one column of labels. Got shape {array.shape}. Give the label of every row."
        )
    return [_as_label(name, entry) for entry in array.reshape(-1).tolist()]


def _as_label(name: str, entry: Any) -> Label | None:
    plain = entry.item() if isinstance(entry, np.generic) else entry
    if _is_missing(plain):
        return None
    if not isinstance(plain, str | int | float) or (isinstance(plain, float) and math.isinf(plain)):
        raise ViewError(
            f"The labels of view '{name}' must be text, finite numbers or truth values. Got {plain!r}, of type "
            f"{type(plain).__name__}. Turn them into text first."
        )
    return plain


def _is_missing(entry: Any) -> bool:
    if entry is None or (isinstance(entry, float) and math.isnan(entry)):
        return True
    pandas = sys.modules.get("pandas")
    return pandas is not None and (entry is pandas.NA or entry is pandas.NaT)


def _as_objects(table: Any) -> np.ndarray:
    """Read a table without making text of numbers or of gaps."""
    if is_series(table) or is_dataframe(table):
        return table.to_numpy(dtype=object)
    if isinstance(table, np.ma.MaskedArray):
        array = table.data.astype(object)
        array[np.ma.getmaskarray(table)] = None
        return array
    if isinstance(table, list | tuple):
        array = np.asarray(table)  # a ragged one is refused here, and made an array of lists below
        return array if array.dtype.kind in "biuf" else np.array(table, dtype=object)
    return np.asarray(table)


def _are_labels(array: np.ndarray) -> bool:
    if array.dtype.kind == "f":
        seen = array[~np.isnan(array)]
        return bool((seen == np.rint(seen)).all())
    if array.dtype.kind != "O":
        return array.dtype.kind in _LABEL_KINDS
    return not any(isinstance(entry, float) and math.isfinite(entry) and entry % 1 for entry in array)


def _has_text(array: np.ndarray) -> bool:
    """Tell whether there is text that is no number."""
    if array.dtype.kind not in "OUT":
        return False
    return any(isinstance(entry, str) and not is_number(entry) for entry in array.reshape(-1).tolist())


def _is_categorical(table: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(table, pandas.Categorical)


def _is_category(column: Any) -> bool:
    return isinstance(column.dtype, sys.modules["pandas"].CategoricalDtype)


def _categories(table: Any) -> list[Any] | None:
    """Give the categories of a pandas column, None if it has none."""
    if _is_categorical(table):
        return table.categories.tolist()
    if is_dataframe(table) or is_series(table):
        column = table if is_series(table) else table.iloc[:, 0]
        return column.cat.categories.tolist() if _is_category(column) else None
    return None
