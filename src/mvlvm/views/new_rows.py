"""The second door: rows that come to a fitted model must have its views and its columns."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from mvlvm.errors import ViewError
from mvlvm.views.checking import check_matrices
from mvlvm.views.container import Views
from mvlvm.views.interop import Container, Layout, layout_of, unpack
from mvlvm.views.label_columns import read_label_form
from mvlvm.views.labels import plain_labels
from mvlvm.views.listing import listed
from mvlvm.views.optional import is_dataframe

_MOST_NAMES = 5


def as_new_views(views: Any, layout: Layout, widths: Mapping[str, int]) -> Views:
    """Check rows for a fitted model.

    Args:
        views: as for `as_views`, but any of the model's views will do, and one row. None stands for a view that is
            missing. A model of one view takes a bare matrix, too, whatever the view is called.
        layout: the form of the training views.
        widths: view name -> columns in training; one for a label view.

    Raises:
        ViewError: they cannot be used; the message says why and what to do.
    """
    container, tables = unpack(views)
    if container is Container.SINGLE and _is_no_table(views):
        raise ViewError(
            f"New rows must be {'a matrix' if len(widths) == 1 else 'a dict of matrices'}. "
            f"Got {'None' if views is None else type(views).__name__}. Give one or more of {listed(list(widths))}."
        )
    tables = _named(container, tables, layout, list(widths))
    given = {name: table for name, table in tables.items() if table is not None}
    if not given:
        raise ViewError(f"At least one view is needed. Got none. Give one of {listed(list(widths))}.")
    unknown = [name for name in given if name not in widths]
    if unknown:
        raise ViewError(
            f"There was no view {listed(unknown)} in training. The model's views are {listed(list(widths))}: "
            "leave the others out."
        )
    ordered = {name: given[name] for name in widths if name in given}
    labels = {name: read_label_form(name, ordered[name], layout.labels[name].classes) for name in layout.labels
              if name in ordered}  # fmt: skip
    arrays = check_matrices(ordered, fewest_rows=1, labels=labels)
    for name, table in ordered.items():
        if is_dataframe(table) and name in layout.columns:
            _check_column_names(name, plain_labels(table.columns), plain_labels(layout.columns[name]))
        if arrays[name].shape[1] != widths[name]:
            raise ViewError(
                f"View '{name}': X has {arrays[name].shape[1]} features, but it is expecting {widths[name]} features "
                "as input. Give the columns of training, in their order, with NaN where nothing was measured."
            )
    return Views(arrays, layout_of(container, tables, labels))


def _is_no_table(views: Any) -> bool:
    try:
        return np.ndim(views) == 0
    except (TypeError, ValueError, RuntimeError):  # ragged lists, of which more is said later
        return False


def _named(container: Container, tables: Mapping[Any, Any], layout: Layout, names: list[str]) -> Mapping[Any, Any]:
    """Views are told apart by name; a bare matrix or a list has none, and stands for the views of training only."""
    if not container.single and container is not Container.LIST:
        return tables
    if len(names) > 1:
        _check_without_names(container, layout, names)
    if len(tables) != len(names):
        raise ViewError(
            f"A list must have one entry for every view of training, {len(names)}. Got {len(tables)}. Put None in the "
            f"place of a missing view, or give a dict, for example {{'{names[-1]}': matrix}}."
        )
    return dict(zip(names, tables.values(), strict=True))


def _check_without_names(container: Container, layout: Layout, names: list[str]) -> None:
    if container is Container.ANNDATA:
        raise ViewError(
            f"The model has {len(names)} views, {listed(names)}. Got one AnnData without a name. "
            f"Give a MuData, for example mudata.MuData({{'{names[0]}': adata}})."
        )
    if container is Container.SINGLE:
        raise ViewError(
            f"The model has {len(names)} views, {listed(names)}. Got one matrix without a name. "
            f"Give a dict, for example {{'{names[0]}': matrix}}."
        )
    if layout.container is not Container.LIST:
        raise ViewError(
            f"The model's views have names: {listed(names)}. Got a list. Give a dict, for example "
            f"{{'{names[0]}': matrix}}."
        )


def _check_column_names(name: str, given: list[Any], expected: list[Any]) -> None:
    if given == expected:
        return
    now, then = Counter(given), Counter(expected)
    unseen, missing = _written(
        [label for label in now if label not in then], [label for label in then if label not in now]
    )
    lines = [f"View '{name}': The feature names should match those that were passed during fit."]
    if unseen:
        lines += ["Feature names unseen at fit time:", *_shortened(unseen)]
    if missing:
        lines += ["Feature names seen at fit time, yet now missing:", *_shortened(missing)]
    advice = "Select the columns of training by name, table[names]."
    if not unseen and not missing and now != then:
        repeated = [f"{label}: {now[label]}, at fit time {then[label]}" for label in now if now[label] != then[label]]
        lines += ["Feature names that are there another number of times:", *_shortened(sorted(repeated))]
        advice = "Give every column as often as it was there in fit."
    elif not unseen and not missing:
        lines += ["Feature names must be in the same order as they were in fit."]
    raise ViewError("\n".join([*lines, advice]))


def _written(unseen: list[Any], missing: list[Any]) -> tuple[list[str], list[str]]:
    """Write labels in order, text in quotes where a number would look like it."""
    alike = {str(label) for label in unseen} & {str(label) for label in missing}
    write = repr if alike else str
    return sorted(write(label) for label in unseen), sorted(write(label) for label in missing)


def _shortened(labels: list[str]) -> list[str]:
    return [f"- {label}" for label in labels[:_MOST_NAMES]] + (["- ..."] if len(labels) > _MOST_NAMES else [])
