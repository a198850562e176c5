"""Options of data sets as they are typed: KEY=VALUE."""

import inspect
import json
import re
from collections.abc import Sequence
from typing import Any

from mvlvm.cli.failing import fail
from mvlvm.datasets import options as known_options
from mvlvm.datasets.loading import find_entry

# What `load` has as parameters of its own, and what the command line has for it.
_ELSEWHERE = {"name": "NAME", "data_home": "--data-home", "random_state": "--seed"}
_PYTHON_WORDS = {"True": True, "False": False, "None": None}
_WITH_LABELS = "with_labels_as_view"


def read(name: str, given: Sequence[str]) -> dict[str, Any]:
    """Give the options of a data set by name, their values read as JSON where that is possible, else as text.

    Whether the data set has them and likes their values is for `load` to say.
    """
    flags = {_WITH_LABELS} | {key for key, default in known_options(name).items() if isinstance(default, bool)}
    found: dict[str, Any] = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not sign or not key:
            fail(f"--option must be KEY=VALUE. Got {text!r}. For example: --option n_samples=100.")
        if key in _ELSEWHERE:
            fail(f"--option cannot set {key!r}. Use {_ELSEWHERE[key]} instead.")
        if key in found:
            fail(f"--option {key} was given twice. Give it once.")
        found[key] = _value(value)
        if key in flags and not isinstance(found[key], bool):
            fail(f"{key} must be true or false. Got {value!r}.")
    return found


def as_typed(value: Any) -> str:
    """Write a value as it would be typed."""
    return value if isinstance(value, str) and _value(value) == value else json.dumps(value)


def meanings(name: str) -> dict[str, str]:
    """Give what each option does, as the docstring of the recipe has it."""
    _, _, arguments = (inspect.getdoc(find_entry(name).recipe) or "").partition("Args:\n")
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", arguments, flags=re.MULTILINE)
    return {key: " ".join(text.split()) for key, text in found}


def _value(text: str) -> Any:
    if text in _PYTHON_WORDS:
        return _PYTHON_WORDS[text]
    try:
        return json.loads(text)
    except ValueError:
        return text
