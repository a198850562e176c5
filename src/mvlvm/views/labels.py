"""Label views: columns of class labels, their conversion to integer codes, and the format to convert them back.

Labels are text, numbers, booleans or pandas categories. Class k of a label view has the code k.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from mvlvm.checks import is_number, listed
from mvlvm.errors import ViewError
from mvlvm.io.schema import check_fields
from mvlvm.views.interop import is_sparse

Label = str | int | float | bool

# Kinds of NumPy arrays that can hold labels: booleans, integers, floats, text and objects.
_LABEL_KINDS = "biufUOT"


class LabelContainer(StrEnum):
    """The type of object that holds a column of labels."""

    ARRAY = "array"
    COLUMN = "column"
    SERIES = "series"
    FRAME = "frame"


@dataclass(frozen=True)
class LabelFormat:
    """The format in which a label view was passed, used to return labels in the same format.

    Attributes:
        classes: the labels in order; class k has the code k.
        shape: a 1-D array, an (N, 1) array, a Series or a DataFrame with one column.
        dtype: the NumPy or pandas name of the data type; empty to infer it from the labels.
        name: the name of the Series or column.
        ordered: whether pandas categories are ordered.
    """

    classes: tuple[Label, ...]
    shape: LabelContainer
    dtype: str = ""
    name: Hashable = None
    ordered: bool = False

    def labels(self, codes: Float[np.ndarray, "N 1"], index: Any = None) -> Any:
        """Return the labels of class codes in the format of the input.

        Args:
            codes: the class code of every row; NaN is missing.
            index: row labels of a Series or DataFrame.
        """
        entries = [None if math.isnan(code) else self.classes[int(code)] for code in codes[:, 0]]
        if self.shape in (LabelContainer.SERIES, LabelContainer.FRAME):
            column = self._series(entries, index)
            return column if self.shape is LabelContainer.SERIES else column.to_frame(self.name)
        array = _to_array(entries, self.dtype)
        return array if self.shape is LabelContainer.ARRAY else array.reshape(-1, 1)

    def per_class(self, P: Float[np.ndarray, "N C"], index: Any = None) -> Any:
        """Return one column per class: a DataFrame if the labels are text or come from pandas, else the array.

        Args:
            P: values per class, such as probabilities.
            index: row labels of a DataFrame.
        """
        text = isinstance(self.classes[0], str)
        if not text and self.shape in (LabelContainer.ARRAY, LabelContainer.COLUMN):
            return P
        return pd.DataFrame(P, index=index, columns=pd.Index(list(self.classes)))

    def _series(self, entries: list[Label | None], index: Any) -> Any:
        if self.dtype == "category":
            values = pd.Categorical(entries, categories=list(self.classes), ordered=self.ordered)
            return pd.Series(values, index=index, name=self.name)
        dtype = object if None in entries and _has_no_missing_value(self.dtype) else self.dtype or None
        return pd.Series(entries, index=index, name=self.name, dtype=dtype)


def label_format_to_dict(label_format: LabelFormat) -> dict[str, Any]:
    """Return a label format as a dict that can be serialised as JSON."""
    name = label_format.name if label_format.name is None else json_label(label_format.name)
    return asdict(label_format) | {"classes": list(label_format.classes), "name": name}


def label_format_from_dict(serialised: Mapping[str, Any]) -> LabelFormat:
    """Return the label format that `label_format_to_dict` serialised."""
    classes, shape = tuple(serialised["classes"]), LabelContainer(serialised["shape"])
    label_format = LabelFormat(**{**serialised, "classes": classes, "shape": shape})
    check_fields(label_format, "label format")
    return label_format


def json_label(label: Any) -> str | int | float:
    """Return a row, column or class label in a form that JSON can represent; other types are converted to text.

    Example:
        >>> json_label(np.int64(3)), json_label(("a", 1)), json_label(None)
        (3, "('a', 1)", 'None')
    """
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, bool) or not isinstance(plain, str | int | float):
        return str(plain)
    return math.nan if plain != plain else plain  # a single NaN object, so that lists and sets find it by identity


def json_labels(labels: Iterable[Any]) -> list[str | int | float]:
    """Return labels in a form that JSON can represent; lists of equal labels are equal, including NaN."""
    return [json_label(label) for label in labels]


def is_label_column(table: Any) -> bool:
    """Return whether a table in a collection of views is a column of labels rather than a matrix of numbers.

    A label column has one axis, unless it holds fractions, dates or complex numbers; or it has one column of text or
    pandas categories.
    """
    if _is_categorical(table):
        return True
    if isinstance(table, pd.Series):
        return len(table) > 0 and (_has_categories(table) or _are_labels(table.dropna().to_numpy()))
    if isinstance(table, pd.DataFrame):
        return table.shape[1] == 1 and (_has_categories(table.iloc[:, 0]) or _has_text(table.to_numpy()))
    if is_sparse(table):
        return False
    try:
        array = _label_array(table)
    except (TypeError, ValueError, RuntimeError):  # ragged lists, and tensors that NumPy cannot convert
        return False
    if array.ndim == 1:
        return _are_labels(array) if len(array) else False
    return array.ndim == 2 and array.shape[1] == 1 and _has_text(array)


def infer_label_format(name: str, table: Any, classes: Sequence[Label] | None = None) -> LabelFormat:
    """Return the format of a label view.

    Args:
        name: the view, for messages.
        table: a column of labels.
        classes: the classes of a fitted model. None collects them from the table: sorted, or in the order of pandas
            categories without the unused ones.

    Raises:
        ViewError: an entry cannot be a label, or labels have different types.
    """
    found = tuple(_find_classes(name, table) if classes is None else classes)
    if isinstance(table, pd.DataFrame | pd.Series):
        column = table if isinstance(table, pd.Series) else table.iloc[:, 0]
        shape = LabelContainer.SERIES if isinstance(table, pd.Series) else LabelContainer.FRAME
        ordered = _has_categories(column) and bool(column.cat.ordered)
        return LabelFormat(found, shape, str(column.dtype), column.name, ordered)
    if _is_categorical(table):
        return LabelFormat(found, LabelContainer.SERIES, "category", ordered=bool(table.ordered))
    array = _label_array(table)
    dtype = array.dtype.str if array.dtype.kind in "biuf" else "object" if isinstance(table, np.ndarray) else ""
    is_text = array.dtype.kind in "UT"  # fixed-width text would truncate longer classes
    shape = LabelContainer.ARRAY if array.ndim == 1 else LabelContainer.COLUMN
    return LabelFormat(found, shape, "" if is_text else dtype)


def encode_labels(name: str, table: Any, classes: Sequence[Label]) -> Float[np.ndarray, "N 1"]:
    """Return the class code of every row, NaN where the label is missing.

    Args:
        name: the view, for messages.
        table: one column of labels.
        classes: the known classes, in the order of their codes.

    Raises:
        ViewError: the table has several columns, or an unknown class.
    """
    entries = _entries(name, table)
    code_of = {label: float(code) for code, label in enumerate(classes)}
    unknown = [label for label in dict.fromkeys(entries) if label is not None and label not in code_of]
    if unknown:
        raise ViewError(
            f"View '{name}' must hold classes that occur in training. Got {listed(unknown)}. The known classes are "
            f"{', '.join(map(repr, classes))}. Use NaN or None where the class is unknown, or fit again with such rows."
        )
    return np.array([math.nan if label is None else code_of[label] for label in entries]).reshape(-1, 1)


def _find_classes(name: str, table: Any) -> list[Label]:
    present = [entry for entry in _entries(name, table) if entry is not None]
    first_of_type: dict[str, Label] = {}
    for label in present:
        first_of_type.setdefault(_label_type(label), label)
    if len(first_of_type) > 1:
        one, other = list(first_of_type.values())[:2]
        raise ViewError(
            f"The labels of view '{name}' must have the same type. Got {one!r} and {other!r}. "
            "Convert all of them to text, or all to numbers."
        )
    categories = _categories(table)
    used = set(present)
    return sorted(used) if categories is None else [label for label in categories if label in used]


def _label_type(label: Label) -> str:
    return "boolean" if isinstance(label, bool) else "text" if isinstance(label, str) else "number"


def _entries(name: str, table: Any) -> list[Label | None]:
    """Return the labels as a list, None where a label is missing."""
    array = _label_array(table)
    if array.ndim > 2 or (array.ndim == 2 and array.shape[1] != 1):
        raise ViewError(f"View '{name}' must be one column of labels. Got shape {array.shape}. Pass one label per row.")
    return [_as_label(name, entry) for entry in array.reshape(-1).tolist()]


def _as_label(name: str, entry: Any) -> Label | None:
    plain = entry.item() if isinstance(entry, np.generic) else entry
    if _is_missing(plain):
        return None
    if not isinstance(plain, str | int | float) or (isinstance(plain, float) and math.isinf(plain)):
        raise ViewError(
            f"The labels of view '{name}' must be text, finite numbers or booleans. Got {plain!r}, of type "
            f"{type(plain).__name__}. Convert them to text first."
        )
    return plain


def _is_missing(entry: Any) -> bool:
    if entry is None or (isinstance(entry, float) and math.isnan(entry)):
        return True
    return entry is pd.NA or entry is pd.NaT


def _label_array(table: Any) -> np.ndarray:
    """Return a table as an array without converting numbers or missing entries to text."""
    if isinstance(table, pd.DataFrame | pd.Series):
        return table.to_numpy(dtype=object)
    if isinstance(table, np.ma.MaskedArray):
        array = table.data.astype(object)
        array[np.ma.getmaskarray(table)] = None
        return array
    if isinstance(table, list | tuple):
        array = np.asarray(table)  # raises for ragged lists, which the next line would accept as an array of lists
        return array if array.dtype.kind in "biuf" else np.array(table, dtype=object)
    return np.asarray(table)


def _are_labels(array: np.ndarray) -> bool:
    if array.dtype.kind == "f":
        observed = array[~np.isnan(array)]
        return bool((observed == np.rint(observed)).all())
    if array.dtype.kind != "O":
        return array.dtype.kind in _LABEL_KINDS
    return not any(isinstance(entry, float) and math.isfinite(entry) and entry % 1 for entry in array)


def _has_text(array: np.ndarray) -> bool:
    """Return whether an entry is text that does not represent a number."""
    if array.dtype.kind not in "OUT":
        return False
    return any(isinstance(entry, str) and not is_number(entry) for entry in array.reshape(-1).tolist())


def _is_categorical(table: Any) -> bool:
    return isinstance(table, pd.Categorical)


def _has_categories(column: Any) -> bool:
    return isinstance(column.dtype, pd.CategoricalDtype)


def _categories(table: Any) -> list[Any] | None:
    """Return the categories of a pandas object, None if it has none."""
    if _is_categorical(table):
        return table.categories.tolist()
    if isinstance(table, pd.DataFrame | pd.Series):
        column = table if isinstance(table, pd.Series) else table.iloc[:, 0]
        return column.cat.categories.tolist() if _has_categories(column) else None
    return None


def _has_no_missing_value(dtype: str) -> bool:
    try:
        return np.dtype(dtype).kind in "biu"
    except TypeError:  # a pandas data type
        return False


def _to_array(entries: list[Label | None], dtype: str) -> np.ndarray:
    if None not in entries:
        return np.array(entries, dtype=dtype or None)
    if dtype and np.dtype(dtype).kind == "f":
        return np.array([math.nan if entry is None else entry for entry in entries], dtype=dtype)
    return np.array(entries, dtype=object)
