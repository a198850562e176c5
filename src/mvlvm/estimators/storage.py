"""Saved models: one safetensors file, tensors beside a JSON header. Nothing in it is ever executed."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes
from torch import Tensor

from mvlvm import __version__
from mvlvm.errors import ModelFileError
from mvlvm.estimators.fitted import FitRecord, FittedModel, FittedView
from mvlvm.models.building import build_model
from mvlvm.models.feature_map import FeatureMap
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.models.prediction import WeightPosterior
from mvlvm.models.spectral_mixture import kernel_name
from mvlvm.randomness import make_generator
from mvlvm.spectral.sampling import SpectralPoints
from mvlvm.views.interop import Container, Layout
from mvlvm.views.scaling import Scaling

FORMAT = "mvlvm-model"
FORMAT_VERSION = 1
_FILE_IN_FOLDER = "model.safetensors"
_HEADER = "mvlvm"

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Saved:
    """All that a file holds.

    Attributes:
        estimator: the estimator's class name.
        parameters: its constructor parameters.
        fitted: the trained model.
        record: how the fit went.
    """

    estimator: str
    parameters: Mapping[str, Any]
    fitted: FittedModel
    record: FitRecord


def save(path: str | os.PathLike[str], saved: Saved) -> None:
    """Write a model. The file appears whole or not at all."""
    target = Path(path)
    if target.is_dir():
        target = target / _FILE_IN_FOLDER
    content = to_bytes(_arrays(saved), metadata={_HEADER: json.dumps(_header(saved))})
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def read(path: str | os.PathLike[str]) -> Saved:
    """Read a model back.

    Raises:
        FileNotFoundError: there is no such file.
        ModelFileError: it is not a saved model, or one of a newer format.
    """
    source = Path(path)
    if source.is_dir():
        source = source / _FILE_IN_FOLDER
    if not source.exists():
        raise FileNotFoundError(f"There is no saved model at {source}. Write one with estimator.save(path).")
    try:
        with safe_open(source, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError:
        raise ModelFileError(f"{source} is not a saved mvlvm model: it is no safetensors file. {_ADVICE}") from None
    header = _checked_header(source, metadata)
    return _restore(header, arrays)


_ADVICE = "Give the path that was passed to estimator.save."


def _checked_header(source: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    try:
        header = json.loads(metadata[_HEADER])
        version = int(header["format_version"])
    except (KeyError, ValueError, TypeError):
        raise ModelFileError(f"{source} is not a saved mvlvm model: it has no mvlvm header. {_ADVICE}") from None
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{source} was saved by mvlvm {header.get('library_version')} in format {version}; this version, "
            f"{__version__}, reads formats up to {FORMAT_VERSION}. Install a newer mvlvm to read it."
        )
    return header


def _header(saved: Saved) -> dict[str, Any]:
    fitted = saved.fitted
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        "estimator": saved.estimator,
        "parameters": {name: _plain(value) for name, value in saved.parameters.items()},
        "views": [
            {
                "name": module.name,
                "kernel": kernel_name(module.mixture),
                "n_mixtures": len(module.mixture.density().alpha),
                "n_points": module.n_points,
                "scale": fitted.views[module.name].scaling.scale,
                "n_draws": len(fitted.views[module.name].posteriors),
            }
            for module in fitted.model.feature_views
        ],
        "layout": {
            "container": fitted.layout.container,
            "columns": dict(fitted.layout.columns),
            "index": None if fitted.layout.index is None else [_plain_label(label) for label in fitted.layout.index],
        },
        "seed": fitted.seed,
        "elbo": saved.record.elbo,
        "stop_reason": saved.record.stop_reason,
        "explained_variance": dict(saved.record.explained_variance),
        "history": list(saved.record.history),
    }


def _plain(value: Any) -> Any:
    """Give a parameter as JSON can hold it; a generator, which has no plain form, becomes None."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value if isinstance(value, str | int | float | None) else None


def _plain_label(label: Any) -> int | str:
    return int(label) if isinstance(label, int | np.integer) else str(label)


def _arrays(saved: Saved) -> dict[str, np.ndarray]:
    model = saved.fitted.model
    arrays: dict[str, Any] = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for i, view in enumerate(saved.fitted.views.values()):
        arrays[f"view.{i}.noise_variance"] = view.noise_variance
        arrays[f"view.{i}.mean"] = view.scaling.mean
        arrays[f"view.{i}.factor"] = view.scaling.factor
        arrays[f"view.{i}.kept"] = view.scaling.kept
        for k, posterior in enumerate(view.posteriors):
            arrays[f"view.{i}.draw.{k}.w1"] = posterior.features.points.w1
            arrays[f"view.{i}.draw.{k}.w2"] = posterior.features.points.w2
            arrays[f"view.{i}.draw.{k}.alpha"] = posterior.features.alpha
            arrays[f"view.{i}.draw.{k}.mean"] = posterior.mean
            arrays[f"view.{i}.draw.{k}.covariance"] = posterior.covariance
    for name, column in saved.record.history.items():
        arrays[f"history.{name}"] = column
    # safetensors writes memory as it lies, so every array must be contiguous
    return {name: np.ascontiguousarray(_as_numpy(array)).reshape(array.shape) for name, array in arrays.items()}


def _as_numpy(array: Tensor | np.ndarray) -> np.ndarray:
    return array.detach().cpu().numpy() if isinstance(array, Tensor) else array


def _restore(header: Mapping[str, Any], arrays: Arrays) -> Saved:
    model = _restore_model(header, arrays)
    views = {view["name"]: _restore_view(i, view, arrays) for i, view in enumerate(header["views"])}
    layout = header["layout"]
    index = layout["index"]
    fitted = FittedModel(model, views, Layout(Container(layout["container"]), layout["columns"], index), header["seed"])
    record = FitRecord(
        history={name: arrays[f"history.{name}"] for name in header["history"]},
        stop_reason=header["stop_reason"],
        elbo=header["elbo"],
        explained_variance=header["explained_variance"],
    )
    return Saved(header["estimator"], header["parameters"], fitted, record)


def _restore_model(header: Mapping[str, Any], arrays: Arrays) -> MultiViewLVM:
    state = {
        name.removeprefix("model."): torch.from_numpy(array.copy())
        for name, array in arrays.items()
        if name.startswith("model.")
    }
    mixtures = {view["name"]: (view["kernel"], view["n_mixtures"]) for view in header["views"]}
    n_points = header["views"][0]["n_points"]
    model = build_model(state["latent.mean"], mixtures, n_points=n_points, generator=make_generator(0))
    model.load_state_dict(state)
    return model


def _restore_view(i: int, view: Mapping[str, Any], arrays: Arrays) -> FittedView:
    def tensor(name: str) -> Tensor:
        return torch.from_numpy(arrays[f"view.{i}.{name}"].copy())

    scaling = Scaling(
        arrays[f"view.{i}.mean"], arrays[f"view.{i}.factor"], arrays[f"view.{i}.kept"], view["scale"]
    )  # fmt: skip
    posteriors = tuple(
        WeightPosterior(
            FeatureMap(SpectralPoints(tensor(f"draw.{k}.w1"), tensor(f"draw.{k}.w2")), tensor(f"draw.{k}.alpha")),
            tensor(f"draw.{k}.mean"),
            tensor(f"draw.{k}.covariance"),
        )
        for k in range(view["n_draws"])
    )
    return FittedView(scaling, posteriors, tensor("noise_variance"))
