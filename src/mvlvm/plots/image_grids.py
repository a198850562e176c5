"""Grids of images: contact sheets of a data set by class, and rows of originals and reconstructions."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from scipy.sparse import issparse

from mvlvm.errors import ViewError
from mvlvm.plots.overview import as_matrices
from mvlvm.plots.palette import is_ours
from mvlvm.plots.style import MISSING, OBSERVED, fit_panel, legend_below, new_figure, set_wrapped_title

_N_CHANNELS = 3  # red, green and blue

# contact sheets
MAX_CLASSES = 30
_IMAGES_PER_ROW = 12
_ROWS_WITHOUT_LABELS = 8
_MIN_SHEET_HEIGHT = 24  # pixels; smaller images are enlarged, so that the space between them looks narrow
_ROW_HEIGHT, _MAX_SHEET_WIDTH = 0.62, 9.0  # inches

# rows of images
_IMAGE_WIDTH = 0.62  # inches, unless there are many images in a row
_MAX_ROW_WIDTH = 7.0  # inches of images
_SPACING = 0.06  # between images, relative to their height
_MIN_ROW_HEIGHT = 32  # pixels; smaller images are enlarged, so that the space between them can be narrow
_CHARACTER = 0.072  # inches, the mean width of a character
_NAME_LINE = 22  # characters in one line of a row's name


def plot_contact_sheet(
    views: Mapping[str, Any],
    shapes: Mapping[str, tuple[int, ...]],
    *,
    labels: Int[np.ndarray, " N"] | None = None,
    label_names: Sequence[str] | None = None,
    title: str = "",
) -> Figure:
    """Plot a row of sample images per class, evenly spaced over the data; without labels, in the order of the data.

    The images of one sample in all views are drawn next to each other. The intensity scale is common to all images of a
    view: from zero, or its smallest value if that is negative, to its largest value. Missing pixels have the colour of
    missing entries in `plot_overview`. At most 30 classes are shown, the first ones.

    Args:
        views: view name -> matrix with one image per row, an array or a SciPy sparse matrix.
        shapes: view name -> (height, width) or (height, width, channels), for every view to plot.
        labels: classes, numbered from zero; -1 for unknown. Shape (N,).
        label_names: names of the classes.
        title: title of the figure.

    Returns:
        The figure, with one panel.

    Raises:
        ViewError: no image is given, a view is not a numeric matrix, or shapes or labels do not match the views.
    """
    views = as_matrices({name: views[name] for name in shapes if name in views})
    n_samples = next(iter(views.values())).shape[0]
    _check_shapes(views, shapes)
    _check_labels(labels, label_names, n_samples)
    n_per_row = max(2, _IMAGES_PER_ROW // len(shapes))
    lines = (
        _samples_by_class(labels, label_names, n_per_row)
        if labels is not None
        else _samples_in_order(n_samples, n_per_row)
    )
    selected = np.concatenate([rows for _, rows in lines])
    pictures = [image_pixels(views[name], shape, selected) for name, shape in shapes.items()]
    sheet, middles = _arrange_sheet(pictures, [len(rows) for _, rows in lines])
    figure, ((panel,),) = new_figure(1, 1, panel=_sheet_inches(sheet, [name for name, _ in lines]))
    panel.imshow(sheet, interpolation="nearest")
    panel.set_yticks(middles, [name for name, _ in lines])
    panel.set_xticks([])
    panel.tick_params(left=False)
    panel.spines[:].set_visible(False)
    panel.set_ylabel("number of a row's first sample" if labels is None else "class")
    panel.set_xlabel(f"{'view' if len(shapes) == 1 else 'views of a sample, from left to right'}: {', '.join(shapes)}")
    panel.set_title(title)
    return figure


def image_pixels(Y: Any, shape: tuple[int, ...], rows: Int[np.ndarray, " K"]) -> Float[np.ndarray, "K H W 3"]:
    """Return rows of a view as RGB images with values from 0 to 1, shape (K, height, width, 3)."""
    low, high = _value_range(Y.data if issparse(Y) else np.asarray(Y))
    values = Y.tocsr()[rows].toarray() if issparse(Y) else np.asarray(Y)[rows]
    scaled = (values.astype(np.float64) - low) / (high - low)
    n_channels = shape[2] if len(shape) > 2 else 1
    if n_channels not in (1, _N_CHANNELS):
        raise ValueError(f"An image must have 1 or 3 channels. Got shape {shape}. Select channels to plot.")
    images = np.broadcast_to(scaled.reshape(-1, *shape[:2], n_channels), (len(rows), *shape[:2], _N_CHANNELS))
    return np.where(np.isnan(images).any(axis=-1, keepdims=True), to_rgb(MISSING), images)


def _check_shapes(views: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    for name, shape in shapes.items():
        if name not in views:
            raise ViewError(
                f"The keys of shapes must be names of views. Got {name!r}; the views are: {', '.join(views)}."
            )
        if len(shape) not in (2, 3) or math.prod(shape) != views[name].shape[1]:
            raise ViewError(
                f"View '{name}' has {views[name].shape[1]} columns, which is not the size of an image of shape "
                f"{tuple(shape)}. Pass (height, width) or (height, width, channels)."
            )


def _check_labels(labels: Int[np.ndarray, " N"] | None, names: Sequence[str] | None, n_samples: int) -> None:
    if labels is None:
        return
    if len(labels) != n_samples:
        raise ViewError(f"labels must have one entry per sample. Got {len(labels)} for {n_samples} samples.")
    if names and labels.max() >= len(names):
        raise ViewError(
            f"label_names must have one name per class. Got {len(names)} names, but the label {labels.max()}."
        )


def _value_range(values: Shaped[np.ndarray, "..."]) -> tuple[float, float]:
    """Return the values of black and white, an interval that contains zero."""
    low = float(np.fmin.reduce(values, axis=None, initial=0))
    high = float(np.fmax.reduce(values, axis=None, initial=0))
    return low, high if high > low else low + 1


def _samples_by_class(
    labels: Int[np.ndarray, " N"], names: Sequence[str] | None, n_per_row: int
) -> list[tuple[str, Int[np.ndarray, " K"]]]:
    """Return the name of every class with some of its samples; samples of unknown class come last."""
    known = [int(label) for label in np.unique(labels) if label >= 0][:MAX_CLASSES]
    lines = [(names[k] if names else str(k), _evenly_spaced(np.flatnonzero(labels == k), n_per_row)) for k in known]
    unknown = np.flatnonzero(labels < 0)
    return [*lines, ("unknown", _evenly_spaced(unknown, n_per_row))] if len(unknown) else lines


def _samples_in_order(n_samples: int, n_per_row: int) -> list[tuple[str, Int[np.ndarray, " K"]]]:
    """Return rows of samples in the order of the data, named by the number of their first sample."""
    rows = _evenly_spaced(np.arange(n_samples), n_per_row * _ROWS_WITHOUT_LABELS)
    cuts = np.arange(n_per_row, len(rows), n_per_row)
    return [(f"{line[0] + 1:,}", line) for line in np.split(rows, cuts)]


def _evenly_spaced(rows: Int[np.ndarray, " N"], n_wanted: int) -> Int[np.ndarray, " K"]:
    """Return at most `n_wanted` evenly spaced rows, including the first and the last."""
    return rows[np.linspace(0, len(rows) - 1, min(n_wanted, len(rows))).round().astype(np.int64)]


def _arrange_sheet(
    pictures: Sequence[Float[np.ndarray, "K _ _ 3"]], lengths: Sequence[int]
) -> tuple[Float[np.ndarray, "A B 3"], list[float]]:
    """Arrange groups of images, one image per view, in lines; also return the vertical centres of the lines."""
    times = -(-_MIN_SHEET_HEIGHT // max(images.shape[1] for images in pictures))
    pictures = [images.repeat(times, axis=1).repeat(times, axis=2) for images in pictures]
    height = max(images.shape[1] for images in pictures)
    space = height // 16
    group = sum(images.shape[2] + space for images in pictures) + 2 * space
    sheet = np.ones((len(lengths) * (height + 2 * space) - 2 * space, max(lengths) * group - 3 * space, _N_CHANNELS))
    tops = [line * (height + 2 * space) for line in range(len(lengths))]
    corners = [(top, k * group) for top, length in zip(tops, lengths, strict=True) for k in range(length)]
    for sample, (top, left) in enumerate(corners):
        # tinted separators: white ones would merge with bright strokes at the border of an image
        sheet[top : top + height, left : left + group - 3 * space] = to_rgb(OBSERVED)
        for images in pictures:
            _, h, w, _ = images.shape
            centred = top + (height - h) // 2
            sheet[centred : centred + h, left : left + w] = images[sample]
            left += w + space
    return sheet, [top + (height - 1) / 2 for top in tops]


def _sheet_inches(sheet: Float[np.ndarray, "A B 3"], names: Sequence[str]) -> tuple[float, float]:
    """Return the figure size in inches: lines of a readable height, unless the sheet becomes too wide."""
    height, width, _ = sheet.shape
    scale = min(_ROW_HEIGHT * len(names) / height, _MAX_SHEET_WIDTH / width)
    name_width = 0.8 + 0.1 * max(map(len, names))
    return max(width * scale, 3.0) + name_width, height * scale + 1.0


def plot_image_rows(
    rows: Mapping[str, Any],
    *,
    headings: Sequence[str] | None = None,
    hidden: Mapping[str, Any] | None = None,
    limits: tuple[Any, Any] | None = None,
    title: str = "",
) -> Figure:
    """Plot rows of grey or RGB images, with missing pixels in a highlight colour.

    Args:
        rows: name -> images of shape (K, height, width) or (K, height, width, 3); a pixel with a NaN is missing. Rows
            may differ in length.
        headings: headings of the columns.
        hidden: name -> boolean mask of further missing pixels, shape (K, height, width).
        limits: the values of black and white; by default the smallest and the largest value of the first row. Values
            outside are clipped.
        title: title of the figure.

    Returns:
        The figure, with one panel.

    Raises:
        ViewError: no images are given, they differ in size, or headings or masks do not match them.
    """
    if not rows:
        raise ViewError("There is nothing to plot: no images were given. Pass at least one row.")
    images = {name: _as_images(name, given) for name, given in rows.items()}
    _check_rows(images, headings, hidden or {})
    masks = {name: _missing_pixels(name, pixels, (hidden or {}).get(name)) for name, pixels in images.items()}
    low, high = _limits(next(iter(images.values()))) if limits is None else map(float, limits)
    if not low < high:
        raise ViewError(f"limits must be two increasing numbers, (black, white). Got {low:g} and {high:g}.")
    shown = [_as_rgb(pixels, masks[name], low, high) for name, pixels in images.items()]
    sheet, middles, centres = _arrange_rows(shown)
    names = [textwrap.fill(name, _NAME_LINE) for name in images]
    scale = min(_IMAGE_WIDTH * len(centres), _MAX_ROW_WIDTH) / sheet.shape[1]  # inches per pixel
    height, width = (scale * length for length in sheet.shape[:2])
    figure, ((panel,),) = new_figure(1, 1, panel=(width + 3.0, height + 4.0))
    panel.imshow(sheet, interpolation="nearest", aspect="auto")
    set_wrapped_title(panel, title, inches=width)
    _name_rows(panel, names, middles, list(images))
    if headings is not None:
        _write_headings(panel, headings, centres, width / len(centres))
    if any(mask.any() for mask in masks.values()):
        legend_below(figure, {"missing": Patch(color=MISSING)})
    fit_panel(figure, panel, inches=(width, height))
    return figure


def _name_rows(panel: Axes, names: list[str], middles: list[float], plain: list[str]) -> None:
    panel.set_xticks([])
    panel.set_yticks(middles, names, fontsize="small")
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    for text, name in zip(panel.get_yticklabels(), plain, strict=True):
        text.set_fontweight("bold" if is_ours(name) else "normal")


def _write_headings(panel: Axes, headings: Sequence[str], centres: list[float], inches: float) -> None:
    """Write headings above the columns, wrapped to the width of an image, or vertically if a word is too long."""
    line = int(inches / _CHARACTER)
    vertical = any(len(word) > line for heading in headings for word in heading.split())
    texts = list(headings) if vertical else [textwrap.fill(heading, line) for heading in headings]
    panel.xaxis.tick_top()
    panel.set_xticks(centres, texts, fontsize="small", rotation=90 if vertical else 0)
    panel.tick_params(length=0)


def _arrange_rows(
    rows: Sequence[Float[np.ndarray, "_ H W 3"]],
) -> tuple[Float[np.ndarray, "A B 3"], list[float], list[float]]:
    """Arrange images in rows; also return the centres of the rows and of the columns."""
    times = -(-_MIN_ROW_HEIGHT // rows[0].shape[1])
    rows = [images.repeat(times, axis=1).repeat(times, axis=2) for images in rows]
    _, height, width, _ = rows[0].shape
    space, longest = max(1, round(_SPACING * height)), max(map(len, rows))
    sheet = np.ones((len(rows) * (height + space) - space, longest * (width + space) - space, _N_CHANNELS))
    for r, images in enumerate(rows):
        for k, image in enumerate(images):
            top, left = r * (height + space), k * (width + space)
            sheet[top : top + height, left : left + width] = image
    middles = [r * (height + space) + (height - 1) / 2 for r in range(len(rows))]
    return sheet, middles, [k * (width + space) + (width - 1) / 2 for k in range(longest)]


def _as_rgb(
    pixels: Float[np.ndarray, "K H W C"], mask: Bool[np.ndarray, "K H W"], low: float, high: float
) -> Float[np.ndarray, "K H W 3"]:
    scaled = np.clip((pixels - low) / (high - low), 0, 1)
    in_colour = np.broadcast_to(scaled, (*pixels.shape[:3], _N_CHANNELS))
    return np.where(mask[..., None], to_rgb(MISSING), in_colour)


def _limits(pixels: Float[np.ndarray, "K H W C"]) -> tuple[float, float]:
    observed = pixels[~np.isnan(pixels)]
    low, high = (float(observed.min()), float(observed.max())) if len(observed) else (0.0, 1.0)
    return (low, high) if high > low else (low, low + 1.0)


def _missing_pixels(name: str, pixels: Float[np.ndarray, "K H W C"], given: Any) -> Bool[np.ndarray, "K H W"]:
    nan = np.asarray(np.isnan(pixels).any(axis=-1))
    if given is None:
        return nan
    mask = np.asarray(given)
    if mask.shape != nan.shape or mask.dtype != bool:
        raise ViewError(
            f"The mask of hidden pixels of '{name}' must be a boolean array of shape {nan.shape}. "
            f"Got {mask.dtype} of shape {mask.shape}."
        )
    return nan | mask


def _as_images(name: str, given: Any) -> Float[np.ndarray, "K H W C"]:
    images = np.asarray(given)
    is_image = images.ndim == 3 or (images.ndim == 4 and images.shape[-1] in (1, _N_CHANNELS))
    if not is_image or images.size == 0 or images.dtype.kind not in "biuf":
        raise ViewError(
            f"Row '{name}' must be images of shape (K, height, width) or (K, height, width, 3). "
            f"Got {images.dtype} of shape {images.shape}. Reshape the rows of a view into images."
        )
    return (images[..., None] if images.ndim == 3 else images).astype(np.float64)


def _check_rows(
    images: Mapping[str, Float[np.ndarray, "..."]], headings: Sequence[str] | None, hidden: Mapping[str, Any]
) -> None:
    sizes = {name: pixels.shape[1:3] for name, pixels in images.items()}
    if len(set(sizes.values())) > 1:
        described = ", ".join(f"{name}: {height} x {width}" for name, (height, width) in sizes.items())
        raise ViewError(f"All images must have the same height and width. Got {described}. Use one figure per size.")
    longest = max(map(len, images.values()))
    if headings is not None and len(headings) != longest:
        raise ViewError(f"headings must have one entry per column, {longest}. Got {len(headings)}.")
    unknown = [name for name in hidden if name not in images]
    if unknown:
        raise ViewError(
            f"The keys of hidden must be names of rows. Got {unknown[0]!r}; the rows are: {', '.join(images)}."
        )
