"""The second door: rows that come to a fitted model must have its views and its columns."""

from collections.abc import Mapping
from typing import Any

from mvlvm.errors import ViewError
from mvlvm.views.checking import check_matrices
from mvlvm.views.container import Views
from mvlvm.views.interop import Container, Layout, is_dataframe, layout_of, unpack
from mvlvm.views.listing import listed

_MOST_NAMES = 5


def as_new_views(views: Any, layout: Layout, widths: Mapping[str, int]) -> Views:
    """Check rows for a fitted model.

    Args:
        views: as for `as_views`, but any of the model's views will do, and one row. In a list, None stands for a view
            that is missing.
        layout: the form of the training views.
        widths: view name -> columns in training.

    Raises:
        ViewError: they cannot be used; the message says why and what to do.
    """
    container, tables = unpack(views)
    _check_container(container, tables, layout, list(widths))
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
    arrays = check_matrices(ordered, fewest_rows=1)
    for name, table in ordered.items():
        if is_dataframe(table) and name in layout.columns:
            _check_column_names(name, list(table.columns), list(layout.columns[name]))
        if arrays[name].shape[1] != widths[name]:
            raise ViewError(
                f"View '{name}': X has {arrays[name].shape[1]} features, but it is expecting {widths[name]} features "
                "as input. Give the columns of training, in their order, with NaN where nothing was measured."
            )
    return Views(arrays, layout_of(container, ordered))


def _check_container(container: Container, tables: Mapping[Any, Any], layout: Layout, names: list[str]) -> None:
    """Views are told apart by name; a bare matrix or a list has none, and stands for the views of training only."""
    if container.single and not layout.container.single:
        raise ViewError(
            f"The model has {len(names)} views, {listed(names)}. Got one matrix without a name. "
            f"Give a dict, for example {{'{names[0]}': matrix}}."
        )
    if container is Container.LIST and layout.container is not Container.LIST:
        raise ViewError(
            f"The model's views have names: {listed(names)}. Got a list. Give a dict, for example "
            f"{{'{names[0]}': matrix}}."
        )
    if container is Container.LIST and len(tables) != len(names):
        raise ViewError(
            f"A list must have one entry for every view of training, {len(names)}. Got {len(tables)}. Put None in the "
            f"place of a missing view, or give a dict, for example {{'{names[-1]}': matrix}}."
        )


def _check_column_names(name: str, given: list[Any], expected: list[Any]) -> None:
    if given == expected:
        return
    unseen = _sorted(label for label in given if label not in set(expected))
    missing = _sorted(label for label in expected if label not in set(given))
    lines = [f"View '{name}': The feature names should match those that were passed during fit."]
    if unseen:
        lines += ["Feature names unseen at fit time:", *_shortened(unseen)]
    if missing:
        lines += ["Feature names seen at fit time, yet now missing:", *_shortened(missing)]
    if not unseen and not missing:
        lines += ["Feature names must be in the same order as they were in fit."]
    raise ViewError("\n".join([*lines, "Select the columns of training by name, table[names]."]))


def _sorted(labels: Any) -> list[str]:
    return sorted(str(label) for label in labels)


def _shortened(labels: list[str]) -> list[str]:
    return [f"- {label}" for label in labels[:_MOST_NAMES]] + (["- ..."] if len(labels) > _MOST_NAMES else [])
