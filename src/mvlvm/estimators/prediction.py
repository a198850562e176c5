"""Input validation of out-of-sample rows, and their form for inference."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from mvlvm.checks import listed
from mvlvm.errors import ConvergenceWarning, NumericalError, ViewError, ViewWarning, warn
from mvlvm.estimators.fitted import FittedModel
from mvlvm.inference.conditional_rows import Pair
from mvlvm.inference.new_rows import NewRows, Progress, infer_zero_weight_rows, no_progress
from mvlvm.inference.predictor import Predictor
from mvlvm.likelihoods import Support
from mvlvm.training.interrupts import Interrupts
from mvlvm.training.progress import row_bar
from mvlvm.views.encoding import check_known_classes
from mvlvm.views.layout import Views
from mvlvm.views.validation import as_new_views

Arrays = Mapping[str, Float[np.ndarray, "N _"]]


def fill_missing(views: Views, means: Arrays, stds: Arrays) -> tuple[Arrays, Arrays]:
    """Replace missing entries by predictions, and warn of columns that cannot be predicted.

    Args:
        views: views with missing entries.
        means: view name -> predicted entries.
        stds: view name -> their standard deviations.

    Returns:
        The imputed views, and the standard deviations of the imputed entries, zero elsewhere.
    """
    filled, uncertainty = {}, {}
    for name, Y in views.arrays.items():
        missing = np.isnan(Y)
        filled[name] = np.where(missing, means[name], Y)
        # a column of labels has a standard deviation for every class
        uncertainty[name] = np.where(missing, stds[name], 0.0)
        still_empty = np.flatnonzero(np.isnan(filled[name]).any(axis=0))
        if len(still_empty):
            labels = views.layout.columns.get(name)
            columns = still_empty.tolist() if labels is None else [labels[column] for column in still_empty]
            warn(
                f"View '{name}' keeps missing entries in {len(columns)} column(s) ({listed(columns)}), of which the "
                "training data had no entry. Drop these columns, or fit rows that have them.",
                ViewWarning,
            )
    return filled, uncertainty


def validate_new_views(fitted: FittedModel, views: Any) -> Views:
    """Validate views of new rows against those of training."""
    return as_new_views(views, fitted.layout, {name: view.n_columns for name, view in fitted.views.items()})


def encode_new_views(fitted: FittedModel, given: Views) -> dict[str, Float[np.ndarray, "N _"]]:
    """Return views of new rows as their likelihoods take them."""
    views, columns = fitted.views, fitted.layout.columns
    encoded = {name: views[name].encoding.encode(name, Y) for name, Y in given.arrays.items()}
    for name, Y in encoded.items():
        if views[name].likelihood.support is Support.ONE_HOT:
            check_known_classes(name, Y, views[name].scaling.kept, columns.get(name))
    return encoded


def check_target(fitted: FittedModel, target: str) -> None:
    """Check that a view to predict exists."""
    names = list(fitted.views)
    if target not in names:
        raise ValueError(f"target must be one of the model's views, {', '.join(map(repr, names))}. Got {target!r}.")


def check_target_is_missing(target: str, Y: Float[np.ndarray, "N M"]) -> None:
    """Check that a view which is both given and to be predicted has no entries."""
    if not np.isnan(Y).all():
        raise ViewError(
            f"View '{target}' is both given and to be predicted. "
            "Omit it from the views, or call impute to fill its missing entries."
        )


def sources_of(fitted: FittedModel, target: str, given: Sequence[str] | None) -> dict[str, float]:
    """Return the sources of the conditional layer of a target and the views that it is predicted from."""
    others = tuple(name for name in fitted.views if name != target)
    names = others if given is None else tuple(name for name in others if name in given)
    unknown = [name for name in given or () if name not in others]
    if unknown or not names:
        raise ViewError(
            f"given must name at least one view other than the target '{target}': {', '.join(map(repr, others))}. "
            f"Got {list(given or ())!r}."
        )
    if not fitted.views[target].likelihood.collapses:
        raise ViewError(f"View '{target}' is not Gaussian, so it is predicted by the latents alone.")
    layer, reason = fitted.predictor.layers.find(Pair(names, target))
    if layer is None:
        raise ViewError(f"View '{target}' is predicted by the latents alone: {reason}.")
    return {name: float(value) for name, value in layer.sources._asdict().items()}


def new_rows(
    fitted: FittedModel, arrays: dict[str, Float[np.ndarray, "N _"]], target: str | None, *, verbose: bool
) -> NewRows:
    """Return out-of-sample rows, and warn of rows without entries."""
    if not arrays:
        raise ViewError(f"Only the target '{target}' was given. Provide another view to predict it from.")
    rows = NewRows(fitted.predictor, arrays, row_progress(verbose=verbose))
    if rows.n_empty:
        warn(
            f"There are {rows.n_empty} row(s) without an entry in a column that the model uses. Their posterior is the "
            "prior, mean 0 and standard deviation 1. Drop them if they are not needed.",
            ViewWarning,
        )
    return rows


def row_progress(*, verbose: bool) -> Progress:
    """Return how the progress over rows is shown: as a bar, or not at all."""
    return partial(row_bar, title="Rows") if verbose else no_progress


def place_zero_weight_rows(
    predictor: Predictor,
    arrays: Mapping[str, Float[np.ndarray, "n _"]],
    sample_weight: Float[Tensor, " N"],
    interrupts: Interrupts,
) -> None:
    """Infer the latents of training rows of weight zero; if this is interrupted or fails, they stay at the prior.

    Args:
        predictor: the trained model; the latents of these rows are changed.
        arrays: view name -> these rows as its likelihood takes them.
        sample_weight: of all training rows.
        interrupts: an interrupt is checked for after every block of rows, unless the training was interrupted already.
    """
    check = (lambda n_done: None) if interrupts.requested else interrupts.raise_if_requested
    try:
        infer_zero_weight_rows(predictor, arrays, sample_weight, lambda n_rows: nullcontext(check))
    except (KeyboardInterrupt, NumericalError) as error:
        reason = str(error) or "there was an interrupt"
        warn(
            f"The latents of rows of weight zero were not inferred: {reason}. They stay at the prior, mean 0 and "
            "standard deviation 1; call transform for these rows.",
            ConvergenceWarning,
        )
