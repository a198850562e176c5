"""The containers people keep views in: an array, a list, a dict, DataFrames, AnnData. What comes in goes out again.

The views of a data set, checked and named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
from jaxtyping import Float

from mvlvm.optional_dependencies import is_dataframe, is_series
from mvlvm.views.anndata import anndata_to_frame, as_anndata, as_mudata, is_anndata, is_mudata, mudata_to_frames
from mvlvm.views.labels import Label, LabelContainer, LabelFormat
from mvlvm.views.scaling import distinct_values
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
        labels: view name -> the form of its labels, for label views.
    """

    container: Container
    columns: Mapping[str, Any] = field(default_factory=dict)
    index: Any = None
    names: tuple[str, ...] = ()
    labels: Mapping[str, LabelFormat] = field(default_factory=dict)

    @property
    def row_names(self) -> list[str] | None:
        """The row labels as text; None where there are none, or where they only count the rows."""
        labels = [] if self.index is None else list(self.index)
        return None if labels == list(range(len(labels))) else [str(label) for label in labels]

    def of_rows(self, index: Any) -> "Layout":
        """Give the same form for other rows, with their labels or None."""
        return replace(self, index=index)

    def restore(self, arrays: Mapping[str, Float[np.ndarray, "N _"]], *, per_class: bool = False) -> Any:
        """Give matrices back in this form.

        Args:
            arrays: view name -> matrix; None stands for a view of this form that is not among them.
            per_class: whether label views have a column for every class, such as probabilities, and not one of codes.
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
        """Give one view: labels in their own form, else a DataFrame if it has column labels.

        Args:
            name: the view.
            array: its matrix; for a label view the codes of its classes in one column.
            per_class: whether a label view has a column for every class instead, such as probabilities.
        """
        if name in self.labels:
            form = self.labels[name]
            return form.per_class(array, self.index) if per_class else form.labels(array, self.index)
        if name not in self.columns:
            return array
        import pandas as pd  # only those who gave a DataFrame, or saved one, come here

        return pd.DataFrame(array, columns=self.columns[name], index=self.index)


def unpack(views: Any) -> tuple[Container, dict[Any, Any]]:
    """Tell the container of some views, and name what it holds."""
    if is_mudata(views):
        return Container.MUDATA, mudata_to_frames(views)
    if is_anndata(views):
        return Container.ANNDATA, {_ONLY_VIEW: anndata_to_frame(_ONLY_VIEW, views)}
    if isinstance(views, Mapping) and not is_sparse(views):  # some sparse matrices are mappings, too
        return Container.DICT, dict(views)
    if _is_list_of_views(views):
        return Container.LIST, {f"view{i}": view for i, view in enumerate(views)}
    return Container.SINGLE, {_ONLY_VIEW: views}


def infer_layout(
    container: Container, tables: Mapping[str, Any], labels: Mapping[str, LabelFormat] | None = None
) -> Layout:
    """Remember the order of some tables, and the labels of those that have them.

    Args:
        container: what held them.
        tables: view name -> table.
        labels: view name -> form, for label views.
    """
    forms = labels or {}
    indices = [table.index for table in tables.values() if is_dataframe(table) or is_series(table)]
    return Layout(
        container,
        columns={name: table.columns for name, table in tables.items() if is_dataframe(table) and name not in forms},
        index=next(iter(indices), None),
        names=tuple(tables),
        labels=forms,
    )


def _is_list_of_views(views: Any) -> bool:
    """A list or tuple is a list of views unless it is a matrix written as nested lists."""
    if not isinstance(views, Sequence) or isinstance(views, str | bytes):
        return False
    if len(views) == 0 or any(_is_matrix(view) for view in views):
        return True
    return any(view is None for view in views) and any(np.ndim(view) == 1 for view in views)


def _is_matrix(view: Any) -> bool:
    try:
        return is_dataframe(view) or is_anndata(view) or is_mudata(view) or np.ndim(view) == 2
    except (TypeError, ValueError, RuntimeError):  # ragged lists, and tensors that numpy cannot read
        return True


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
    form = LabelFormat(classes, LabelContainer.FRAME if name in layout.columns else LabelContainer.COLUMN, name=header)
    codes = np.where(np.isnan(Y), np.nan, np.searchsorted(values, Y).astype(np.float64))
    columns = {view: labels for view, labels in layout.columns.items() if view != name}
    return Views({**views.arrays, name: codes}, replace(layout, columns=columns, labels={**layout.labels, name: form}))
