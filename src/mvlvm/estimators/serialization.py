"""Conversion of fitted estimators to a JSON header and arrays, the contents of model files, and back."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from numbers import Real
from typing import Any, Literal, NotRequired, TypedDict, cast

import numpy as np
import pandas as pd
import torch

from mvlvm import defaults
from mvlvm.estimators.fitted import FitRecord, FittedModel, FittedView, VarianceShares, relevance_table
from mvlvm.estimators.saved_rows import (
    LayerHeader,
    check_shapes,
    pack_data,
    pack_layers,
    unpack_data,
    unpack_given,
    unpack_layers,
    unpack_prediction_rows,
)
from mvlvm.inference.held_out_latents import TrainingRows
from mvlvm.inference.predictor import Predictor
from mvlvm.inference.tempering import Tempering
from mvlvm.inference.view_function import ViewFunction
from mvlvm.init.initializations import CUSTOM, is_custom
from mvlvm.io.schema import check_type
from mvlvm.lazy import Lazy
from mvlvm.likelihoods import LIKELIHOODS
from mvlvm.linalg.cpu_arithmetic import TORCH
from mvlvm.models.multiview import Dimensions, MultiViewLVM, ViewPlan, build_model
from mvlvm.models.spectral_mixture import FeatureMap, kernel_name
from mvlvm.models.views import AbstractView
from mvlvm.models.weight_posterior import AbstractWeightPosterior, ColumnPosterior, WeightPosterior
from mvlvm.randomness import Stream, make_generator
from mvlvm.spectral.density import SpectralPoints
from mvlvm.views.encoding import LabelEncoding, encoding_from_dict, encoding_to_dict
from mvlvm.views.labels import json_label, json_labels, label_format_from_dict, label_format_to_dict
from mvlvm.views.layout import Container, Layout, Views
from mvlvm.views.scaling import Scaling

Arrays = Mapping[str, np.ndarray]

KIND = "estimator"
_SCALING_PARTS = ("mean", "factor", "kept", "seen")
_POSITIVE = ("factor", "alpha", "linear", "metric", "ranges")
_NON_NEGATIVE = ("inflation", "spread", "sample_weight", "amplitudes", "latent_variance", "indices")
# Seeds are non-negative and have at most 63 bits.
_N_SEEDS = 2**63
_INIT = "parameter.init"
_SAMPLE_WEIGHT = "sample_weight"
_EXPLAINED = "explained_variance_per_dimension"
# How each kind of weight posterior represents the covariances of the weights.
_COVARIANCE_PARTS: dict[type[AbstractWeightPosterior], tuple[str, str]] = {
    WeightPosterior: ("covariance", "inflation"),
    ColumnPosterior: ("basis", "spread"),
}


class TemperingHeader(TypedDict):
    """The entries of `Tempering`."""

    from_others: float
    from_itself: float


class ViewHeader(TypedDict):
    """A view of the model."""

    name: str
    kernel: str
    n_mixtures: int
    n_points: int
    likelihood: str
    encoding: dict[str, Any]
    scale: Literal["view", "column"] | None
    tempering: TemperingHeader
    n_draws: int


class LayoutHeader(TypedDict):
    """The form of the input."""

    container: str
    columns: dict[str, list[str | int | float]]
    index: list[str | int | float] | None
    index_name: str | int | float | None
    labels: dict[str, dict[str, Any]]


class EstimatorHeader(TypedDict):
    """A fitted estimator."""

    format: str
    format_version: int
    library_version: str
    kind: Literal["estimator"]
    estimator: str
    parameters: dict[str, Any]
    views: list[ViewHeader]
    layout: LayoutHeader
    seed: int
    n_private: dict[str, int]
    elbo: float
    stop_reason: str
    init: str
    explained_variance: dict[str, float]
    history: list[str]
    data: bool
    layers: NotRequired[list[LayerHeader]]
    matmul_backend: NotRequired[str]
    view_weights: NotRequired[dict[str, float]]


@dataclass(frozen=True)
class Saved:
    """The contents of a file.

    Attributes:
        estimator: class name of the estimator.
        parameters: its constructor parameters.
        fitted: the fitted model.
        record: the record of the fit.
        with_missing: the training views as given if they have missing entries, and if the file contains the data.
    """

    estimator: str
    parameters: Mapping[str, Any]
    fitted: FittedModel
    record: FitRecord
    with_missing: Views | None = None


def pack(saved: Saved, *, data: bool | Literal["predict"] = False) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Convert a fitted estimator to a header and arrays.

    Args:
        saved: the estimator.
        data: whether to include the training rows; "predict" for those that the conditional layers need.

    Raises:
        ValueError: a parameter cannot be saved, or the training rows are not available.
    """
    arrays = _pack_arrays(saved.fitted, saved.record)
    explained = saved.record.explained.value
    arrays[_EXPLAINED] = explained.per_dimension
    if saved.fitted.model.latent.sample_weight is not None:
        arrays[_SAMPLE_WEIGHT] = saved.fitted.model.latent.sample_weight.cpu().numpy()
    parameters = dict(saved.parameters)
    if is_custom(parameters["init"]):
        parameters["init"] = CUSTOM
    elif not isinstance(parameters["init"], str):
        arrays[_INIT] = np.asarray(parameters.pop("init"), dtype=np.float64)
    if data is True:
        arrays |= pack_data(saved.record, saved.with_missing)
    header = {
        "kind": KIND,
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
        "data": data is True,
        "matmul_backend": saved.record.matmul_backend,
        "view_weights": dict(saved.record.view_weights),
    }
    if data:
        layers, of_layers = pack_layers(saved.fitted.predictor, rows=data == "predict")
        header["layers"] = layers
        arrays |= of_layers
    return header, arrays


def unpack(header: Mapping[str, Any], arrays: Arrays) -> Saved:
    """Invert `pack`.

    Header and arrays may come from a damaged or malicious file: they are checked against each other before anything of
    a declared size is computed.

    Raises:
        Exception: they do not match.
    """
    check_type(header, EstimatorHeader, "header")
    return _unpack_checked(cast(EstimatorHeader, header), arrays)


def _unpack_checked(header: EstimatorHeader, arrays: Arrays) -> Saved:
    _check_arrays(header, arrays)
    parameters = dict(header["parameters"])
    if _INIT in arrays:
        parameters["init"] = arrays[_INIT]
    elif not isinstance(parameters["init"], str):
        raise TypeError("the initialisation must be a name or an array")
    model = _unpack_model(header, arrays)
    modules = model.modules_by_view
    pairs = [(view, modules[view["name"]]) for view in header["views"]]
    layout = unpack_layout(header["layout"])
    views = {view["name"]: _unpack_view(i, view, arrays, module) for i, (view, module) in enumerate(pairs)}
    _check_layout(layout, views, len(model.latent.mean))
    functions = {
        view["name"]: _unpack_function(i, view["n_draws"], arrays, module) for i, (view, module) in enumerate(pairs)
    }
    data = unpack_data(list(views), arrays) if header["data"] else None
    widths = {name: int(view.scaling.kept.sum()) for name, view in views.items()}
    rows = Lazy[TrainingRows | None].known(unpack_prediction_rows(len(model.latent.mean), arrays, widths))
    if data is not None:
        rows = Lazy[TrainingRows | None](partial(TrainingRows.select, data, model.latent, header["seed"]))
    predictor = Predictor(
        model, {name: view.scaling for name, view in views.items()}, header["seed"],
        functions=Lazy.known(functions),
        tempering=Lazy.known({view["name"]: Tempering(**view["tempering"]) for view in header["views"]}),
        rows=rows,
        saved_layers=unpack_layers(header.get("layers", []), widths, arrays),
    )  # fmt: skip
    fitted = FittedModel(model, views, layout, _unpack_dimensions(header, arrays), predictor)
    record = FitRecord(
        history={name: arrays[f"history.{name}"] for name in header["history"]},
        stop_reason=header["stop_reason"],
        init=header["init"],
        matmul_backend=header.get("matmul_backend", TORCH),
        view_weights=_unpack_view_weights(header),
        elbo=Lazy.known(float(header["elbo"])),
        explained=Lazy.known(VarianceShares(header["explained_variance"], arrays[_EXPLAINED])),
        relevance=Lazy(partial(relevance_table, model.latent), predictor.lazy_parts["weights"]),
        data=data,
    )
    return Saved(header["estimator"], parameters, fitted, record, unpack_given(fitted, arrays))


def _unpack_view_weights(header: EstimatorHeader) -> dict[str, float]:
    """Return the weights of the views; files of older versions hold them as a parameter only."""
    names = [view["name"] for view in header["views"]]
    given = header["parameters"].get("view_weights")
    weights = header.get("view_weights", dict.fromkeys(names, 1.0) | (given if isinstance(given, dict) else {}))
    if set(weights) != set(names) or not all(weight >= 0 for weight in weights.values()):
        raise ValueError("the weights of the views are invalid")
    return weights


def _check_arrays(header: EstimatorHeader, arrays: Arrays) -> None:
    """Check the types and signs of all arrays, and the shapes of those whose sizes are used before a model is built."""
    for name, array in arrays.items():
        part = name.rpartition(".")[2]
        expected = "b" if part in ("kept", "seen", "missing") else "i" if part in ("rows", "indices") else "f"
        if array.dtype.kind != expected:
            raise TypeError(f"{name} has the data type {array.dtype}")
        if not (np.isfinite(array).all() or name.startswith(("given.", "prediction_rows."))):
            raise ValueError(f"{name} holds values that are not finite")
        if (part in _POSITIVE and (array <= 0).any()) or (part in _NON_NEGATIVE and (array < 0).any()):
            raise ValueError(f"{name} holds values of the wrong sign")
        if part == "covariance" and (array.diagonal() <= 0).any():
            raise ValueError(f"{name} is no covariance")
    names = [view["name"] for view in header["views"]]
    if not names or len(set(names)) < len(names) or not 0 <= header["seed"] < _N_SEEDS:
        raise ValueError("the names of the views or the seed are invalid")
    N, D = arrays["model.latent.mean"].shape
    n_shared = D - sum(header["n_private"].values())
    if min(header["n_private"].values(), default=1) < 1 or n_shared < 0 or not set(header["n_private"]) <= set(names):
        raise ValueError("the numbers of private dimensions are invalid")
    shapes = {_EXPLAINED: (len(names), D)} | ({_SAMPLE_WEIGHT: (N,)} if _SAMPLE_WEIGHT in arrays else {})
    shapes |= {f"history.{column}": (len(arrays["history.objective"]),) for column in header["history"]}
    for i, view in enumerate(header["views"]):
        n_columns = len(arrays[f"view.{i}.mean"])
        shapes |= {f"view.{i}.{part}": (n_columns,) for part in _SCALING_PARTS}
        for k in range(view["n_draws"]):
            shapes |= {f"view.{i}.draw.{k}.{w}": (view["n_mixtures"], view["n_points"], D) for w in ("w1", "w2")}
            shapes |= {f"view.{i}.draw.{k}.alpha": (view["n_mixtures"],)}
            check_shapes(shapes, arrays)  # now, because the number of draws may be any
        levels = (view["tempering"]["from_others"], view["tempering"]["from_itself"])
        if view["n_draws"] < 1 or not all(0 <= level <= 1 for level in levels):
            raise ValueError(f"view '{view['name']}' has no weights, or its tempering is not between 0 and 1")
    check_shapes(shapes, arrays)


def _check_layout(layout: Layout, views: Mapping[str, FittedView], n_rows: int) -> None:
    """Check that the labels of rows, columns and classes belong to the views."""
    if layout.index is not None and len(layout.index) != n_rows:
        raise ValueError(f"there are {len(layout.index)} row names for {n_rows} rows")
    if layout.container.single and len(views) != 1:
        raise ValueError(f"the container '{layout.container}' holds one view, not {len(views)}")
    for name, labels in layout.columns.items():
        if len(labels) != views[name].n_columns:
            raise ValueError(f"view '{name}' has {views[name].n_columns} columns, and names for {len(labels)}")
    for name, label_format in layout.labels.items():
        if views[name].encoding != LabelEncoding(tuple(map(float, range(len(label_format.classes))))):
            raise ValueError(f"view '{name}' has labels, but is not encoded as such")
        label_format.labels(np.zeros((1, 1)))  # raises an exception if the data type is unknown
    for name, view in views.items():
        if isinstance(view.encoding, LabelEncoding):
            classes, n_classes = view.encoding.values, len(view.scaling.mean)
            if len(classes) != n_classes or sorted(set(classes)) != list(classes):
                raise ValueError(f"view '{name}' has {n_classes} classes, and other values for them")


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
        for module in fitted.model.modules_by_view.values()
    ]


def pack_layout(layout: Layout) -> dict[str, Any]:
    """Convert the layout of views to a dict for JSON."""
    labelled = layout.row_names is not None
    return {
        "container": layout.container,
        "columns": {name: json_labels(names) for name, names in layout.columns.items()},
        "index": json_labels(layout.index) if labelled else None,
        "index_name": json_label(layout.index.name) if labelled and layout.index.name is not None else None,
        "labels": {name: label_format_to_dict(form) for name, form in layout.labels.items()},
    }


def unpack_layout(layout: Mapping[str, Any]) -> Layout:
    """Undo `pack_layout`."""
    check_type(layout, LayoutHeader, "layout")
    index = None if layout["index"] is None else pd.Index(layout["index"], name=layout["index_name"])
    return Layout(
        Container(layout["container"]),
        layout["columns"],
        index,
        labels={name: label_format_from_dict(form) for name, form in layout["labels"].items()},
    )


def _pack_arrays(fitted: FittedModel, record: FitRecord) -> dict[str, np.ndarray]:
    tensors = {f"model.{name}": tensor for name, tensor in fitted.model.state_dict().items()}
    arrays: dict[str, np.ndarray] = {f"history.{name}": column for name, column in record.history.items()}
    for i, (name, view) in enumerate(fitted.views.items()):
        arrays |= {f"view.{i}.{part}": vars(view.scaling)[part] for part in _SCALING_PARTS}
        for k, posterior in enumerate(fitted.predictor.functions[name].posteriors):
            tensors[f"view.{i}.draw.{k}.w1"] = posterior.features.points.w1
            tensors[f"view.{i}.draw.{k}.w2"] = posterior.features.points.w2
            tensors[f"view.{i}.draw.{k}.alpha"] = posterior.features.alpha
            tensors[f"view.{i}.draw.{k}.mean"] = posterior.mean
            for part in _COVARIANCE_PARTS[type(posterior)]:
                tensors[f"view.{i}.draw.{k}.{part}"] = getattr(posterior, part)
    return arrays | {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


def _unpack_model(header: EstimatorHeader, arrays: Arrays) -> MultiViewLVM:
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


def _unpack_plan(i: int, view: ViewHeader, arrays: Arrays) -> ViewPlan:
    width = int(arrays[f"view.{i}.kept"].sum())
    # any parameters of the right shape, which the saved state replaces
    likelihood = LIKELIHOODS[view["likelihood"]].start(torch.zeros((1, width), dtype=torch.float64))
    return ViewPlan(view["kernel"], view["n_mixtures"], likelihood)


def _unpack_dimensions(header: EstimatorHeader, arrays: Arrays) -> Dimensions:
    private = header["n_private"]
    return Dimensions(arrays["model.latent.mean"].shape[1] - sum(private.values()), private)


def _unpack_view(i: int, view: ViewHeader, arrays: Arrays, module: AbstractView) -> FittedView:
    encoding = encoding_from_dict(view["encoding"])
    scaling = Scaling(**{part: arrays[f"view.{i}.{part}"] for part in _SCALING_PARTS}, scale=view["scale"])
    return FittedView(encoding, scaling, module.likelihood)


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
