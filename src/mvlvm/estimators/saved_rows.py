"""Training rows in files of models, on request."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from mvlvm.estimators.fitted import FitRecord, FittedModel
from mvlvm.inference.held_out_latents import TrainingRows
from mvlvm.models.data import ViewData
from mvlvm.models.latent import GaussianLatent
from mvlvm.views.layout import Views

Arrays = Mapping[str, np.ndarray]

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


def training_rows(data: Mapping[str, ViewData] | None, latent: GaussianLatent, seed: int) -> TrainingRows | None:
    """Return the training rows for conditional layers, if the file contains them."""
    return None if data is None else TrainingRows.select(data, latent, seed)


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
