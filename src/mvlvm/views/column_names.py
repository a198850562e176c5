"""Matching of the columns of new rows to those of training, by name."""

from collections import Counter
from typing import Any

from mvlvm.checks import listed
from mvlvm.errors import ViewError
from mvlvm.views.labels import json_labels

# Feature names listed in a message.
_MAX_NAMES = 5


def match_columns(name: str, table: Any, columns: Any) -> Any:
    """Return a DataFrame with the columns of training, in their order.

    Args:
        name: the view, for messages.
        table: the DataFrame.
        columns: the column names in training.

    Raises:
        ViewError: names are missing, unknown, or repeated in another order.
    """
    given, expected = json_labels(table.columns), json_labels(columns)
    if given == expected:
        return table
    if Counter(given) != Counter(expected) or len(set(given)) < len(given):
        raise _mismatch(name, given, expected)
    positions = {label: position for position, label in enumerate(given)}
    return table.iloc[:, [positions[label] for label in expected]]


def match_positions(name: str, table: Any, width: int) -> Any:
    """Return a DataFrame for a model that was fitted on columns without names, whose names are their positions.

    Columns called 0, 1, 2, ... are put in this order. Other names do not tell the order, unless there is one column.

    Args:
        name: the view, for messages.
        table: the DataFrame.
        width: the number of columns in training.

    Raises:
        ViewError: the order of the columns is unknown.
    """
    given = json_labels(table.columns)
    if len(given) != width or width == 1:  # a wrong number of columns is reported with the number
        return table
    if Counter(given) == Counter(range(width)):
        return match_columns(name, table, range(width))
    raise ViewError(
        f"The columns of view '{name}' have names, {listed(given)}, and the model was fitted without names, so that "
        "their order cannot be checked. If they are in the order of training, pass table.to_numpy(); or fit the model "
        "on a table with column names."
    )


def _mismatch(name: str, given: list[Any], expected: list[Any]) -> ViewError:
    """Return the error for names that differ; its first lines are those of scikit-learn."""
    now, then = Counter(given), Counter(expected)
    unseen, missing = _formatted(
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
        lines += ["Feature names that occur a different number of times:", *_shortened(sorted(repeated))]
        advice = "Pass every column as often as it occurred in fit."
    elif not unseen and not missing:
        repeated = [str(label) for label in then if then[label] > 1]
        lines += ["Feature names must be in the same order as they were in fit, since these are repeated:"]
        lines += _shortened(repeated)
    return ViewError("\n".join([*lines, advice]))


def _formatted(unseen: list[Any], missing: list[Any]) -> tuple[list[str], list[str]]:
    """Return sorted labels as text, with quotes around text if a number would look the same."""
    ambiguous = {str(label) for label in unseen} & {str(label) for label in missing}
    as_text = repr if ambiguous else str
    return sorted(as_text(label) for label in unseen), sorted(as_text(label) for label in missing)


def _shortened(labels: list[str]) -> list[str]:
    return [f"- {label}" for label in labels[:_MAX_NAMES]] + (["- ..."] if len(labels) > _MAX_NAMES else [])
