"""Ticks that can be read: plain numbers, and where something was measured."""

import math
from collections.abc import Iterable
from typing import Any

from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

_PLAIN = (1e-3, 1e6)  # numbers outside are written as powers
_MOST = 12
_LEAST_DECADES = 0.3  # below which a logarithmic axis looks like any other
# decades, at most -> where in each of them
_PLACES = {1.3: (1.0, 2.0, 3.0, 5.0, 7.0), 5.0: (1.0, 3.0), math.inf: (1.0,)}
_CHARACTER = 0.068  # inches that a digit takes in a tick's label
_GAP = 0.08  # inches between labels


class _RoundNumbers(LogLocator):
    """Ticks at powers of ten where there are many of them, at 1, 3, 10, 30 where there are some, else more."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        low, high = sorted((abs(vmin), abs(vmax)))
        decades = math.log10(high / low) if low > 0 else math.inf
        if decades < _LEAST_DECADES:
            return MaxNLocator(4).tick_values(vmin, vmax)
        places = next(places for most, places in _PLACES.items() if decades <= most)
        return LogLocator(subs=places, numticks=9).tick_values(vmin, vmax)


def plain_log_ticks(axis: Axis) -> None:
    """Write 10, 30, 100 and not powers, and few enough to be read."""
    axis.set_major_locator(_RoundNumbers())
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(float(value))))


def plain_number(value: float) -> str:
    r"""Write a number with as many digits as it has, and very large or small ones with a power of ten.

    Example:
        >>> plain_number(30000.0), plain_number(3e-5)
        ('30,000', '$3\\times10^{-5}$')
    """
    size = abs(value)
    if size == 0 or _PLAIN[0] <= size < _PLAIN[1]:
        return f"{value:,.10g}"
    power = math.floor(math.log10(size) + 1e-9)
    factor = f"{value / 10**power:.3g}"
    return f"$10^{{{power}}}$" if factor == "1" else f"${factor}\\times10^{{{power}}}$"


def ticks_where_measured(axis: Axis, values: Iterable[float], *, inches: float) -> None:
    """Put ticks at the values themselves where these are few, leaving out those whose labels would touch.

    Args:
        axis: whose limits and scale are set.
        values: where something was measured.
        inches: how long the axis is.
    """
    wanted = sorted(set(values))
    if len(wanted) > _MOST:
        return
    low, high = axis.get_transform().transform(axis.get_view_interval())
    kept: list[float] = []
    end = -math.inf
    for value in wanted:
        middle = inches * (float(axis.get_transform().transform([value])[0]) - low) / (high - low)
        text = plain_number(value)
        half = _CHARACTER * (len(text) - 0.5 * text.count(",")) / 2
        if middle - half >= end + _GAP:
            kept.append(value)
            end = middle + half
    axis.set_major_locator(FixedLocator(kept))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(float(value))))
