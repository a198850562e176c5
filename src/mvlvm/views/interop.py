"""The containers people keep views in: an array, a list, a dict, DataFrames. What comes in goes out again."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from jaxtyping import Float


class Container(StrEnum):
    """How several views are held together."""

    SINGLE = "single"
    LIST = "list"
    DICT = "dict"


@dataclass(frozen=True)
class Layout:
    """The outer form of some views: their container, and the labels of those that are DataFrames.

    Attributes:
        container: what held the views.
        columns: view name -> column labels, for DataFrames.
        index: row labels shared by the DataFrames, if there are any.
    """

    container: Container
    columns: Mapping[str, Any] = field(default_factory=dict)
    index: Any = None

    def restore(self, arrays: Mapping[str, Float[np.ndarray, "N _"]], *, same_rows: bool = True) -> Any:
        """Give matrices back in this form.

        Args:
            arrays: view name -> matrix.
            same_rows: whether the rows are those of the input, so that its row labels apply.
        """
        tables = {name: self._table(name, array, same_rows) for name, array in arrays.items()}
        match self.container:
            case Container.SINGLE:
                return next(iter(tables.values()))
            case Container.LIST:
                return list(tables.values())
            case Container.DICT:
                return tables

    def _table(self, name: str, array: Float[np.ndarray, "N M"], same_rows: bool) -> Any:
        if name not in self.columns:
            return array
        import pandas as pd  # only those who gave a DataFrame, or saved one, come here

        return pd.DataFrame(array, columns=self.columns[name], index=self.index if same_rows else None)


def is_dataframe(value: object) -> bool:
    """Tell whether a value is a pandas DataFrame, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def is_sparse(value: object) -> bool:
    """Tell whether a value is one of SciPy's sparse containers, without importing SciPy."""
    return isinstance(getattr(value, "format", None), str) and callable(getattr(value, "toarray", None))


def unpack(views: Any) -> tuple[Container, dict[Any, Any]]:
    """Tell the container of some views, and name what it holds."""
    if isinstance(views, Mapping) and not is_sparse(views):  # some sparse matrices are mappings, too
        return Container.DICT, dict(views)
    if _is_list_of_views(views):
        return Container.LIST, {f"view{i}": view for i, view in enumerate(views)}
    return Container.SINGLE, {"view0": views}


def layout_of(container: Container, tables: Mapping[str, Any]) -> Layout:
    """Remember the labels of those tables that have them."""
    frames = {name: table for name, table in tables.items() if is_dataframe(table)}
    return Layout(
        container,
        columns={name: frame.columns for name, frame in frames.items()},
        index=next((frame.index for frame in frames.values()), None),
    )


def _is_list_of_views(views: Any) -> bool:
    """A list or tuple is a list of views unless it is a matrix written as nested lists."""
    if not isinstance(views, Sequence) or isinstance(views, str | bytes):
        return False
    return len(views) == 0 or any(_is_matrix(view) for view in views)


def _is_matrix(view: Any) -> bool:
    try:
        return is_dataframe(view) or np.ndim(view) == 2
    except (TypeError, ValueError, RuntimeError):  # ragged lists, and tensors that numpy cannot read
        return True
