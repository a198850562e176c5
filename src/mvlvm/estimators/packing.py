"""A fitted estimator as a JSON header beside arrays, and back."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np
import torch

from mvlvm import defaults
from mvlvm.estimators.fitted import FitRecord, FittedModel, FittedView
from mvlvm.estimators.start import GIVEN, PCA
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.likelihoods.known import LIKELIHOODS
from mvlvm.models.building import ViewPlan, build_model
from mvlvm.models.feature_map import FeatureMap
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.models.private import Dimensions
from mvlvm.models.spectral_mixture import kernel_name
from mvlvm.models.tempering import Tempering
from mvlvm.models.view import AbstractView
from mvlvm.models.view_function import ViewFunction
from mvlvm.models.weight_posterior import AbstractWeightPosterior, ColumnPosterior, WeightPosterior
from mvlvm.randomness import Stream, make_generator
from mvlvm.spectral.sampling import SpectralPoints
from mvlvm.views.classes import AsItIs, pack_encoding, unpack_encoding
from mvlvm.views.interop import Container, Layout
from mvlvm.views.label_forms import pack_label_form, unpack_label_form
from mvlvm.views.labels import plain_labels
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
            "encoding": pack_encoding(fitted.views[module.name].encoding),
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
        "columns": {name: plain_labels(names) for name, names in layout.columns.items()},
        "index": plain_labels(layout.index) if labelled else None,
        "labels": {name: pack_label_form(form) for name, form in layout.labels.items()},
    }


def unpack_layout(layout: Header) -> Layout:
    """Undo `pack_layout`."""
    return Layout(
        Container(layout["container"]),
        layout["columns"],
        layout["index"],
        labels={name: unpack_label_form(form) for name, form in layout.get("labels", {}).items()},
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
    encoding = unpack_encoding(view["encoding"]) if "encoding" in view else AsItIs()
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
