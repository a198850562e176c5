"""Validated views and their layout: the container in which a user passed them, and in which results are returned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from mvlvm.io.anndata_objects import as_anndata, as_mudata
from mvlvm.views.interop import (
    anndata_to_frame,
    as_dataframe,
    is_anndata,
    is_foreign_table,
    is_mudata,
    is_sparse,
    mudata_to_frames,
)
from mvlvm.views.labels import Label, LabelContainer, LabelFormat
from mvlvm.views.scaling import distinct_values

_SINGLE_VIEW_NAME = "view0"


class Container(StrEnum):
    """The type of object that holds the views."""

    SINGLE = "single"
    LIST = "list"
    DICT = "dict"
    ANNDATA = "anndata"
    MUDATA = "mudata"

    @property
    def single(self) -> bool:
        """Whether the container holds a single unnamed view."""
        return self in (Container.SINGLE, Container.ANNDATA)


@dataclass(frozen=True)
class Layout:
    """The container of views, with the row and column labels of views that have them.

    Attributes:
        container: the type of object that holds the views.
        columns: view name -> column labels, for DataFrames, AnnData and MuData.
        index: the row labels shared by all views with row labels; None if there are none.
        names: the views in the order given, including those given as None; empty if the order is unknown.
        labels: view name -> label format, for label views.
    """

    container: Container
    columns: Mapping[str, Any] = field(default_factory=dict)
    index: Any = None
    names: tuple[str, ...] = ()
    labels: Mapping[str, LabelFormat] = field(default_factory=dict)

    @property
    def row_names(self) -> list[str] | None:
        """The row labels as text; None if there are none or they are row numbers."""
        labels = [] if self.index is None else list(self.index)
        return None if labels == list(range(len(labels))) else [str(label) for label in labels]

    @property
    def row_index(self) -> Any:
        """The row labels; None if there are none or they are row numbers."""
        return None if self.row_names is None else self.index

    def of_rows(self, index: Any) -> "Layout":
        """Return the same layout with other row labels, or None."""
        return replace(self, index=index)

    def restore(self, arrays: Mapping[str, Float[np.ndarray, "N _"]], *, per_class: bool = False) -> Any:
        """Return matrices in this layout.

        Args:
            arrays: view name -> matrix. Views of the layout without a matrix are returned as None.
            per_class: whether label views have one column per class, such as probabilities, instead of class codes.
        """
        names = self.names or tuple(arrays)
        tables = {
            name: self.table(name, arrays[name], per_class=per_class) if name in arrays else None for name in names
        }
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

    def table(self, name: str, array: Float[np.ndarray, "N M"], *, per_class: bool = False) -> Any:
        """Return one view: labels in their format, a DataFrame if the view has column labels, otherwise the array.

        Args:
            name: the view.
            array: its matrix; for a label view the class codes in one column.
            per_class: whether a label view has one column per class instead, such as probabilities.
        """
        if name in self.labels:
            label_format = self.labels[name]
            return label_format.per_class(array, self.index) if per_class else label_format.labels(array, self.index)
        if name not in self.columns:
            return array
        return pd.DataFrame(array, columns=self.columns[name], index=self.index)


@dataclass(frozen=True)
class Views:
    """Validated views: named matrices with the same rows in the same order.

    Attributes:
        arrays: view name -> matrix, in the order given; for a label view the class codes in one column.
        layout: the layout in which they were passed and results are returned.
    """

    arrays: Mapping[str, Float[np.ndarray, "N _"]]
    layout: Layout

    @property
    def names(self) -> list[str]:
        """The view names."""
        return list(self.arrays)

    @property
    def classes(self) -> dict[str, tuple[Label, ...]]:
        """View name -> classes, for label views; their matrices hold the codes 0, 1, ... in one column."""
        return {name: label_format.classes for name, label_format in self.layout.labels.items()}

    @property
    def n_samples(self) -> int:
        """The number of rows, N."""
        return len(next(iter(self.arrays.values())))


def unpack(views: Any) -> tuple[Container, dict[Any, Any]]:
    """Return the container of views and a dict, view name -> table, of its contents.

    Tables with column names of other libraries, such as polars, are converted to DataFrames.
    """
    if is_mudata(views):
        return Container.MUDATA, mudata_to_frames(views)
    if is_anndata(views):
        return Container.ANNDATA, {_SINGLE_VIEW_NAME: anndata_to_frame(_SINGLE_VIEW_NAME, views)}
    if isinstance(views, Mapping) and not is_sparse(views):  # dok_matrix is a Mapping, too
        return Container.DICT, {name: as_dataframe(view) for name, view in views.items()}
    if _is_list_of_views(views):
        return Container.LIST, {f"view{i}": as_dataframe(view) for i, view in enumerate(views)}
    return Container.SINGLE, {_SINGLE_VIEW_NAME: as_dataframe(views)}


def infer_layout(
    container: Container, tables: Mapping[str, Any], labels: Mapping[str, LabelFormat] | None = None
) -> Layout:
    """Return the layout of tables: their order, and the row and column labels of those that have them.

    Args:
        container: the type of object that holds them.
        tables: view name -> table.
        labels: view name -> label format, for label views.
    """
    formats = labels or {}
    indices = [table.index for table in tables.values() if isinstance(table, pd.DataFrame | pd.Series)]
    return Layout(
        container,
        columns={
            name: table.columns
            for name, table in tables.items()
            if isinstance(table, pd.DataFrame) and name not in formats
        },
        index=next(iter(indices), None),
        names=tuple(tables),
        labels=formats,
    )


def as_label_view(views: Views, name: str) -> Views:
    """Return the views with one numeric column converted to a label view; a label view is returned unchanged."""
    layout, Y = views.layout, views.arrays[name]
    if name in layout.labels:
        return views
    values = distinct_values(Y)
    classes = tuple(int(value) if value.is_integer() else value for value in values.tolist())
    header = next(iter(layout.columns[name])) if name in layout.columns else None
    container = LabelContainer.FRAME if name in layout.columns else LabelContainer.COLUMN
    label_format = LabelFormat(classes, container, name=header)
    codes = np.where(np.isnan(Y), np.nan, np.searchsorted(values, Y).astype(np.float64))
    columns = {view: labels for view, labels in layout.columns.items() if view != name}
    labels = {**layout.labels, name: label_format}
    return Views({**views.arrays, name: codes}, replace(layout, columns=columns, labels=labels))


def _is_list_of_views(views: Any) -> bool:
    """Return whether a value is a list or tuple of views, rather than a matrix given as nested lists."""
    if not isinstance(views, Sequence) or isinstance(views, str | bytes):
        return False
    if len(views) == 0 or any(_is_matrix(view) for view in views):
        return True
    return any(view is None for view in views) and any(np.ndim(view) == 1 for view in views)


def _is_matrix(view: Any) -> bool:
    try:
        named = isinstance(view, pd.DataFrame) or is_foreign_table(view) or is_anndata(view) or is_mudata(view)
        return named or np.ndim(view) == 2
    except (TypeError, ValueError, RuntimeError):  # ragged lists, and tensors that NumPy cannot convert
        return True
