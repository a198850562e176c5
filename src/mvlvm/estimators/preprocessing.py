"""The first two stages of a fit: input validation, and preprocessing of the views to scaled tensors."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from mvlvm.estimators.options import FitOptions, check_fit_options, with_view_options
from mvlvm.likelihoods import LIKELIHOODS, AbstractLikelihood, Support
from mvlvm.views.encoding import Encoding, check_known_classes, fit_encodings
from mvlvm.views.layout import Layout, Views, as_label_view
from mvlvm.views.likelihood_inference import InferredLikelihood, resolve_likelihoods
from mvlvm.views.scaling import Scaling, fit_scalings, has_missing, without_scaling
from mvlvm.views.validation import as_views

Arrays = Mapping[str, Float[np.ndarray, "N _"]]
SampleWeight = Float[Tensor, " N"]
_WEIGHT_ADVICE = "Provide a non-negative number for every row."


@dataclass(frozen=True)
class ValidatedViews:
    """Views that passed input validation.

    Attributes:
        data: the views as given; categorical columns are label views.
        inferred: view name -> likelihood, and why it was chosen.
        encodings: view name -> encoding of its values for the likelihood.
        sample_weight: weights of the rows; None stands for ones.
    """

    data: Views
    inferred: Mapping[str, InferredLikelihood]
    encodings: Mapping[str, Encoding]
    sample_weight: SampleWeight | None

    @property
    def likelihoods(self) -> dict[str, type[AbstractLikelihood]]:
        """View name -> class of its likelihood."""
        return {name: LIKELIHOODS[choice.likelihood] for name, choice in self.inferred.items()}

    def encoded(self, rows: slice | Int[np.ndarray, " n"] = slice(None)) -> dict[str, Float[np.ndarray, "n _"]]:
        """Return the views, or some rows of them, as their likelihoods take them."""
        return {name: self.encodings[name].encode(name, Y[rows]) for name, Y in self.data.arrays.items()}


@dataclass(frozen=True)
class RetainedViews:
    """What is needed of the input after training; everything else is released.

    Attributes:
        layout: the form in which the views were given.
        encodings: view name -> encoding of its values for the likelihood.
        with_missing: the views as given if they have missing entries, for `impute`.
        zero_weight_rows: view name -> rows of weight zero as the likelihood takes them.
    """

    layout: Layout
    encodings: Mapping[str, Encoding]
    with_missing: Views | None
    zero_weight_rows: Arrays


@dataclass(frozen=True)
class ScaledViews:
    """Views in the units of the model.

    Attributes:
        arrays: view name -> scaled view; NaN marks missing entries and rows of weight zero.
        scalings: view name -> scaling.
        likelihoods: view name -> likelihood with initial parameters.
        sample_weight: weights of the rows; None stands for ones.
    """

    arrays: Mapping[str, Float[Tensor, "N _"]]
    scalings: Mapping[str, Scaling]
    likelihoods: Mapping[str, AbstractLikelihood]
    sample_weight: SampleWeight | None

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))


def validate(parameters: Mapping[str, Any], views: Any, sample_weight: Any = None) -> tuple[FitOptions, ValidatedViews]:
    """Validate parameters and input, and choose the likelihood of every view.

    Args:
        parameters: the estimator's parameters; without `kernel`, the kernel is stationary.
        views: as passed to `fit`.
        sample_weight: as passed to `fit`.

    Raises:
        ValueError: a parameter or the sample weights are invalid.
        ViewError: the views are invalid.
    """
    options = check_fit_options(parameters)
    data = as_views(views)
    inferred = resolve_likelihoods(parameters["likelihood"], data)
    for name, choice in inferred.items():
        if LIKELIHOODS[choice.likelihood].support is Support.ONE_HOT and data.arrays[name].shape[1] == 1:
            data = as_label_view(data, name)
    encodings = fit_encodings(data, {name: choice.likelihood for name, choice in inferred.items()})
    options = with_view_options(options, parameters, data.names)
    weight = check_sample_weight(sample_weight, data.n_samples, options.device)
    return options, ValidatedViews(data, inferred, encodings, weight)


def check_sample_weight(sample_weight: Any, n_samples: int, device: torch.device) -> SampleWeight | None:
    """Return the sample weights as a tensor; None if all are one.

    Args:
        sample_weight: None, or one number per row.
        n_samples: N.
        device: of the tensor.

    Raises:
        ValueError: they are not valid weights.
    """
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"sample_weight must be numeric. Got {type(sample_weight).__name__}. {_WEIGHT_ADVICE}"
        ) from None
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have one entry per row, shape ({n_samples},). Got {weight.shape}. {_WEIGHT_ADVICE}"
        )
    if not np.isfinite(weight).all():
        n_bad = int((~np.isfinite(weight)).sum())
        raise ValueError(f"sample_weight must be finite. Got {n_bad} entries that are not. {_WEIGHT_ADVICE}")
    if (weight < 0).any():
        raise ValueError(f"sample_weight must not be negative. Got {weight.min():g}. {_WEIGHT_ADVICE}")
    if not (weight > 0).any():
        raise ValueError(
            "sample_weight must be positive for at least one row. Got only zeros. Omit it to weight all rows equally."
        )
    return None if (weight == 1).all() else torch.as_tensor(weight, device=device)


def zero_weight_rows(sample_weight: SampleWeight | None) -> Int[np.ndarray, " n"]:
    """Return the indices of rows of weight zero."""
    if sample_weight is None:
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(sample_weight.cpu().numpy() == 0)


def preprocess(validated: ValidatedViews, options: FitOptions) -> ScaledViews:
    """Encode, centre and scale views, and initialise the parameters of their likelihoods.

    Rows of weight zero do not contribute: their entries are treated as missing.

    Raises:
        ViewError: a view is constant, or a class occurs only in rows of weight zero.
    """
    encoded = validated.encoded()
    used = _mask_zero_weight_rows(encoded, validated.sample_weight)
    scalings = _fit_scalings(validated, {name: view.scale for name, view in options.views.items()}, encoded, used)
    likelihoods = validated.likelihoods
    Ys = {name: _as_tensor(scalings[name].apply(Y), likelihoods[name], options) for name, Y in used.items()}
    initial = {name: likelihoods[name].start(Y) for name, Y in Ys.items()}
    return ScaledViews(Ys, scalings, initial, validated.sample_weight)


def retain(validated: ValidatedViews) -> RetainedViews:
    """Keep what is needed of the input after training."""
    data, with_missing = validated.data, None
    if any(has_missing(Y) for Y in data.arrays.values()):
        # arrays that are not writeable belong to the user, who may change them before `impute` is called
        with_missing = replace(data, arrays={n: Y if Y.flags.writeable else Y.copy() for n, Y in data.arrays.items()})
    rows = validated.encoded(zero_weight_rows(validated.sample_weight))
    return RetainedViews(data.layout, validated.encodings, with_missing, rows)


def print_likelihoods(inferred: Mapping[str, InferredLikelihood]) -> None:
    """Print the likelihood of every view, and why it was chosen."""
    for name, choice in inferred.items():
        print(f"View '{name}': {choice.likelihood} ({choice.reason})")


def _mask_zero_weight_rows(arrays: Arrays, sample_weight: SampleWeight | None) -> Arrays:
    if sample_weight is None or not len(zero_weight_rows(sample_weight)):
        return arrays
    counts = (sample_weight > 0).cpu().numpy()
    return {name: np.where(counts[:, None], Y, np.nan) for name, Y in arrays.items()}


def _fit_scalings(
    validated: ValidatedViews, scales: Mapping[str, Any], encoded: Arrays, used: Arrays
) -> dict[str, Scaling]:
    """Fit centring and scaling of real-valued views; counts and classes are left as they are."""
    real = {name: kind.real_valued for name, kind in validated.likelihoods.items()}
    columns = {**validated.data.layout.columns, **validated.data.classes}
    scalings = fit_scalings(used, {name: scales[name] if real[name] else None for name in scales}, columns)
    for name, Y in encoded.items():
        if validated.likelihoods[name].support is Support.ONE_HOT:
            check_known_classes(name, Y, scalings[name].kept, columns.get(name))
    return {name: scaling if real[name] else without_scaling(scaling) for name, scaling in scalings.items()}


def _as_tensor(
    Y: Float[np.ndarray, "N M"], likelihood: type[AbstractLikelihood], options: FitOptions
) -> Float[Tensor, "N M"]:
    """Move a scaled view to the device; on a GPU, real values have the precision of the features to save memory."""
    as_features = options.device.type == "cuda" and likelihood.real_valued
    return torch.as_tensor(Y).to(options.dtype if as_features else torch.float64).to(options.device)
