"""A sheet of images: several of every class, all views of a sample side by side."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from scipy.sparse import issparse

from mvlvm.errors import ViewError
from mvlvm.plots.matrices import as_matrices
from mvlvm.plots.style import MISSING, OBSERVED, new_figure

MOST_CLASSES = 30
_IMAGES_ACROSS = 12
_ROWS_WITHOUT_CLASSES = 8
_COLOURS = 3
_LEAST_HEIGHT = 24  # pixels; smaller images are enlarged, or the gaps between them would look wide
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
    _check_fit(views, shapes)
    _check_labels(labels, label_names, n_samples)
    n_across = max(2, _IMAGES_ACROSS // len(shapes))
    lines = _by_class(labels, label_names, n_across) if labels is not None else _in_order(n_samples, n_across)
    chosen = np.concatenate([rows for _, rows in lines])
    pictures = [image_pixels(views[name], shape, chosen) for name, shape in shapes.items()]
    sheet, middles = _arrange(pictures, [len(rows) for _, rows in lines])
    figure, ((panel,),) = new_figure(1, 1, panel=_inches(sheet, [name for name, _ in lines]))
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


def _check_fit(views: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
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


def _by_class(
    labels: Int[np.ndarray, " N"], names: Sequence[str] | None, n_across: int
) -> list[tuple[str, Int[np.ndarray, " K"]]]:
    """Give for every class its name and some of its samples; those of unknown class come last."""
    known = [int(label) for label in np.unique(labels) if label >= 0][:MOST_CLASSES]
    lines = [(names[k] if names else str(k), _spread(np.flatnonzero(labels == k), n_across)) for k in known]
    unknown = np.flatnonzero(labels < 0)
    return [*lines, ("unknown", _spread(unknown, n_across))] if len(unknown) else lines


def _in_order(n_samples: int, n_across: int) -> list[tuple[str, Int[np.ndarray, " K"]]]:
    """Give samples from first to last, cut into lines that are named by the number of their first one."""
    rows = _spread(np.arange(n_samples), n_across * _ROWS_WITHOUT_CLASSES)
    cuts = np.arange(n_across, len(rows), n_across)
    return [(f"{line[0] + 1:,}", line) for line in np.split(rows, cuts)]


def _spread(rows: Int[np.ndarray, " N"], n_wanted: int) -> Int[np.ndarray, " K"]:
    """Choose rows at even distances, the first and the last among them."""
    return rows[np.linspace(0, len(rows) - 1, min(n_wanted, len(rows))).round().astype(np.int64)]


def _arrange(
    pictures: Sequence[Float[np.ndarray, "K _ _ 3"]], lengths: Sequence[int]
) -> tuple[Float[np.ndarray, "A B 3"], list[float]]:
    """Lay out lines of groups, a group being one image of every view, and give the middle of every line."""
    times = -(-_LEAST_HEIGHT // max(images.shape[1] for images in pictures))
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


def _inches(sheet: Float[np.ndarray, "A B 3"], names: Sequence[str]) -> tuple[float, float]:
    """Give the size of the figure: lines of a readable height, unless that makes the sheet too wide."""
    height, width, _ = sheet.shape
    scale = min(_ROW_HEIGHT * len(names) / height, _WIDEST_SHEET / width)
    for_names = 0.8 + 0.1 * max(map(len, names))
    return max(width * scale, 3.0) + for_names, height * scale + 1.0
