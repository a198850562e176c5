"""Plots of the latents of one model: coloured by classes or values, with their uncertainty, in any dimension."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import EllipseCollection
from matplotlib.colors import Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mvlvm.errors import ViewError
from mvlvm.plots.style import SEQUENTIAL, legend_beside, new_figure

# The palette of Okabe and Ito without black and yellow, which colour-blind readers distinguish, and two more.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#5c3a92", "#7a4a35")
MARKERS = "o^sDPXv*"
# Classes with a look of their own; the rarest ones beyond are drawn as one.
MAX_CLASSES = len(COLOURS) * len(MARKERS)
UNKNOWN, _UNKNOWN_COLOUR = "unknown", "#b5b5b5"
_OTHER = "other"
# Integers of more distinct values are values, not classes.
_MAX_INTEGER_CLASSES = 30
# Ellipses of so many rows are drawn; more would hide each other.
_MAX_ELLIPSES = 3000
_PANEL, _STRIP, _SMALL_PANEL, _MAX_PANELS = (6.0, 5.4), (6.0, 2.2), (3.4, 3.1), 12
# Square points: the area that all points cover together, and the least and the largest area of a point.
_MAX_INK, _POINT_AREAS = 8000.0, (2.0, 30.0)


class Colouring(NamedTuple):
    """The colours and markers of rows, and what they mean.

    Attributes:
        colours: of every row.
        marker: number of the marker of every row.
        known: which rows have a class or value.
        handles: class -> its entry in the legend; empty for values.
        scale: the range of values; None for classes.
    """

    colours: Float[np.ndarray, "N 4"]
    marker: Int[np.ndarray, " N"]
    known: Bool[np.ndarray, " N"]
    handles: Mapping[str, Line2D]
    scale: Normalize | None = None


def plot_embedding(
    mean: Any, color: Any = None, *, std: Any = None, dims: Sequence[int] | None = None,
    names: Sequence[str] | None = None, label: str = "", axes: Axes | None = None,
) -> Axes | list[Axes]:  # fmt: skip
    """Plot latents: one dimension as a strip, two as a map, and more as maps of pairs of dimensions.

    Args:
        mean: posterior means of the latents, (N, D).
        color: of the rows: text, booleans, categories or few different integers are classes, other numbers are values;
            None for one colour. None, NaN and empty text mark unknown classes or values, which are grey.
        std: posterior standard deviations, (N, D), drawn as ellipses for up to 3,000 rows; None draws none.
        dims: the dimensions to draw; None stands for all.
        names: names of the dimensions.
        label: title of the legend, or label of the colour bar.
        axes: to draw into, for one or two dimensions; None makes a new figure.

    Returns:
        The axes; a list of them for more than two dimensions.

    Raises:
        ViewError: the arguments do not fit together.
    """
    X, S = _as_latents(mean, "mean"), None if std is None else _as_latents(std, "std")
    if S is not None and S.shape != X.shape:
        raise ViewError(f"std must have the shape of mean, {X.shape}. Got {S.shape}.")
    chosen = _check_dims(dims, X.shape[1])
    titles = [f"latent dimension {d + 1}" for d in range(X.shape[1])] if names is None else list(names)
    colouring = as_colouring(color, len(X))
    pairs = [(d,) for d in chosen] if len(chosen) == 1 else _pairs(chosen)
    if axes is not None and len(pairs) > 1:
        raise ViewError(f"axes can hold one map of two dimensions. Got {len(chosen)} dimensions. Choose two in dims.")
    figure, panels = _panels(len(pairs), axes, strip=len(chosen) == 1)
    for panel, pair in zip(panels, pairs, strict=False):
        _draw(panel, X[:, pair], None if S is None else S[:, pair], colouring)
        panel.set_xlabel(titles[pair[0]])
        panel.set_ylabel(titles[pair[1]] if len(pair) == 2 else "")
    _add_key(figure, panels, colouring, label, is_own=axes is None)
    return panels[0] if len(panels) == 1 else panels


def as_colouring(color: Any, n_rows: int) -> Colouring:
    """Return the colours of rows for classes, values, or neither.

    Raises:
        ViewError: there is not one class or value per row.
    """
    if color is None:
        return Colouring(_repeat(COLOURS[0], n_rows), np.zeros(n_rows, dtype=int), np.ones(n_rows, dtype=bool), {})
    values = pd.Series(np.asarray(color, dtype=object) if isinstance(color, list | tuple) else color).reset_index(
        drop=True
    )
    if len(values) != n_rows:
        raise ViewError(f"color must have one class or value per row, {n_rows}. Got {len(values)}.")
    known = (values.notna() & (values.astype(str) != "")).to_numpy()
    is_number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    given = values.loc[known]
    n_distinct = len(given.unique())
    whole = is_number and bool(np.all(given.to_numpy(dtype=float) % 1 == 0))
    if is_number and not (whole and n_distinct <= _MAX_INTEGER_CLASSES):
        return _by_value(values.to_numpy(dtype=float), known)
    return _by_class(values, known, whole=whole)


def _by_value(values: Float[np.ndarray, " N"], known: Bool[np.ndarray, " N"]) -> Colouring:
    known = known & np.isfinite(values)
    low, high = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 1.0)
    scale = Normalize(low, high if high > low else low + 1.0)
    colours = _repeat(_UNKNOWN_COLOUR, len(values))
    colours[known] = colormaps[SEQUENTIAL](scale(values[known]))
    return Colouring(colours, np.zeros(len(values), dtype=int), known, {}, scale)


def _by_class(values: pd.Series, known: Bool[np.ndarray, " N"], *, whole: bool) -> Colouring:
    texts = pd.Series(values.loc[known].astype(int) if whole else values.loc[known]).astype(str)
    present = set(texts.tolist())
    if isinstance(values.dtype, pd.CategoricalDtype):
        ordered = [str(name) for name in values.cat.categories if str(name) in present]
    else:
        ordered = sorted(present, key=_natural_key)
    frequent = {name for name, _ in Counter(texts.tolist()).most_common(MAX_CLASSES)}
    shown = [name for name in ordered if name in frequent]
    number = {name: k for k, name in enumerate(shown)}
    class_of = np.full(len(values), -1)
    class_of[known] = [number.get(text, -1) for text in texts]
    palette = np.array([to_rgba(colour) for colour in COLOURS])
    colours = np.where((class_of >= 0)[:, None], palette[class_of % len(COLOURS)], to_rgba(_UNKNOWN_COLOUR))
    marker = np.where(class_of >= 0, class_of // len(COLOURS), 0)
    handles = {name: _handle(COLOURS[k % len(COLOURS)], MARKERS[k // len(COLOURS)]) for name, k in number.items()}
    if len(ordered) > len(shown):
        handles[f"{_OTHER} ({len(ordered) - len(shown)})"] = _handle(_UNKNOWN_COLOUR, MARKERS[0])
    if not known.all():
        handles[UNKNOWN] = _handle(_UNKNOWN_COLOUR, MARKERS[0])
    return Colouring(colours, marker, class_of >= 0, handles)


def _natural_key(name: str) -> list[tuple[int, int, str]]:
    """Return the sorting key under which numbers in names are compared as numbers."""
    parts = re.split(r"(-?\d+)", name)
    return [(0, int(part), "") if re.fullmatch(r"-?\d+", part) else (1, 0, part) for part in parts if part]


def _handle(colour: str, marker: str) -> Line2D:
    return Line2D([], [], linestyle="none", marker=marker, color=colour, markersize=6)


def _repeat(colour: str, n: int) -> Float[np.ndarray, "n 4"]:
    return np.tile(to_rgba(colour), (n, 1))


def _draw(panel: Axes, X: Float[np.ndarray, "N d"], S: Float[np.ndarray, "N d"] | None, colouring: Colouring) -> None:
    """Draw one strip or map; rows of unknown class first, the others in random order."""
    N = len(X)
    rng = np.random.default_rng(0)
    if X.shape[1] == 1:  # a second coordinate that separates the points
        X = np.c_[X, rng.uniform(-1, 1, N)]
        panel.set_yticks([])
        panel.set_ylim(-1.5, 1.5)
        S = None if S is None else np.c_[S, np.zeros(N)]
    else:
        panel.set_aspect("equal", adjustable="datalim")
    if S is not None and N <= _MAX_ELLIPSES:
        panel.add_collection(
            EllipseCollection(
                2 * S[:, 0], np.maximum(2 * S[:, 1], 0.02), np.zeros(N), units="xy", offsets=X,
                offset_transform=panel.transData, facecolors=colouring.colours, edgecolors="none", alpha=0.18,
            )
        )  # fmt: skip
    order = np.lexsort((rng.permutation(N), colouring.known))
    size = float(np.clip(_MAX_INK / N, *_POINT_AREAS))
    for marker in np.unique(colouring.marker):
        rows = order[colouring.marker[order] == marker]
        panel.scatter(
            X[rows, 0], X[rows, 1], c=colouring.colours[rows], marker=MARKERS[marker], s=size, linewidths=0,
            rasterized=N > _MAX_ELLIPSES,
        )  # fmt: skip
    panel.autoscale_view()


def _panels(n_panels: int, axes: Axes | None, *, strip: bool) -> tuple[Figure, list[Axes]]:
    if axes is not None:
        figure = axes.get_figure(root=True)
        assert figure is not None
        return figure, [axes]
    if n_panels == 1:
        figure, ((panel,),) = new_figure(1, 1, panel=_STRIP if strip else _PANEL)
        return figure, [panel]
    n_columns = min(3, n_panels)
    figure, grid = new_figure(-(-n_panels // n_columns), n_columns, panel=_SMALL_PANEL)
    panels = [panel for row in grid for panel in row]
    for panel in panels[n_panels:]:
        panel.remove()
    return figure, panels[:n_panels]


def _pairs(dims: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs of dimensions to draw: all of up to four dimensions, else neighbours in the order given."""
    if len(dims) <= 4:
        return [(a, b) for i, a in enumerate(dims) for b in dims[i + 1 :]]
    pairs = [(dims[i], dims[i + 1]) for i in range(0, len(dims) - 1, 2)]
    if len(dims) % 2:
        pairs.append((dims[-2], dims[-1]))
    return pairs[:_MAX_PANELS]


def _add_key(figure: Figure, panels: list[Axes], colouring: Colouring, label: str, *, is_own: bool) -> None:
    """Add a legend or a colour bar; a legend of axes of the user is drawn inside them."""
    if colouring.scale is not None:
        figure.colorbar(ScalarMappable(colouring.scale, SEQUENTIAL), ax=panels, label=label, shrink=0.85)
    elif colouring.handles and is_own:
        legend_beside(figure, colouring.handles, title=label)
    elif colouring.handles:
        panels[0].legend(list(colouring.handles.values()), list(colouring.handles), title=label or None)


def _check_dims(dims: Sequence[int] | None, D: int) -> list[int]:
    chosen = list(range(D)) if dims is None else [int(d) for d in dims]
    if not chosen or len(set(chosen)) < len(chosen) or not all(0 <= d < D for d in chosen):
        raise ViewError(f"dims must be different dimensions from 0 to {D - 1}. Got {dims!r}.")
    return chosen


def _as_latents(given: Any, argument: str) -> Float[np.ndarray, "N D"]:
    values = np.asarray(given)
    if values.ndim != 2 or values.dtype.kind not in "iuf" or not values.size:
        raise ViewError(f"{argument} must be numbers of shape (N, D). Got {values.dtype} of shape {values.shape}.")
    if not np.isfinite(values).all():
        raise ViewError(f"{argument} must be finite. Got {(~np.isfinite(values)).sum()} values that are not.")
    return values.astype(np.float64)
