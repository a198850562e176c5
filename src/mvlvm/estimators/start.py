"""Where the latents start, from what the user said about it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.models.starting import pca_start

# A start this many prior standard deviations away is a mistake of units.
_FARTHEST = 1e3


def starting_latents(init: Any, Ys: Sequence[Float[Tensor, "N _"]], n_components: int) -> Float[Tensor, "N D"]:
    """Give the latent means to start from.

    Args:
        init: "pca", or the means themselves as an (N, D) array.
        Ys: the scaled views.
        n_components: D.
    """
    if isinstance(init, str) and init == "pca":
        return pca_start(Ys, n_components)
    expected = (len(Ys[0]), n_components)
    if init is None or isinstance(init, str):
        raise ValueError(f"init must be 'pca' or an array of shape {expected}. Got {init!r}.")
    try:
        start = np.asarray(init)
        if start.dtype.kind not in "iuf":
            raise ValueError(f"its type is {start.dtype}")
        start = start.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"init must be 'pca' or an array of shape {expected}. Got something else: {error}.") from None
    if start.shape != expected:
        raise ValueError(f"init as an array must have shape {expected}, rows by n_components. Got {start.shape}.")
    if not (np.abs(start) <= _FARTHEST).all():
        raise ValueError(
            f"init as an array must be finite and within {_FARTHEST:g} of the origin, because the latents' prior has "
            f"mean 0 and variance 1. Got {(~(np.abs(start) <= _FARTHEST)).sum()} entries that are not."
        )
    return torch.as_tensor(start, device=Ys[0].device)
