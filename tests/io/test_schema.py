import re
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import pytest

from mvlvm.io.schema import check_arguments, check_fields, check_type


class Part(TypedDict):
    name: str
    sizes: list[int]


@dataclass(frozen=True)
class Interval:
    low: float
    labels: tuple[str | int, ...] = ()


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (3, int), (3, float), (2.5, float), ("a", str), (None, None | int), (True, bool), ([], list[int]),
        ({"a": [1]}, dict[str, list[int]]), ("red", Literal["red", "blue"]), (("a", 1), tuple[str | int, ...]),
        ({"name": "x", "sizes": [1, 2]}, Part), ([{"name": "x", "sizes": []}], list[Part]), (object(), Any),
    ],
)  # fmt: skip
def test_values_of_the_declared_type_are_accepted(value, hint):
    check_type(value, hint, "value")


@pytest.mark.parametrize(
    ("value", "hint", "message"),
    [
        (2.5, int, "value must be of type int, but is 2.5"),
        ("3", float, "value must be of type float"),
        (None, str, "value must be of type str"),
        ("green", Literal["red", "blue"], "but is 'green'"),
        ({"a": [1, "b"]}, dict[str, list[int]], "value.a[1] must be of type int"),
        ({1: [1]}, dict[str, list[int]], "a key of value must be of type str"),
        ([1], dict[str, int], "value must be of type"),
        ((1,), list[int], "value must be of type"),
        ([], Part, "value must be of type Part"),
        ({"name": "x"}, Part, "missing: ['sizes'], unknown: []"),
        ({"name": "x", "sizes": [], "colour": 1}, Part, "unknown: ['colour']"),
        ({"name": "x", "sizes": [None]}, Part, "value.sizes[0] must be of type int"),
    ],
)
def test_values_of_another_type_are_rejected_with_their_place(value, hint, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        check_type(value, hint, "value")


def test_fields_of_a_dataclass_have_their_declared_types():
    check_fields(Interval(1, ("a", 2)), "interval")
    with pytest.raises(TypeError, match=r"interval\.low must be of type float"):
        check_fields(Interval("low"), "interval")  # pyright: ignore
    with pytest.raises(TypeError, match=r"interval\.labels\[0\]"):
        check_fields(Interval(1, (None,)), "interval")


def test_arguments_have_their_declared_types():
    def function(*, count: int = 1, name: str | None = None) -> None: ...

    check_arguments(function, {"count": 2, "name": None}, "parameters")
    with pytest.raises(TypeError, match=r"parameters\.count must be of type int"):
        check_arguments(function, {"count": "2"}, "parameters")
    with pytest.raises(TypeError, match="unknown entry 'colour'"):
        check_arguments(function, {"colour": "red"}, "parameters")
