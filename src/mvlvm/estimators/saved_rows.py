"""Training rows in files of models, on request."""

import math
from collections.abc import Mapping, Sequence
from typing import TypedDict

import numpy as np
import torch

from mvlvm.estimators.fitted import FitRecord, FittedModel
from mvlvm.inference.conditional import LayerChoice
from mvlvm.inference.conditional_rows import Pair, SavedLayer
from mvlvm.inference.held_out_latents import TrainingRows
from mvlvm.inference.kernel_regression import ViewKernel
from mvlvm.inference.predictor import Predictor
from mvlvm.models.data import ViewData
from mvlvm.views.layout import Views

Arrays = Mapping[str, np.ndarray]

_ROWS = "prediction_rows"
_KERNEL_PARTS = ("linear", "metric", "amplitudes", "ranges")
_LATENT_PARTS = ("latent", "latent_variance")
_DATA_PARTS = ("Y", "rows", "missing", "sample_weight")


def pack_data(record: FitRecord, with_missing: Views | None) -> dict[str, np.ndarray]:
    """Return the scaled training views, and the views as given if they have missing entries.

    Raises:
        ValueError: the training rows are not available.
    """
    if record.data is None:
        raise ValueError(
            "The training rows are not available: prepare() released them, or the model was copied or loaded from a "
            "file without them. Save with data=True after fit, before prepare()."
        )
    arrays = {}
    for i, data in enumerate(record.data.values()):
        parts = ((part, getattr(data, part)) for part in _DATA_PARTS)
        arrays |= {f"data.{i}.{part}": values.cpu().numpy() for part, values in parts if values is not None}
    if with_missing is not None:
        arrays |= {f"given.{i}": Y for i, Y in enumerate(with_missing.arrays.values())}
    return arrays


def unpack_data(names: Sequence[str], arrays: Arrays) -> dict[str, ViewData]:
    """Return view name -> scaled training view."""
    data = {}
    for i, name in enumerate(names):
        parts = {part: f"data.{i}.{part}" for part in _DATA_PARTS}
        data[name] = ViewData(**{part: torch.tensor(arrays[key]) for part, key in parts.items() if key in arrays})
    return data


class LayerHeader(TypedDict):
    """A conditional layer that was fitted."""

    given: list[str]
    target: str
    noise: float
    share: float


def pack_layers(predictor: Predictor, *, rows: bool) -> tuple[list[LayerHeader], dict[str, np.ndarray]]:
    """Return the conditional layers that were fitted so far, and the training rows that they need if requested.

    Raises:
        ValueError: these rows are not available.
    """
    kept, arrays, headers = predictor.layers.rows.value, {}, []
    if kept is None:
        raise ValueError(
            "The training rows that predictions need are not available: the model was loaded from a file without them. "
            "Save with data='predict' the model that was fitted."
        )
    if rows:
        arrays[f"{_ROWS}.indices"] = kept.indices.numpy()
        arrays |= {f"{_ROWS}.{i}": Y.numpy() for i, Y in enumerate(kept.entries.values())}
    for k, (pair, layer) in enumerate(predictor.layers.saved.items()):
        kernel, noise, share = layer.choice
        headers.append(LayerHeader(given=list(pair.given), target=pair.target, noise=noise, share=share))
        arrays |= {f"layer.{k}.{part}": getattr(kernel, part) for part in _KERNEL_PARTS}
        arrays |= {f"layer.{k}.{part}": getattr(layer, part).astype(np.float32) for part in _LATENT_PARTS}
    return headers, arrays


def unpack_layers(headers: Sequence[LayerHeader], widths: Mapping[str, int], arrays: Arrays) -> dict[Pair, SavedLayer]:
    """Return the conditional layers of a file.

    Args:
        headers: their names and numbers.
        widths: view name -> number of columns of the scaled view.
        arrays: the arrays of the file.

    Raises:
        ValueError: they do not belong to the views.
    """
    layers = {}
    for k, header in enumerate(headers):
        pair = Pair(tuple(header["given"]), header["target"])
        in_order = tuple(name for name in widths if name in pair.given)
        if in_order != pair.given or not in_order or pair.target not in widths or pair.target in pair.given:
            raise ValueError(f"the conditional layer {k} has other views than the model")
        if not (0 < header["noise"] < math.inf and 0 <= header["share"] <= 1):
            raise ValueError(f"the conditional layer {k} has an invalid noise variance or coefficient")
        parts = {part: arrays[f"layer.{k}.{part}"] for part in (*_KERNEL_PARTS, *_LATENT_PARTS)}
        V, shape = len(in_order), (len(parts["latent"]), widths[pair.target])
        sizes = {
            "linear": (V,),
            "metric": (V,),
            "amplitudes": (2,),
            "ranges": (2,),
            **dict.fromkeys(_LATENT_PARTS, shape),
        }
        check_shapes({f"layer.{k}.{part}": size for part, size in sizes.items()}, arrays)
        view_of = np.repeat(np.arange(V), [widths[name] for name in in_order])
        kernel = ViewKernel(view_of, *(parts[part].astype(np.float64) for part in _KERNEL_PARTS))
        latents = (parts[part].astype(np.float64) for part in _LATENT_PARTS)
        layers[pair] = SavedLayer(LayerChoice(kernel, header["noise"], header["share"]), *latents)
    return layers


def unpack_prediction_rows(n_rows: int, arrays: Arrays, widths: Mapping[str, int]) -> TrainingRows | None:
    """Return the training rows for conditional layers, if a file contains them on their own.

    Args:
        n_rows: number of all training rows.
        arrays: the arrays of the file.
        widths: view name -> number of columns of the scaled view.

    Raises:
        ValueError: they do not belong to the model.
    """
    if f"{_ROWS}.indices" not in arrays:
        return None
    shape = arrays[f"{_ROWS}.indices"].shape
    check_shapes({f"{_ROWS}.{i}": (*shape, width) for i, width in enumerate(widths.values())}, arrays)
    if (arrays[f"{_ROWS}.indices"] >= n_rows).any():
        raise ValueError("the training rows have indices beyond the number of rows")
    entries = {name: torch.tensor(arrays[f"{_ROWS}.{i}"]) for i, name in enumerate(widths)}
    return TrainingRows(torch.tensor(arrays[f"{_ROWS}.indices"]), entries)


def unpack_given(fitted: FittedModel, arrays: Arrays) -> Views | None:
    """Return the training views as given, if the file contains them and they have missing entries."""
    given = {name: arrays.get(f"given.{i}") for i, name in enumerate(fitted.views)}
    present = {name: Y for name, Y in given.items() if Y is not None}
    if not present:
        return None
    for name, view in fitted.views.items():
        check_shapes({name: (len(fitted.model.latent.mean), view.n_columns)}, present)
        view.encoding.encode(name, present[name])  # raises an exception if there are other values
    return Views(present, fitted.layout)


def check_shapes(shapes: Mapping[str, tuple[int, ...]], arrays: Arrays) -> None:
    """Check the shapes of arrays by name."""
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} must have shape {shape}. Got {arrays[name].shape}.")
