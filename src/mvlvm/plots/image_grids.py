"""A sheet of images: several of every class, all views of a sample side by side.

Rows of small images: the originals, what a model was shown of them, and what it made of that.
"""

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
from mvlvm.plots.style import MISSING, OBSERVED, fit_panel, legend_below, new_figure, put_title

MOST_CLASSES = 30
_IMAGES_ACROSS = 12
_ROWS_WITHOUT_CLASSES = 8
_COLOURS = 3
_MIN_SHEET_HEIGHT = 24  # pixels; smaller images are enlarged, or the gaps between them would look wide
_ROW_HEIGHT, _WIDEST_SHEET = 0.62, 9.0  # inches


def plot_contact_sheet(
    views: Mapping[str, Any],
    shapes: Mapping[str, tuple[int, ...]],
    *,
    labels: Int[np.ndarray, " N"] | None = None,
    label_names: Sequence[str] | None = None,
    title: str = "",
) -> Figure:
    """Show a row of images for every class, spread evenly over the data; without labels, all in their order.

    A group of neighbours is one sample in all its views. Grey levels and colours run from zero, or the smallest value
    below it, to the largest value of the view, for all its images alike. Missing pixels have the colour that missing
    entries have in `plot_overview`. Of more than thirty classes the first thirty are shown.

    Args:
        views: view name -> matrix with an image in every row, an array or SciPy-sparse.
        shapes: view name -> (height, width) or (height, width, channels), for the views to show.
        labels: classes, numbered from zero; -1 where not known.
        label_names: what the numbers mean.
        title: of the figure.

    Raises:
        ViewError: there are no images, a view is no matrix of numbers, or sizes or labels do not fit.
    """
    views = as_matrices({name: views[name] for name in shapes if name in views})
    n_samples = next(iter(views.values())).shape[0]
    _check_shapes(views, shapes)
    _check_labels(labels, label_names, n_samples)
    n_across = max(2, _IMAGES_ACROSS // len(shapes))
    lines = (
        _samples_by_class(labels, label_names, n_across)
        if labels is not None
        else _samples_in_order(n_samples, n_across)
    )
    chosen = np.concatenate([rows for _, rows in lines])
    pictures = [image_pixels(views[name], shape, chosen) for name, shape in shapes.items()]
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
    """Give rows of a view as images, red, green and blue from 0 to 1."""
    low, high = _value_range(Y.data if issparse(Y) else np.asarray(Y))
    values = Y.tocsr()[rows].toarray() if issparse(Y) else np.asarray(Y)[rows]
    scaled = (values.astype(np.float64) - low) / (high - low)
    n_channels = shape[2] if len(shape) > 2 else 1
    if n_channels not in (1, _COLOURS):
        raise ValueError(f"An image must have 1 or 3 channels to be shown. Got shape {shape}.")
    images = np.broadcast_to(scaled.reshape(-1, *shape[:2], n_channels), (len(rows), *shape[:2], _COLOURS))
    return np.where(np.isnan(images).any(axis=-1, keepdims=True), to_rgb(MISSING), images)


def _check_shapes(views: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    for name, shape in shapes.items():
        if name not in views:
            raise ViewError(f"shapes must name views. Got {name!r}; the views are: {', '.join(views)}.")
        if len(shape) not in (2, 3) or math.prod(shape) != views[name].shape[1]:
            raise ViewError(
                f"View '{name}' has {views[name].shape[1]} columns, which are no images of shape {tuple(shape)}."
            )


def _check_labels(labels: Int[np.ndarray, " N"] | None, names: Sequence[str] | None, n_samples: int) -> None:
    if labels is None:
        return
    if len(labels) != n_samples:
        raise ViewError(f"There must be a label for every sample. Got {len(labels)} for {n_samples} samples.")
    if names and labels.max() >= len(names):
        raise ViewError(f"label_names must have a name for every class. Got {len(names)}; a label is {labels.max()}.")


def _value_range(values: Shaped[np.ndarray, "..."]) -> tuple[float, float]:
    """Give what is black and what is white; zero is always between them."""
    low = float(np.fmin.reduce(values, axis=None, initial=0))
    high = float(np.fmax.reduce(values, axis=None, initial=0))
    return low, high if high > low else low + 1


def _samples_by_class(
    labels: Int[np.ndarray, " N"], names: Sequence[str] | None, n_across: int
) -> list[tuple[str, Int[np.ndarray, " K"]]]:
    """Give for every class its name and some of its samples; those of unknown class come last."""
    known = [int(label) for label in np.unique(labels) if label >= 0][:MOST_CLASSES]
    lines = [(names[k] if names else str(k), _evenly_spaced(np.flatnonzero(labels == k), n_across)) for k in known]
    unknown = np.flatnonzero(labels < 0)
    return [*lines, ("unknown", _evenly_spaced(unknown, n_across))] if len(unknown) else lines


def _samples_in_order(n_samples: int, n_across: int) -> list[tuple[str, Int[np.ndarray, " K"]]]:
    """Give samples from first to last, cut into lines that are named by the number of their first one."""
    rows = _evenly_spaced(np.arange(n_samples), n_across * _ROWS_WITHOUT_CLASSES)
    cuts = np.arange(n_across, len(rows), n_across)
    return [(f"{line[0] + 1:,}", line) for line in np.split(rows, cuts)]


def _evenly_spaced(rows: Int[np.ndarray, " N"], n_wanted: int) -> Int[np.ndarray, " K"]:
    """Choose rows at even distances, the first and the last among them."""
    return rows[np.linspace(0, len(rows) - 1, min(n_wanted, len(rows))).round().astype(np.int64)]


def _arrange_sheet(
    pictures: Sequence[Float[np.ndarray, "K _ _ 3"]], lengths: Sequence[int]
) -> tuple[Float[np.ndarray, "A B 3"], list[float]]:
    """Lay out lines of groups, a group being one image of every view, and give the middle of every line."""
    times = -(-_MIN_SHEET_HEIGHT // max(images.shape[1] for images in pictures))
    pictures = [images.repeat(times, axis=1).repeat(times, axis=2) for images in pictures]
    height = max(images.shape[1] for images in pictures)
    gap = height // 16
    group = sum(images.shape[2] + gap for images in pictures) + 2 * gap
    sheet = np.ones((len(lengths) * (height + 2 * gap) - 2 * gap, max(lengths) * group - 3 * gap, _COLOURS))
    tops = [line * (height + 2 * gap) for line in range(len(lengths))]
    places = [(top, k * group) for top, length in zip(tops, lengths, strict=True) for k in range(length)]
    for sample, (top, left) in enumerate(places):
        # a tinted seam, since white would run into the bright strokes of a cut image
        sheet[top : top + height, left : left + group - 3 * gap] = to_rgb(OBSERVED)
        for images in pictures:
            _, h, w, _ = images.shape
            centred = top + (height - h) // 2
            sheet[centred : centred + h, left : left + w] = images[sample]
            left += w + gap
    return sheet, [top + (height - 1) / 2 for top in tops]


def _sheet_inches(sheet: Float[np.ndarray, "A B 3"], names: Sequence[str]) -> tuple[float, float]:
    """Give the size of the figure: lines of a readable height, unless that makes the sheet too wide."""
    height, width, _ = sheet.shape
    scale = min(_ROW_HEIGHT * len(names) / height, _WIDEST_SHEET / width)
    for_names = 0.8 + 0.1 * max(map(len, names))
    return max(width * scale, 3.0) + for_names, height * scale + 1.0


_IMAGE_WIDTH = 0.62  # inches, the width of an image unless there are many
_MAX_ROW_WIDTH = 7.0  # inches of images
_GAP = 0.06  # of an image's height between images
_MIN_ROW_HEIGHT = 32  # pixels; smaller images are enlarged, or gaps could not be thin
_CHARACTER = 0.072  # inches
_LONGEST_NAME = 22  # characters in one line beside a row


def plot_image_rows(
    rows: Mapping[str, Any],
    *,
    headings: Sequence[str] | None = None,
    hidden: Mapping[str, Any] | None = None,
    limits: tuple[Any, Any] | None = None,
    title: str = "",
) -> Figure:
    """Show rows of images below each other, grey or in colour, with hidden pixels in a colour that images do not have.

    Args:
        rows: name -> images, (K, height, width) or (K, height, width, 3); a pixel with a NaN is hidden. Rows may be of
            different length.
        headings: what is written above the columns.
        hidden: name -> which pixels are hidden, (K, height, width), beside those that are NaN.
        limits: which value is black and which is white; the smallest and the largest of the first row, unless given.
            Values outside are drawn as if they were at the limits.
        title: of the figure.

    Raises:
        ViewError: there are no images, they are not all of one size, or headings or hidden pixels do not fit.
    """
    if not rows:
        raise ViewError("There is nothing to show: no images were given. Give at least one row.")
    images = {name: _as_images(name, given) for name, given in rows.items()}
    _check_rows(images, headings, hidden or {})
    masks = {name: _missing_pixels(name, pixels, (hidden or {}).get(name)) for name, pixels in images.items()}
    low, high = _limits(next(iter(images.values()))) if limits is None else map(float, limits)
    if not low < high:
        raise ViewError(f"limits must be two numbers, black below white. Got {low:g} and {high:g}.")
    shown = [_as_rgb(pixels, masks[name], low, high) for name, pixels in images.items()]
    sheet, middles, centres = _arrange_rows(shown)
    names = [textwrap.fill(name, _LONGEST_NAME) for name in images]
    scale = min(_IMAGE_WIDTH * len(centres), _MAX_ROW_WIDTH) / sheet.shape[1]  # inches of a pixel
    height, width = (scale * length for length in sheet.shape[:2])
    figure, ((panel,),) = new_figure(1, 1, panel=(width + 3.0, height + 4.0))
    panel.imshow(sheet, interpolation="nearest", aspect="auto")
    put_title(panel, title, inches=width)
    _name_rows(panel, names, middles, list(images))
    if headings is not None:
        _write_headings(panel, headings, centres, width / len(centres))
    if any(mask.any() for mask in masks.values()):
        legend_below(figure, {"hidden": Patch(color=MISSING)})
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
    """Write headings above the columns, in lines as long as an image is wide, or upright where words are too long."""
    room = int(inches / _CHARACTER)
    upright = any(len(word) > room for heading in headings for word in heading.split())
    texts = list(headings) if upright else [textwrap.fill(heading, room) for heading in headings]
    panel.xaxis.tick_top()
    panel.set_xticks(centres, texts, fontsize="small", rotation=90 if upright else 0)
    panel.tick_params(length=0)


def _arrange_rows(
    rows: Sequence[Float[np.ndarray, "_ H W 3"]],
) -> tuple[Float[np.ndarray, "A B 3"], list[float], list[float]]:
    """Lay images out in rows, and give the middle of every row and the centre of every column."""
    times = -(-_MIN_ROW_HEIGHT // rows[0].shape[1])
    rows = [images.repeat(times, axis=1).repeat(times, axis=2) for images in rows]
    _, height, width, _ = rows[0].shape
    gap, longest = max(1, round(_GAP * height)), max(map(len, rows))
    sheet = np.ones((len(rows) * (height + gap) - gap, longest * (width + gap) - gap, _COLOURS))
    for r, images in enumerate(rows):
        for k, image in enumerate(images):
            top, left = r * (height + gap), k * (width + gap)
            sheet[top : top + height, left : left + width] = image
    middles = [r * (height + gap) + (height - 1) / 2 for r in range(len(rows))]
    return sheet, middles, [k * (width + gap) + (width - 1) / 2 for k in range(longest)]


def _as_rgb(
    pixels: Float[np.ndarray, "K H W C"], mask: Bool[np.ndarray, "K H W"], low: float, high: float
) -> Float[np.ndarray, "K H W 3"]:
    scaled = np.clip((pixels - low) / (high - low), 0, 1)
    in_colour = np.broadcast_to(scaled, (*pixels.shape[:3], _COLOURS))
    return np.where(mask[..., None], to_rgb(MISSING), in_colour)


def _limits(pixels: Float[np.ndarray, "K H W C"]) -> tuple[float, float]:
    there = pixels[~np.isnan(pixels)]
    low, high = (float(there.min()), float(there.max())) if len(there) else (0.0, 1.0)
    return (low, high) if high > low else (low, low + 1.0)


def _missing_pixels(name: str, pixels: Float[np.ndarray, "K H W C"], given: Any) -> Bool[np.ndarray, "K H W"]:
    nan = np.asarray(np.isnan(pixels).any(axis=-1))
    if given is None:
        return nan
    mask = np.asarray(given)
    if mask.shape != nan.shape or mask.dtype != bool:
        raise ViewError(
            f"hidden pixels of '{name}' must be True or False for every pixel, of shape {nan.shape}. "
            f"Got {mask.dtype} of shape {mask.shape}."
        )
    return nan | mask


def _as_images(name: str, given: Any) -> Float[np.ndarray, "K H W C"]:
    images = np.asarray(given)
    fits = images.ndim == 3 or (images.ndim == 4 and images.shape[-1] in (1, _COLOURS))
    if not fits or images.size == 0 or images.dtype.kind not in "biuf":
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
        raise ViewError(f"All images must be of the same height and width. Got {described}. Show others apart.")
    longest = max(map(len, images.values()))
    if headings is not None and len(headings) != longest:
        raise ViewError(f"There must be a heading for every column, {longest}. Got {len(headings)}.")
    strangers = [name for name in hidden if name not in images]
    if strangers:
        raise ViewError(f"hidden must name rows. Got {strangers[0]!r}; the rows are: {', '.join(images)}.")
