"""Where the latents start, from what the user said about it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.models.private import Dimensions
from mvlvm.models.private_start import private_start
from mvlvm.models.starting import turned_start

# A start this many prior standard deviations away is a mistake of units.
_FARTHEST = 1e3


def starting_latents(init: Any, Ys: Mapping[str, Float[Tensor, "N _"]], dimensions: Dimensions) -> Float[Tensor, "N D"]:
    """Give the latent means to start from.

    Args:
        init: "pca", or the means themselves as an array: of the shared dimensions, or of all.
        Ys: view name -> scaled view.
        dimensions: which view sees which.
    """
    names, matrices = list(Ys), list(Ys.values())
    if isinstance(init, str) and init == "pca":
        if dimensions.private:
            return private_start(matrices, names, dimensions)
        return turned_start(matrices, dimensions.n_shared)
    start = torch.as_tensor(_checked_array(init, len(matrices[0]), dimensions), device=matrices[0].device)
    if start.shape[1] < dimensions.total:
        return private_start(matrices, names, dimensions, shared=start)
    return start


def _checked_array(init: Any, n_samples: int, dimensions: Dimensions) -> Float[np.ndarray, "N _"]:
    """Give the user's start as numbers, or say why it cannot be used."""
    expected = (n_samples, dimensions.n_shared)
    if init is None or isinstance(init, str):
        raise ValueError(f"init must be 'pca' or an array of shape {expected}. Got {init!r}.")
    try:
        start = np.asarray(init)
        if start.dtype.kind not in "iuf":
            raise ValueError(f"its type is {start.dtype}")
        start = start.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"init must be 'pca' or an array of shape {expected}. Got something else: {error}.") from None
    if start.shape not in (expected, (n_samples, dimensions.total)):
        or_all = f", or {dimensions.total} columns with the private ones" if dimensions.private else ""
        raise ValueError(
            f"init as an array must have shape {expected}, rows by n_components{or_all}. Got {start.shape}."
        )
    if not (np.abs(start) <= _FARTHEST).all():
        raise ValueError(
            f"init as an array must be finite and within {_FARTHEST:g} of the origin, because the latents' prior has "
            f"mean 0 and variance 1. Got {(~(np.abs(start) <= _FARTHEST)).sum()} entries that are not."
        )
    return start
