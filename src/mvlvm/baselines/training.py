"""Training of baselines that are PyTorch modules, with the training loop of the package, and array conversions."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from mvlvm.baselines.base import warn_not_converged
from mvlvm.randomness import Stream, make_generator
from mvlvm.shapes import Number, Scalar
from mvlvm.training.history import StopReason
from mvlvm.training.loop import TrainConfig, as_callbacks, train
from mvlvm.training.progress import progress_bar
from mvlvm.training.steps import by_autograd, init_train_state


class ScalarBound(NamedTuple):
    """An objective that is a single term."""

    value: Number

    def parts(self) -> dict[str, Number]:
        """Return an empty dict: the objective is not decomposed."""
        return {}


def maximize(
    module: nn.Module,
    objective: Callable[[torch.Generator], Scalar],
    *,
    max_iter: int,
    learning_rate: float,
    seed: int,
    verbose: int = 0,
) -> list[float]:
    """Maximise a stochastic objective with Adam.

    Args:
        module: module whose parameters are optimised.
        objective: estimates the objective; all random numbers (noise, minibatches) come from the generator.
        max_iter: number of steps.
        learning_rate: learning rate of Adam; it decays over the last fifth of the steps.
        seed: random seed.
        verbose: 1 shows a progress bar.

    Returns:
        The objective at every step.
    """
    config = TrainConfig(max_iter=max_iter, learning_rate=learning_rate, decay_steps=max_iter // 5)
    generator = make_generator(seed, Stream.TRAINING)
    state = init_train_state(module.parameters(), generator)
    with progress_bar(max_iter, "Training") if verbose else nullcontext() as show:
        bound = by_autograd(lambda states, draws: (ScalarBound(objective(draws)), states), module.parameters())
        train(state, bound, config, callbacks=as_callbacks(show))
    history = state.history
    if history.stop_reason is StopReason.INTERRUPTED:
        warn_not_converged(
            "Training",
            f"was interrupted after {len(history.bound)} of {max_iter} steps",
            "Call fit again to train to the end.",
        )
    return list(history.bound)


def draw_batch(n_rows: int, batch_size: int, generator: torch.Generator) -> Int[Tensor, " B"]:
    """Draw the row indices of a minibatch without replacement; all rows in order if they fit into one batch."""
    if n_rows <= batch_size:
        return torch.arange(n_rows)
    return torch.randperm(n_rows, generator=generator)[:batch_size]


def seeded_linear(n_in: int, n_out: int, generator: torch.Generator) -> nn.Linear:
    """Return a linear layer with PyTorch's default initialisation, drawn from the given generator."""
    # the default constructor would draw from the global generator
    layer = nn.Linear(n_in, n_out, device="meta").to_empty(device="cpu")
    with torch.no_grad():
        for values in (layer.weight, layer.bias):
            values.uniform_(-(n_in**-0.5), n_in**-0.5, generator=generator)
    return layer


def state_arrays(module: nn.Module) -> dict[str, np.ndarray]:
    """Return the parameters and buffers of a module as named arrays."""
    return {name: values.detach().cpu().numpy() for name, values in module.state_dict().items()}


def load_arrays(module: nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Load the parameters and buffers that `state_arrays` returned."""
    module.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in arrays.items()})


def as_float64_tensors(matrices: Iterable[Shaped[np.ndarray, "N _"]]) -> list[Float[Tensor, "N _"]]:
    """Copy matrices to float64 tensors."""
    return [torch.from_numpy(np.array(Y, dtype=np.float64)) for Y in matrices]
