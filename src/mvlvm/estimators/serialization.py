"""The file format of fitted models: one safetensors file, arrays and a JSON header. Loading executes no code."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from mvlvm import __version__, defaults
from mvlvm.errors import ModelFileError
from mvlvm.estimators.fitted import FitRecord, FittedModel, FittedView, VarianceShares, relevance_table
from mvlvm.inference.predictor import Predictor
from mvlvm.inference.tempering import Tempering
from mvlvm.inference.view_function import ViewFunction
from mvlvm.lazy import Lazy
from mvlvm.likelihoods import LIKELIHOODS
from mvlvm.models.multiview import Dimensions, MultiViewLVM, ViewPlan, build_model
from mvlvm.models.spectral_mixture import FeatureMap, kernel_name
from mvlvm.models.views import AbstractView
from mvlvm.models.weight_posterior import AbstractWeightPosterior, ColumnPosterior, WeightPosterior
from mvlvm.randomness import Stream, make_generator
from mvlvm.spectral.density import SpectralPoints
from mvlvm.views.encoding import encoding_from_dict, encoding_to_dict
from mvlvm.views.labels import json_labels, label_format_from_dict, label_format_to_dict
from mvlvm.views.layout import Container, Layout
from mvlvm.views.scaling import Scaling

Header = Mapping[str, Any]
Arrays = Mapping[str, np.ndarray]

FORMAT = "mvlvm-model"
FORMAT_VERSION = 4
_FILE_NAME = "model.safetensors"
_HEADER = "mvlvm"
_ADVICE = "Use the path that was passed to estimator.save."
# Errors raised when the header and the arrays of a damaged file do not match.
DAMAGE = (AttributeError, KeyError, IndexError, TypeError, ValueError, OverflowError, RuntimeError)

_INIT = "parameter.init"
_SAMPLE_WEIGHT = "sample_weight"
_EXPLAINED = "explained_variance_per_dimension"
# How each kind of weight posterior represents the covariances of the weights.
_COVARIANCE_PARTS: dict[type[AbstractWeightPosterior], tuple[str, str]] = {
    WeightPosterior: ("covariance", "inflation"),
    ColumnPosterior: ("basis", "spread"),
}


@dataclass(frozen=True)
class Saved:
    """The contents of a file.

    Attributes:
        estimator: class name of the estimator.
        parameters: its constructor parameters.
        fitted: the fitted model.
        record: the record of the fit.
    """

    estimator: str
    parameters: Mapping[str, Any]
    fitted: FittedModel
    record: FitRecord


def pack(saved: Saved) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Convert a fitted estimator to a header and arrays."""
    arrays = _pack_arrays(saved.fitted, saved.record)
    explained = saved.record.explained.value
    arrays[_EXPLAINED] = explained.per_dimension
    if saved.fitted.model.latent.sample_weight is not None:
        arrays[_SAMPLE_WEIGHT] = saved.fitted.model.latent.sample_weight.cpu().numpy()
    parameters = dict(saved.parameters)
    if not isinstance(parameters["init"], str):
        arrays[_INIT] = np.asarray(parameters.pop("init"), dtype=np.float64)
    header = {
        "estimator": saved.estimator,
        "parameters": {name: plain(name, value) for name, value in parameters.items()},
        "views": _pack_views(saved.fitted),
        "layout": pack_layout(saved.fitted.layout),
        "seed": saved.fitted.seed,
        "n_private": dict(saved.fitted.dimensions.private),
        "elbo": saved.record.elbo.value,
        "stop_reason": saved.record.stop_reason,
        "init": saved.record.init,
        "explained_variance": dict(explained.total),
        "history": list(saved.record.history),
    }
    return header, arrays


def unpack(header: Header, arrays: Arrays) -> Saved:
    """Invert `pack`."""
    parameters = dict(header["parameters"])
    if _INIT in arrays:
        parameters["init"] = arrays[_INIT]
    model = _unpack_model(header, arrays)
    pairs = list(zip(header["views"], model.feature_views, strict=True))
    views = {view["name"]: _unpack_view(i, view, arrays, module) for i, (view, module) in enumerate(pairs)}
    functions = {
        view["name"]: _unpack_function(i, view["n_draws"], arrays, module) for i, (view, module) in enumerate(pairs)
    }
    predictor = Predictor(
        model, {name: view.scaling for name, view in views.items()}, header["seed"],
        functions=Lazy.known(functions),
        tempering=Lazy.known({view["name"]: Tempering(**view["tempering"]) for view in header["views"]}),
    )  # fmt: skip
    fitted = FittedModel(model, views, unpack_layout(header["layout"]), _unpack_dimensions(header, arrays), predictor)
    record = FitRecord(
        history={name: arrays[f"history.{name}"] for name in header["history"]},
        stop_reason=header["stop_reason"],
        init=header["init"],
        elbo=Lazy.known(header["elbo"]),
        explained=Lazy.known(VarianceShares(header["explained_variance"], arrays[_EXPLAINED])),
        relevance=Lazy(partial(relevance_table, model.latent), predictor.lazy_parts["weights"]),
    )
    return Saved(header["estimator"], parameters, fitted, record)


def _pack_views(fitted: FittedModel) -> list[dict[str, Any]]:
    return [
        {
            "name": module.name,
            "kernel": kernel_name(module.mixture),
            "n_mixtures": len(module.mixture.density().alpha),
            "n_points": module.n_points,
            "likelihood": module.likelihood.name,
            "encoding": encoding_to_dict(fitted.views[module.name].encoding),
            "scale": fitted.views[module.name].scaling.scale,
            "tempering": asdict(fitted.predictor.tempering[module.name]),
            "n_draws": len(fitted.predictor.functions[module.name].posteriors),
        }
        for module in fitted.model.feature_views
    ]


def pack_layout(layout: Layout) -> dict[str, Any]:
    """Convert the layout of views to a dict for JSON."""
    labelled = layout.row_names is not None
    return {
        "container": layout.container,
        "columns": {name: json_labels(names) for name, names in layout.columns.items()},
        "index": json_labels(layout.index) if labelled else None,
        "labels": {name: label_format_to_dict(form) for name, form in layout.labels.items()},
    }


def unpack_layout(layout: Header) -> Layout:
    """Undo `pack_layout`."""
    return Layout(
        Container(layout["container"]),
        layout["columns"],
        layout["index"],
        labels={name: label_format_from_dict(form) for name, form in layout["labels"].items()},
    )


def _pack_arrays(fitted: FittedModel, record: FitRecord) -> dict[str, np.ndarray]:
    tensors = {f"model.{name}": tensor for name, tensor in fitted.model.state_dict().items()}
    arrays: dict[str, np.ndarray] = {f"history.{name}": column for name, column in record.history.items()}
    for i, (name, view) in enumerate(fitted.views.items()):
        arrays[f"view.{i}.mean"] = view.scaling.mean
        arrays[f"view.{i}.factor"] = view.scaling.factor
        arrays[f"view.{i}.kept"] = view.scaling.kept
        arrays[f"view.{i}.seen"] = view.scaling.seen
        for k, posterior in enumerate(fitted.predictor.functions[name].posteriors):
            tensors[f"view.{i}.draw.{k}.w1"] = posterior.features.points.w1
            tensors[f"view.{i}.draw.{k}.w2"] = posterior.features.points.w2
            tensors[f"view.{i}.draw.{k}.alpha"] = posterior.features.alpha
            tensors[f"view.{i}.draw.{k}.mean"] = posterior.mean
            for part in _COVARIANCE_PARTS[type(posterior)]:
                tensors[f"view.{i}.draw.{k}.{part}"] = getattr(posterior, part)
    return arrays | {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


def _unpack_model(header: Header, arrays: Arrays) -> MultiViewLVM:
    state = {
        name.removeprefix("model."): torch.tensor(array) for name, array in arrays.items() if name.startswith("model.")
    }
    plans = {view["name"]: _unpack_plan(i, view, arrays) for i, view in enumerate(header["views"])}
    generator = make_generator(0, Stream.TRAINING)  # for initial parameters, which the saved state replaces
    model = build_model(
        state["latent.mean"], plans, n_points=header["views"][0]["n_points"], generator=generator,
        dimensions=_unpack_dimensions(header, arrays),
    )  # fmt: skip
    model.load_state_dict(state)
    model.latent.set_sample_weight(torch.tensor(arrays[_SAMPLE_WEIGHT]) if _SAMPLE_WEIGHT in arrays else None)
    return model


def _unpack_plan(i: int, view: Header, arrays: Arrays) -> ViewPlan:
    width = int(arrays[f"view.{i}.kept"].sum())
    likelihood = LIKELIHOODS[view["likelihood"]].start(torch.eye(max(2, width))[:, :width].double())
    return ViewPlan(view["kernel"], view["n_mixtures"], likelihood)


def _unpack_dimensions(header: Header, arrays: Arrays) -> Dimensions:
    private = header["n_private"]
    return Dimensions(arrays["model.latent.mean"].shape[1] - sum(private.values()), private)


def _unpack_view(i: int, view: Header, arrays: Arrays, module: AbstractView) -> FittedView:
    mean, factor, kept, seen = (arrays[f"view.{i}.{name}"] for name in ("mean", "factor", "kept", "seen"))
    scaling = Scaling(mean, factor, kept, seen, view["scale"])
    return FittedView(encoding_from_dict(view["encoding"]), scaling, module.likelihood)


def _unpack_function(i: int, n_draws: int, arrays: Arrays, module: AbstractView) -> ViewFunction:
    n_columns = int(arrays[f"view.{i}.kept"].sum())
    posteriors = tuple(_unpack_posterior(f"view.{i}.draw.{k}", n_columns, arrays, module) for k in range(n_draws))
    return ViewFunction(posteriors, module.likelihood)


def _unpack_posterior(prefix: str, n_columns: int, arrays: Arrays, module: AbstractView) -> AbstractWeightPosterior:
    w1, w2, alpha, mean = (torch.tensor(arrays[f"{prefix}.{part}"]) for part in ("w1", "w2", "alpha", "mean"))
    kind = WeightPosterior if f"{prefix}.covariance" in arrays else ColumnPosterior
    parts = {part: torch.tensor(arrays[f"{prefix}.{part}"]) for part in _COVARIANCE_PARTS[kind]}
    constant = 0.0 if module.redraws else defaults.CONSTANT_FEATURE
    features = FeatureMap(SpectralPoints(w1, w2), alpha, constant)
    F, M = features.n_features, n_columns
    shapes = {"mean": (F, M), "covariance": (F, F), "inflation": (M,), "basis": (F, F), "spread": (F, M)}
    for part, array in {"mean": mean, **parts}.items():
        if tuple(array.shape) != shapes[part]:
            raise ValueError(f"{prefix}.{part} must have shape {shapes[part]}. Got {tuple(array.shape)}.")
    return kind(features, mean, *parts.values())


def plain(parameter: str, value: Any) -> Any:
    """Convert a parameter for JSON. Random generators are not saved: their state has changed since the fit."""
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return None
    if isinstance(value, Mapping):
        return {name: plain(parameter, entry) for name, entry in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, Real):
        return float(value)
    raise ValueError(f"A model with {parameter}={value!r} cannot be saved. Use a number, a string or a dict of them.")


def save(path: str | os.PathLike[str], saved: Saved) -> None:
    """Write a model atomically.

    Args:
        path: a file, or a directory for `model.safetensors`; one that ends in a slash is created.
        saved: the model.
    """
    write_file(path, *pack(saved))


def read(path: str | os.PathLike[str]) -> Saved:
    """Read a model.

    Raises:
        FileNotFoundError: there is no such file.
        ModelFileError: it is not a saved model, is damaged, or has another format.
    """
    header, arrays = read_file(path)
    try:
        return unpack(header, arrays)
    except DAMAGE as error:
        raise damaged(_file_at(path), error) from error


def write_file(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a header and arrays atomically."""
    if not os.fspath(path):
        raise ValueError("The path to save to is empty. Provide a file name, for example 'model.safetensors'.")
    target = _file_at(path)
    if os.fspath(path).endswith(os.sep):
        target = Path(path) / _FILE_NAME
        target.parent.mkdir(exist_ok=True)
    target = target.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {target.parent} to save {target.name} into. Create it first.")
    marked = {**header, "format": FORMAT, "format_version": FORMAT_VERSION, "library_version": __version__}
    # files store raw memory, so every array must be contiguous
    whole = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    _write_whole(target, to_bytes(whole, metadata={_HEADER: json.dumps(marked)}))


def read_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a header and arrays, and check that they belong to a model.

    Raises:
        FileNotFoundError: there is no such file.
        ModelFileError: it is not a saved model, is damaged, or has another format.
    """
    source = _file_at(path)
    if not source.exists():
        raise FileNotFoundError(f"There is no saved model at {source}. Write one with estimator.save(path).")
    try:
        with safe_open(source, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except PermissionError:
        raise
    except (SafetensorError, OSError):
        raise ModelFileError(f"{source} is not a saved mvlvm model: it is not a safetensors file. {_ADVICE}") from None
    header = _checked_header(source, metadata)
    _check_finite(source, arrays)
    return header, arrays


def damaged(source: str | os.PathLike[str], cause: Exception) -> ModelFileError:
    """Return the error for a file whose parts do not match."""
    return ModelFileError(f"{source} is damaged: its parts do not match ({cause!r}). Save the model again.")


def _file_at(path: str | os.PathLike[str]) -> Path:
    return Path(path) / _FILE_NAME if Path(path).is_dir() else Path(path)


def _write_whole(target: Path, content: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _checked_header(source: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    try:
        header = json.loads(metadata[_HEADER])
        version = header["format_version"]
        if header["format"] != FORMAT or not isinstance(version, int) or version < 1:
            raise ValueError(header["format"])
    except (KeyError, ValueError, TypeError):
        raise ModelFileError(f"{source} is not a saved mvlvm model: it has no mvlvm header. {_ADVICE}") from None
    if version != FORMAT_VERSION:
        advice = "Install a newer mvlvm to read it." if version > FORMAT_VERSION else "Fit and save the model again."
        raise ModelFileError(
            f"{source} was saved by mvlvm {header.get('library_version')} in format {version}; this version, "
            f"{__version__}, reads format {FORMAT_VERSION}. {advice}"
        )
    return header


def _check_finite(source: Path, arrays: Arrays) -> None:
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ModelFileError(f"{source} is damaged: {name} holds values that are not finite. Save the model again.")
