"""Settings that may be one value for all views or a dict with one value per view."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def per_view(setting: T | Mapping[str, T], names: Sequence[str], parameter: str) -> dict[str, T]:
    """Give the setting of every view.

    Args:
        setting: one value, or view name -> value.
        names: the views.
        parameter: what the user calls the setting.

    Raises:
        ValueError: a list, or a dict that leaves a view out or names one that does not exist.
    """
    if isinstance(setting, list | tuple):
        raise ValueError(
            f"{parameter} must be one value for all views, or a dict with one entry per view. "
            f"Got {setting!r}. The views are: {', '.join(names)}."
        )
    if not isinstance(setting, Mapping):
        return dict.fromkeys(names, setting)
    missing = [name for name in names if name not in setting]
    unknown = [name for name in setting if name not in names]
    if missing or unknown:
        complaint = " and ".join(
            [f"no value for {', '.join(map(repr, missing))}"] * bool(missing)
            + [f"a value for {', '.join(map(repr, unknown))}, which is no view"] * bool(unknown)
        )
        raise ValueError(
            f"{parameter} as a dict needs one entry per view. Got {complaint}. The views are: {', '.join(names)}."
        )
    return {name: setting[name] for name in names}
