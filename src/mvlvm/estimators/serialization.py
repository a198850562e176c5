"""A fitted estimator as a JSON header beside arrays, and back.

Saved models: one safetensors file, arrays beside a JSON header. Nothing in it is ever executed.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from mvlvm import __version__, defaults
from mvlvm.errors import ModelFileError
from mvlvm.estimators.fitted import FitRecord, FittedModel, FittedView
from mvlvm.estimators.initialization import GIVEN, PCA
from mvlvm.inference.tempering import Tempering
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.likelihoods.registry import LIKELIHOODS
from mvlvm.models.multiview import Dimensions, MultiViewLVM, ViewPlan, build_model
from mvlvm.models.spectral_mixture import FeatureMap, kernel_name
from mvlvm.models.views import AbstractView
from mvlvm.models.weight_posterior import AbstractWeightPosterior, ColumnPosterior, ViewFunction, WeightPosterior
from mvlvm.randomness import Stream, make_generator
from mvlvm.spectral.sampling import SpectralPoints
from mvlvm.views.encoding import IdentityEncoding, encoding_from_dict, encoding_to_dict
from mvlvm.views.labels import json_labels, label_format_from_dict, label_format_to_dict
from mvlvm.views.layout import Container, Layout
from mvlvm.views.scaling import Scaling

Header = Mapping[str, Any]
Arrays = Mapping[str, np.ndarray]

_INIT = "parameter.init"
_WEIGHT = "sample_weight"
_EXPLAINED = "explained_variance_per_dimension"
# What each kind of weight posterior keeps of the weights' covariances.
_COVARIANCE_PARTS: dict[type[AbstractWeightPosterior], tuple[str, str]] = {
    WeightPosterior: ("covariance", "inflation"),
    ColumnPosterior: ("basis", "spread"),
}


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


def pack(saved: Saved) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Take a fitted estimator apart."""
    arrays = _pack_arrays(saved.fitted, saved.record)
    if np.isfinite(saved.record.explained_per_dimension).all():  # not known of models from formats 1 to 3
        arrays[_EXPLAINED] = saved.record.explained_per_dimension
    if saved.fitted.model.latent.weight is not None:
        arrays[_WEIGHT] = saved.fitted.model.latent.weight.cpu().numpy()
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
        "elbo": saved.record.elbo,
        "stop_reason": saved.record.stop_reason,
        "init": saved.record.init,
        "explained_variance": dict(saved.record.explained_variance),
        "history": list(saved.record.history),
    }
    return header, arrays


def unpack(header: Header, arrays: Arrays) -> Saved:
    """Put a fitted estimator together again."""
    parameters = dict(header["parameters"])
    if _INIT in arrays:
        parameters["init"] = arrays[_INIT]
    model = _unpack_model(header, arrays)
    views = {
        view["name"]: _unpack_view(i, view, arrays, module)
        for i, (view, module) in enumerate(zip(header["views"], model.feature_views, strict=True))
    }
    fitted = FittedModel(
        model, views, unpack_layout(header["layout"]), header["seed"], _unpack_dimensions(header, arrays)
    )
    record = FitRecord(
        history={name: arrays[f"history.{name}"] for name in header["history"]},
        stop_reason=header["stop_reason"],
        elbo=header["elbo"],
        explained_variance=header["explained_variance"],
        explained_per_dimension=arrays.get(_EXPLAINED, np.full(_table_shape(header, arrays), np.nan)),
        # models that were saved before there was a choice started at an array, or the principal components
        init=header.get("init", GIVEN if _INIT in arrays else PCA),
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
            "tempering": asdict(fitted.views[module.name].tempering),
            "n_draws": len(fitted.views[module.name].function.posteriors),
        }
        for module in fitted.model.feature_views
    ]


def pack_layout(layout: Layout) -> dict[str, Any]:
    """Give the outer form of views as JSON can hold it."""
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
        labels={name: label_format_from_dict(form) for name, form in layout.get("labels", {}).items()},
    )


def _pack_arrays(fitted: FittedModel, record: FitRecord) -> dict[str, np.ndarray]:
    tensors = {f"model.{name}": tensor for name, tensor in fitted.model.state_dict().items()}
    arrays: dict[str, np.ndarray] = {f"history.{name}": column for name, column in record.history.items()}
    for i, view in enumerate(fitted.views.values()):
        arrays[f"view.{i}.mean"] = view.scaling.mean
        arrays[f"view.{i}.factor"] = view.scaling.factor
        arrays[f"view.{i}.kept"] = view.scaling.kept
        arrays[f"view.{i}.seen"] = view.scaling.seen
        for k, posterior in enumerate(view.function.posteriors):
            tensors[f"view.{i}.draw.{k}.w1"] = posterior.features.points.w1
            tensors[f"view.{i}.draw.{k}.w2"] = posterior.features.points.w2
            tensors[f"view.{i}.draw.{k}.alpha"] = posterior.features.alpha
            tensors[f"view.{i}.draw.{k}.mean"] = posterior.mean
            for part in _COVARIANCE_PARTS[type(posterior)]:
                tensors[f"view.{i}.draw.{k}.{part}"] = getattr(posterior, part)
    return arrays | {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


def _unpack_model(header: Header, arrays: Arrays) -> MultiViewLVM:
    state = {
        # formats 1 to 3 knew Gaussian views only, whose noise was their own
        re.sub(r"(views\.\d+\.)(raw_noise)", r"\1likelihood.\2", name).removeprefix("model."): torch.tensor(array)
        for name, array in arrays.items()
        if name.startswith("model.")
    }
    plans = {view["name"]: _unpack_plan(i, view, arrays) for i, view in enumerate(header["views"])}
    generator = make_generator(0, Stream.TRAINING)  # draws a start that the saved state replaces
    model = build_model(
        state["latent.mean"], plans, n_points=header["views"][0]["n_points"], generator=generator,
        dimensions=_unpack_dimensions(header, arrays),
    )  # fmt: skip
    model.load_state_dict(state)
    model.latent.weigh_rows(torch.tensor(arrays[_WEIGHT]) if _WEIGHT in arrays else None)
    return model


def _unpack_plan(i: int, view: Header, arrays: Arrays) -> ViewPlan:
    width = int(arrays[f"view.{i}.kept"].sum())
    likelihood = LIKELIHOODS[view.get("likelihood", Gaussian.name)].start(torch.eye(max(2, width))[:, :width].double())
    return ViewPlan(view["kernel"], view["n_mixtures"], likelihood)


def _unpack_dimensions(header: Header, arrays: Arrays) -> Dimensions:
    private = header.get("n_private", {})  # formats 1 to 3 knew none
    return Dimensions(arrays["model.latent.mean"].shape[1] - sum(private.values()), private)


def _table_shape(header: Header, arrays: Arrays) -> tuple[int, int]:
    """Give the shape of a table of views and dimensions; formats 1 to 3 held none."""
    return len(header["views"]), arrays["model.latent.mean"].shape[1]


def _unpack_view(i: int, view: Header, arrays: Arrays, module: AbstractView) -> FittedView:
    mean, factor, kept = (arrays[f"view.{i}.{name}"] for name in ("mean", "factor", "kept"))
    # format 1 knew complete views only, and kept neither this nor the inflation
    seen = arrays.get(f"view.{i}.seen", np.ones_like(kept))
    posteriors = tuple(_unpack_posterior(f"view.{i}.draw.{k}", arrays, module) for k in range(view["n_draws"]))
    scaling = Scaling(mean, factor, kept, seen, view["scale"])
    # formats 1 and 2 knew of no tempering
    tempering = Tempering(**view.get("tempering", {}))
    # formats 1 to 3 knew measurements only
    encoding = encoding_from_dict(view["encoding"]) if "encoding" in view else IdentityEncoding()
    return FittedView(encoding, scaling, ViewFunction(posteriors, module.likelihood), tempering)


def _unpack_posterior(prefix: str, arrays: Arrays, module: AbstractView) -> AbstractWeightPosterior:
    w1, w2, alpha, mean = (torch.tensor(arrays[f"{prefix}.{part}"]) for part in ("w1", "w2", "alpha", "mean"))
    kind = WeightPosterior if f"{prefix}.covariance" in arrays else ColumnPosterior
    first, second = _COVARIANCE_PARTS[kind]
    covariance = torch.tensor(arrays[f"{prefix}.{first}"])
    complete = np.ones(mean.shape[1])
    constant = 0.0 if module.redraws else defaults.CONSTANT_FEATURE
    features = FeatureMap(SpectralPoints(w1, w2), alpha, constant)
    return kind(features, mean, covariance, torch.tensor(arrays.get(f"{prefix}.{second}", complete)))


def plain(parameter: str, value: Any) -> Any:
    """Give a parameter as JSON can hold it. A random generator has moved on since the fit and is not kept."""
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
    raise ValueError(f"A model with {parameter}={value!r} cannot be saved. Give a number, a string or a dict of them.")


FORMAT = "mvlvm-model"
FORMAT_VERSION = 4
_FILE_IN_FOLDER = "model.safetensors"
_HEADER = "mvlvm"
_ADVICE = "Give the path that was passed to estimator.save."
# What taking a file apart can run into when its header and its arrays do not belong together.
DAMAGE = (AttributeError, KeyError, IndexError, TypeError, ValueError, OverflowError, RuntimeError)


def save(path: str | os.PathLike[str], saved: Saved) -> None:
    """Write a model. The file appears whole or not at all.

    Args:
        path: a file, or a folder to put `model.safetensors` into; one that ends in a slash is made.
        saved: the model.
    """
    write_file(path, *pack(saved))


def read(path: str | os.PathLike[str]) -> Saved:
    """Read a model back.

    Raises:
        FileNotFoundError: there is no such file.
        ModelFileError: it is not a saved model, is damaged, or has a newer format.
    """
    header, arrays = read_file(path)
    try:
        return unpack(header, arrays)
    except DAMAGE as error:
        raise damaged(_file_at(path), error) from error


def write_file(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a header and arrays, whole or not at all."""
    if not os.fspath(path):
        raise ValueError("The path to save to is empty. Give a file name, for example 'model.safetensors'.")
    target = _file_at(path)
    if os.fspath(path).endswith(os.sep):
        target = Path(path) / _FILE_IN_FOLDER
        target.parent.mkdir(exist_ok=True)
    target = target.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to save {target.name} into. Make it first.")
    marked = {**header, "format": FORMAT, "format_version": FORMAT_VERSION, "library_version": __version__}
    # files hold memory as it lies, so every array must be contiguous
    whole = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    _write_whole(target, to_bytes(whole, metadata={_HEADER: json.dumps(marked)}))


def read_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read header and arrays back, and check that they are those of a model.

    Raises:
        FileNotFoundError: there is no such file.
        ModelFileError: it is not a saved model, is damaged, or has a newer format.
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
        raise ModelFileError(f"{source} is not a saved mvlvm model: it is no safetensors file. {_ADVICE}") from None
    header = _checked_header(source, metadata)
    _check_finite(source, arrays)
    return header, arrays


def damaged(source: str | os.PathLike[str], cause: Exception) -> ModelFileError:
    """Make the error for a file whose parts do not fit together."""
    return ModelFileError(f"{source} is damaged: its parts do not fit together ({cause!r}). Save the model again.")


def _file_at(path: str | os.PathLike[str]) -> Path:
    return Path(path) / _FILE_IN_FOLDER if Path(path).is_dir() else Path(path)


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
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{source} was saved by mvlvm {header.get('library_version')} in format {version}; this version, "
            f"{__version__}, reads formats up to {FORMAT_VERSION}. Install a newer mvlvm to read it."
        )
    return header


def _check_finite(source: Path, arrays: Arrays) -> None:
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ModelFileError(f"{source} is damaged: {name} holds values that are not finite. Save the model again.")
