"""Taking steps of Adam, one at a time."""

import math
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from mvlvm.errors import NumericalError
from mvlvm.training.schedule import TrainConfig, learning_rates


@runtime_checkable
class Bound(Protocol):
    """What the loop raises: a scalar, with named parts for the history."""

    @property
    def value(self) -> Tensor:
        """The number to raise."""
        ...

    def parts(self) -> dict[str, Tensor]:
        """Give what the number is made of."""
        ...


# From a source of draws to an estimate of the bound.
Objective = Callable[[torch.Generator], Bound]


class Taken(NamedTuple):
    """A step that was taken: the bound before it, what it is made of, and seconds since the first step began."""

    bound: float
    parts: dict[str, float]
    seconds: float
    learning_rate: float


class EagerSteps:
    """Steps that are looked at one by one.

    Args:
        parameters: what is learned.
        objective: the bound.
        config: learning rate, and when and over how many steps it falls.
        generator: source of draws.

    Attributes:
        n_taken: steps taken so far.
        config: the same.
        learning_rates: of all steps, as far as is known.
    """

    def __init__(
        self, parameters: Iterable[nn.Parameter], objective: Objective, config: TrainConfig, generator: torch.Generator
    ) -> None:
        self.parameters, self.objective, self.generator = list(parameters), objective, generator
        self.config, self.learning_rates = config, learning_rates(config, config.most_held)
        on_gpu = self.parameters[0].is_cuda
        # a GPU reads the rate from its own memory, where a recorded step can change it
        self.rate = torch.tensor(config.learning_rate, device=self.parameters[0].device) if on_gpu else None
        self.optimiser = torch.optim.Adam(
            self.parameters, lr=config.learning_rate if self.rate is None else self.rate, betas=config.betas,
            fused=True, capturable=on_gpu,
        )  # fmt: skip
        self.n_taken, self._start = 0, time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time since the first step began."""
        return time.perf_counter() - self._start

    def cool(self) -> None:
        """Let the learning rate fall from now on."""
        self.learning_rates = learning_rates(self.config, self.n_taken)

    def take(self, n_steps: int, setting: Hashable | None = None) -> Sequence[Taken]:
        """Take one step, whatever was asked for, so that it can be shown and interrupted.

        Raises:
            NumericalError: the bound is no longer finite.
        """
        learning_rate = self.learning_rates[self.n_taken]
        if self.rate is not None:
            self.rate.fill_(learning_rate)
        for group in self.optimiser.param_groups if self.rate is None else []:
            group["lr"] = learning_rate
        bound = self.raise_bound(self.generator)
        value = _finite(bound.value.item(), self.n_taken)
        self.n_taken += 1
        parts = {name: part.item() for name, part in bound.parts().items()}
        return [Taken(value, parts, self.seconds, learning_rate)]

    def raise_bound(self, generator: torch.Generator) -> Bound:
        """Estimate the bound from draws of a generator, and move the parameters up its slope."""
        self.optimiser.zero_grad(set_to_none=True)
        bound = self.objective(generator)
        (-bound.value).backward()
        self.optimiser.step()
        return bound


def _finite(bound: float, step: int) -> float:
    if not math.isfinite(bound):
        raise NumericalError(
            f"The bound is {bound} at step {step}; it must stay finite. "
            "Lower learning_rate, or fit with dtype='float64'."
        )
    return bound
