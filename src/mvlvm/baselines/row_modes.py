"""Where new rows go: up the log density of their place, from several starts."""

from collections.abc import Callable, Iterable

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from mvlvm.baselines.learning import raise_bound

# Starts are places of training rows; the nearest mode is a fraction of the latent's unit of length away.
_STEPS = 60
_LEARNING_RATE = 0.05


class _Places(nn.Module):
    def __init__(self, start: Float[Tensor, "R D"]) -> None:
        super().__init__()
        self.X = nn.Parameter(start.clone())


def highest_modes(
    starts: Float[Tensor, "S K D"], log_density: Callable[[Float[Tensor, "R D"]], Float[Tensor, " R"]]
) -> Float[Tensor, "K D"]:
    """Climb from every start, and give every row's best end.

    Args:
        starts: S places of every row.
        log_density: of all rows at all their places, R = S K, the rows in order for each start.
    """
    S, K, _ = starts.shape
    places = _Places(starts.flatten(0, 1))
    raise_bound(
        places, lambda _: log_density(places.X).sum(), max_iter=_STEPS, learning_rate=_LEARNING_RATE, seed=0
    )  # fmt: skip
    ends = places.X.detach()
    best = log_density(ends).reshape(S, K).argmax(dim=0)
    return ends.reshape(starts.shape)[best, torch.arange(K)]


def in_float64(matrices: Iterable[Shaped[np.ndarray, "N _"]]) -> list[Float[Tensor, "N _"]]:
    """Give matrices as tensors that can be solved with."""
    return [torch.from_numpy(np.array(Y, dtype=np.float64)) for Y in matrices]
