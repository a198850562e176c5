"""Training of baselines that are torch modules, by the same loop as everything else."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from mvlvm.baselines.base import warn_not_converged
from mvlvm.randomness import Stream, make_generator
from mvlvm.shapes import Scalar
from mvlvm.training.history import StopReason
from mvlvm.training.loop import train
from mvlvm.training.progress import progress_bar, silent
from mvlvm.training.schedule import TrainConfig
from mvlvm.training.steps import init_train_state


class ScalarBound(NamedTuple):
    """A bound that is looked at as a whole."""

    value: Scalar

    def parts(self) -> dict[str, Tensor]:
        """Give nothing."""
        return {}


def maximize(
    module: nn.Module,
    bound: Callable[[torch.Generator], Scalar],
    *,
    max_iter: int,
    learning_rate: float,
    seed: int,
    verbose: int = 0,
) -> list[float]:
    """Raise a stochastic bound by Adam; give its course.

    Args:
        module: what learns.
        bound: estimates the bound with draws of a generator: of noise, and of rows where it works on some at a time.
        max_iter: steps to take.
        learning_rate: of Adam, until the last fifth of the steps, in which it falls.
        seed: of the draws.
        verbose: 1 shows progress.
    """
    config = TrainConfig(max_iter=max_iter, learning_rate=learning_rate, cooling=max_iter // 5)
    generator = make_generator(seed, Stream.TRAINING)
    state = init_train_state(module.parameters(), config, generator)
    with progress_bar(max_iter, "Training") if verbose else nullcontext(silent) as callback:
        train(state, lambda states, draws: (ScalarBound(bound(draws)), states), config, callback=callback)
    history = state.history
    if history.stop_reason is StopReason.INTERRUPTED:
        warn_not_converged(
            "Training", f"was interrupted after {len(history.bound)} of {max_iter} steps", "Fit again for more."
        )
    return list(history.bound)


def draw_batch(n_rows: int, n_wanted: int, generator: torch.Generator) -> Int[Tensor, " B"]:
    """Draw rows for one step, without repeats; all of them, in order, where there are no more than wanted."""
    if n_rows <= n_wanted:
        return torch.arange(n_rows)
    return torch.randperm(n_rows, generator=generator)[:n_wanted]


def seeded_linear(n_in: int, n_out: int, generator: torch.Generator) -> nn.Linear:
    """Make a linear layer whose start depends on a generator, and on nothing global."""
    layer = nn.Linear(n_in, n_out, device="meta").to_empty(device="cpu")  # its own start would draw from a global one
    with torch.no_grad():
        for values in (layer.weight, layer.bias):
            values.uniform_(-(n_in**-0.5), n_in**-0.5, generator=generator)
    return layer


def state_arrays(module: nn.Module) -> dict[str, np.ndarray]:
    """Give everything a module has learned, by name."""
    return {name: values.detach().cpu().numpy() for name, values in module.state_dict().items()}


def load_arrays(module: nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Give a module what `state_arrays` gave."""
    module.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in arrays.items()})


def as_float64_tensors(matrices: Iterable[Shaped[np.ndarray, "N _"]]) -> list[Float[Tensor, "N _"]]:
    """Give matrices as tensors that can be solved with."""
    return [torch.from_numpy(np.array(Y, dtype=np.float64)) for Y in matrices]
