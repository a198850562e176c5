"""Validation of values from JSON against type hints, so that a file of the wrong form is rejected before it is used."""

import dataclasses
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict


def check_type(value: Any, hint: Any, where: str) -> None:
    """Check that a value, with everything that it contains, has the type of a hint.

    Integers are accepted as floats. Typed dicts have the declared keys, of which those marked as not required may be
    missing, and no others.

    Args:
        value: the value.
        hint: a class, `Any`, `Literal`, a union, or a typed dict, mapping, list or tuple of these.
        where: the name of the value, for the message.

    Raises:
        TypeError: it does not.

    Example:
        >>> check_type({"width": [3, 4]}, dict[str, list[int]], "header")
        >>> check_type({"width": [3, "4"]}, dict[str, list[int]], "header")
        Traceback (most recent call last):
        TypeError: header.width[1] must be of type int, but is '4'
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return
    if is_typeddict(hint):
        _check_typed_dict(value, hint, where)
    elif origin in (Union, UnionType):
        if not any(_has_type(value, option) for option in arguments):
            raise _mismatch(value, hint, where)
    elif origin is Literal:
        _expect(value in arguments, value, hint, where)
    elif origin in (dict, Mapping):
        _expect(isinstance(value, Mapping), value, hint, where)
        for key, entry in value.items():
            check_type(key, arguments[0], f"a key of {where}")
            check_type(entry, arguments[1], f"{where}.{key}")
    elif origin in (list, tuple):
        _expect(isinstance(value, origin), value, hint, where)
        for k, entry in enumerate(value):
            check_type(entry, arguments[0], f"{where}[{k}]")
    else:
        _expect(isinstance(value, (int, float) if hint is float else hint), value, hint, where)


def check_fields(instance: Any, where: str) -> None:
    """Check that the fields of a dataclass have their declared types.

    Raises:
        TypeError: one of them does not.
    """
    hints = get_type_hints(type(instance))
    for field in dataclasses.fields(instance):
        check_type(getattr(instance, field.name), hints[field.name], f"{where}.{field.name}")


def check_arguments(function: Callable[..., Any], arguments: Mapping[str, Any], where: str) -> None:
    """Check that keyword arguments have the declared types.

    Raises:
        TypeError: one of them does not, or is unknown.
    """
    hints = get_type_hints(function)
    for name, value in arguments.items():
        if name not in hints:
            raise TypeError(f"{where} has the unknown entry {name!r:.60}")
        check_type(value, hints[name], f"{where}.{name}")


def _check_typed_dict(value: Any, hint: Any, where: str) -> None:
    _expect(isinstance(value, dict), value, hint, where)
    declared = get_type_hints(hint)
    missing = sorted(hint.__required_keys__ - value.keys())
    unknown = sorted(map(str, value.keys() - declared.keys()))
    if missing or unknown:
        raise TypeError(f"{where} must have the entries {sorted(declared)}; missing: {missing}, unknown: {unknown}")
    for key, entry in value.items():
        check_type(entry, declared[key], f"{where}.{key}")


def _has_type(value: Any, hint: Any) -> bool:
    try:
        check_type(value, hint, "")
    except TypeError:
        return False
    return True


def _expect(condition: bool, value: Any, hint: Any, where: str) -> None:
    if not condition:
        raise _mismatch(value, hint, where)


def _mismatch(value: Any, hint: Any, where: str) -> TypeError:
    return TypeError(f"{where} must be of type {getattr(hint, '__name__', hint)}, but is {value!r:.60}")
