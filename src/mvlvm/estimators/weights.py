"""Weights of rows: what a user gave, and rows that do not count."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from mvlvm.estimators.fitted import FittedModel
from mvlvm.estimators.prediction import NewRows

Weight = Float[Tensor, " N"]
Arrays = Mapping[str, Float[np.ndarray, "N _"]]
_ADVICE = "Give a number of at least 0 for every row."


def check_sample_weight(sample_weight: Any, n_samples: int, device: torch.device) -> Weight | None:
    """Give the weights of rows as numbers; None if every row counts once.

    Args:
        sample_weight: None, or as many numbers as there are rows.
        n_samples: N.
        device: where to put them.

    Raises:
        ValueError: they cannot be weights.
    """
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must be numbers. Got {type(sample_weight).__name__}. {_ADVICE}") from None
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have one entry per row, the shape ({n_samples},). Got {weight.shape}. {_ADVICE}"
        )
    if not np.isfinite(weight).all():
        raise ValueError(
            f"sample_weight must be finite. Got {int((~np.isfinite(weight)).sum())} entries that are not. {_ADVICE}"
        )
    if (weight < 0).any():
        raise ValueError(f"sample_weight must not be negative. Got {weight.min():g}. {_ADVICE}")
    if not (weight > 0).any():
        raise ValueError(
            "sample_weight must be positive for some row. Got zeros alone. Leave it out to count all rows."
        )
    return None if (weight == 1).all() else torch.as_tensor(weight, device=device)


def rows_of_no_weight(weight: Weight | None) -> Int[np.ndarray, " n"]:
    """Give the rows that do not count."""
    return np.empty(0, dtype=np.int64) if weight is None else np.flatnonzero(weight.cpu().numpy() == 0)


def without_rows_of_no_weight(arrays: Arrays, weight: Weight | None) -> Arrays:
    """Give the views with nothing seen in rows that do not count."""
    if weight is None or not len(rows_of_no_weight(weight)):
        return arrays
    counts = (weight > 0).cpu().numpy()
    return {name: np.where(counts[:, None], Y, np.nan) for name, Y in arrays.items()}


@torch.no_grad()
def place_rows_of_no_weight(
    fitted: FittedModel, arrays: Mapping[str, Float[np.ndarray, "n _"]], weight: Weight | None
) -> None:
    """Place rows that did not count as new rows would be, once the model is trained.

    Args:
        fitted: the model; the latents of these rows are changed.
        arrays: view name -> these rows as its likelihood takes them.
        weight: of all rows.
    """
    rows = rows_of_no_weight(weight)
    if not len(rows):
        return
    mean, std = NewRows(fitted, arrays).latents()
    fitted.model.latent.put(torch.as_tensor(rows), torch.as_tensor(mean), torch.as_tensor(std))
