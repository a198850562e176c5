"""Where new rows go: up the log density of their place, from several starts."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from mvlvm.baselines.learning import raise_bound

# Starts are places of training rows; the nearest mode is a fraction of the latent's unit of length away.
_STEPS = 60
_LEARNING_RATE = 0.05


class _Places(nn.Module):
    def __init__(self, start: Float[Tensor, "K D"]) -> None:
        super().__init__()
        self.X = nn.Parameter(start.clone())


def highest_modes(
    starts: Sequence[Float[Tensor, "K D"]], log_density: Callable[[Float[Tensor, "K D"]], Float[Tensor, " K"]]
) -> Float[Tensor, "K D"]:
    """Climb from every start, and give every row's best end.

    Args:
        starts: places of all rows, once or more.
        log_density: of all rows at some places, each row's its own.
    """
    ends = [_climbed(start, log_density) for start in starts]
    with torch.no_grad():
        best = torch.stack([log_density(end) for end in ends]).argmax(dim=0)
    return torch.stack(ends)[best, torch.arange(len(best))]


def _climbed(start: Float[Tensor, "K D"], log_density: Callable[[Tensor], Tensor]) -> Float[Tensor, "K D"]:
    places = _Places(start)
    raise_bound(
        places, lambda _: log_density(places.X).sum(), max_iter=_STEPS, learning_rate=_LEARNING_RATE, seed=0
    )  # fmt: skip
    return places.X.detach()


def in_float64(matrices: Iterable[Shaped[np.ndarray, "N _"]]) -> list[Float[Tensor, "N _"]]:
    """Give matrices as tensors that can be solved with."""
    return [torch.from_numpy(np.array(Y, dtype=np.float64)) for Y in matrices]
