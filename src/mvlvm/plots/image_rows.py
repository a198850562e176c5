"""Rows of small images: the originals, what a model was shown of them, and what it made of that."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from mvlvm.errors import ViewError
from mvlvm.plots.legends import legend_below
from mvlvm.plots.looks import is_ours
from mvlvm.plots.style import MISSING, fit_panel, new_figure, put_title

_COLOURS = 3
_IMAGE = 0.62  # inches, the width of an image unless there are many
_WIDEST = 7.0  # inches of images
_GAP = 0.06  # of an image's height between images
_LEAST_HEIGHT = 32  # pixels; smaller images are enlarged, or gaps could not be thin
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
    _check_fit(images, headings, hidden or {})
    masks = {name: _hidden_pixels(name, pixels, (hidden or {}).get(name)) for name, pixels in images.items()}
    low, high = _limits(next(iter(images.values()))) if limits is None else map(float, limits)
    if not low < high:
        raise ViewError(f"limits must be two numbers, black below white. Got {low:g} and {high:g}.")
    shown = [_coloured(pixels, masks[name], low, high) for name, pixels in images.items()]
    sheet, middles, centres = _arrange(shown)
    names = [textwrap.fill(name, _LONGEST_NAME) for name in images]
    scale = min(_IMAGE * len(centres), _WIDEST) / sheet.shape[1]  # inches of a pixel
    height, width = (scale * length for length in sheet.shape[:2])
    figure, ((panel,),) = new_figure(1, 1, panel=(width + 3.0, height + 4.0))
    panel.imshow(sheet, interpolation="nearest", aspect="auto")
    put_title(panel, title, inches=width)
    _name(panel, names, middles, list(images))
    if headings is not None:
        _head(panel, headings, centres, width / len(centres))
    if any(mask.any() for mask in masks.values()):
        legend_below(figure, {"hidden": Patch(color=MISSING)})
    fit_panel(figure, panel, inches=(width, height))
    return figure


def _name(panel: Axes, names: list[str], middles: list[float], plain: list[str]) -> None:
    panel.set_xticks([])
    panel.set_yticks(middles, names, fontsize="small")
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    for text, name in zip(panel.get_yticklabels(), plain, strict=True):
        text.set_fontweight("bold" if is_ours(name) else "normal")


def _head(panel: Axes, headings: Sequence[str], centres: list[float], inches: float) -> None:
    """Write headings above the columns, in lines as long as an image is wide, or upright where words are too long."""
    room = int(inches / _CHARACTER)
    upright = any(len(word) > room for heading in headings for word in heading.split())
    texts = list(headings) if upright else [textwrap.fill(heading, room) for heading in headings]
    panel.xaxis.tick_top()
    panel.set_xticks(centres, texts, fontsize="small", rotation=90 if upright else 0)
    panel.tick_params(length=0)


def _arrange(
    rows: Sequence[Float[np.ndarray, "_ H W 3"]],
) -> tuple[Float[np.ndarray, "A B 3"], list[float], list[float]]:
    """Lay images out in rows, and give the middle of every row and the centre of every column."""
    times = -(-_LEAST_HEIGHT // rows[0].shape[1])
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


def _coloured(
    pixels: Float[np.ndarray, "K H W C"], mask: Bool[np.ndarray, "K H W"], low: float, high: float
) -> Float[np.ndarray, "K H W 3"]:
    scaled = np.clip((pixels - low) / (high - low), 0, 1)
    in_colour = np.broadcast_to(scaled, (*pixels.shape[:3], _COLOURS))
    return np.where(mask[..., None], to_rgb(MISSING), in_colour)


def _limits(pixels: Float[np.ndarray, "K H W C"]) -> tuple[float, float]:
    there = pixels[~np.isnan(pixels)]
    low, high = (float(there.min()), float(there.max())) if len(there) else (0.0, 1.0)
    return (low, high) if high > low else (low, low + 1.0)


def _hidden_pixels(name: str, pixels: Float[np.ndarray, "K H W C"], given: Any) -> Bool[np.ndarray, "K H W"]:
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


def _check_fit(
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
