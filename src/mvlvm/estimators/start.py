"""Where the latents start, from what the user said about it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.models.starting import pca_start


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
    start = np.asarray(init, dtype=np.float64)
    if start.shape != expected:
        raise ValueError(f"init as an array must have shape {expected}, rows by n_components. Got {start.shape}.")
    if not np.isfinite(start).all():
        raise ValueError(f"init as an array must be finite. Got {(~np.isfinite(start)).sum()} entries that are not.")
    return torch.as_tensor(start, device=Ys[0].device)
