"""The containers people keep views in: an array, a list, a dict, DataFrames, AnnData. What comes in goes out again."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
from jaxtyping import Float

from mvlvm.views.annotated import as_anndata, as_mudata, frame_of, is_anndata, is_mudata, modality_frames
from mvlvm.views.sparse import is_sparse

_ONLY_VIEW = "view0"


class Container(StrEnum):
    """How several views are held together."""

    SINGLE = "single"
    LIST = "list"
    DICT = "dict"
    ANNDATA = "anndata"
    MUDATA = "mudata"

    @property
    def single(self) -> bool:
        """Whether there is one view only, and no name for it."""
        return self in (Container.SINGLE, Container.ANNDATA)


@dataclass(frozen=True)
class Layout:
    """The outer form of some views: their container, and the labels of those that have them.

    Attributes:
        container: what held the views.
        columns: view name -> column labels, for DataFrames, AnnData and MuData.
        index: row labels shared by all views that have labels, if there are any.
        names: the views in the order given, those for which None was given included; empty if the order is not known.
    """

    container: Container
    columns: Mapping[str, Any] = field(default_factory=dict)
    index: Any = None
    names: tuple[str, ...] = ()

    @property
    def row_names(self) -> list[str] | None:
        """The row labels as text; None where there are none, or where they only count the rows."""
        labels = [] if self.index is None else list(self.index)
        return None if labels == list(range(len(labels))) else [str(label) for label in labels]

    def of_rows(self, index: Any) -> "Layout":
        """Give the same form for other rows, with their labels or None."""
        return replace(self, index=index)

    def restore(self, arrays: Mapping[str, Float[np.ndarray, "N _"]]) -> Any:
        """Give matrices back in this form.

        Args:
            arrays: view name -> matrix; None stands for a view of this form that is not among them.
        """
        names = self.names or tuple(arrays)
        tables = {name: self.table(name, arrays[name]) if name in arrays else None for name in names}
        match self.container:
            case Container.SINGLE:
                return next(iter(tables.values()))
            case Container.LIST:
                return list(tables.values())
            case Container.DICT:
                return tables
            case Container.ANNDATA:
                return as_anndata(next(iter(tables.values())))
            case Container.MUDATA:
                return as_mudata(tables)

    def table(self, name: str, array: Float[np.ndarray, "N M"]) -> Any:
        """Give one view, as a DataFrame if it has column labels."""
        if name not in self.columns:
            return array
        import pandas as pd  # only those who gave a DataFrame, or saved one, come here

        return pd.DataFrame(array, columns=self.columns[name], index=self.index)


def is_dataframe(value: object) -> bool:
    """Tell whether a value is a pandas DataFrame, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def unpack(views: Any) -> tuple[Container, dict[Any, Any]]:
    """Tell the container of some views, and name what it holds."""
    if is_mudata(views):
        return Container.MUDATA, modality_frames(views)
    if is_anndata(views):
        return Container.ANNDATA, {_ONLY_VIEW: frame_of(_ONLY_VIEW, views)}
    if isinstance(views, Mapping) and not is_sparse(views):  # some sparse matrices are mappings, too
        return Container.DICT, dict(views)
    if _is_list_of_views(views):
        return Container.LIST, {f"view{i}": view for i, view in enumerate(views)}
    return Container.SINGLE, {_ONLY_VIEW: views}


def layout_of(container: Container, tables: Mapping[str, Any]) -> Layout:
    """Remember the order of some tables, and the labels of those that have them."""
    frames = {name: table for name, table in tables.items() if is_dataframe(table)}
    return Layout(
        container,
        columns={name: frame.columns for name, frame in frames.items()},
        index=next((frame.index for frame in frames.values()), None),
        names=tuple(tables),
    )


def _is_list_of_views(views: Any) -> bool:
    """A list or tuple is a list of views unless it is a matrix written as nested lists."""
    if not isinstance(views, Sequence) or isinstance(views, str | bytes):
        return False
    return len(views) == 0 or any(_is_matrix(view) for view in views)


def _is_matrix(view: Any) -> bool:
    try:
        return is_dataframe(view) or is_anndata(view) or is_mudata(view) or np.ndim(view) == 2
    except (TypeError, ValueError, RuntimeError):  # ragged lists, and tensors that numpy cannot read
        return True
