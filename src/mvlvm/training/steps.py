"""The state of a training run, and optimisation steps that are taken one at a time."""

import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.errors import NumericalError
from mvlvm.training.history import History


@runtime_checkable
class Bound(Protocol):
    """The objective: a scalar to maximise, with named parts for the history."""

    @property
    def value(self) -> Tensor:
        """The scalar to maximise."""
        ...

    def parts(self) -> dict[str, Tensor]:
        """Return the parts of the objective by name."""
        ...


# View name -> its state besides parameters; the loop passes them on without looking inside.
ViewStates = Mapping[str, Any]
# From the views' states and a source of draws to an estimate of the bound and the states after the step.
Objective = Callable[[ViewStates, torch.Generator], tuple[Bound, ViewStates]]


@dataclass
class Schedule:
    """The position of a run in its schedule.

    Attributes:
        decay_from: the first step of the learning-rate decay; None until the bound has converged.
        next_refresh: the number of steps after which the views' states are refreshed next.
    """

    decay_from: int | None = None
    next_refresh: int = 0


@dataclass
class TrainState:
    """Everything that changes during training. It is owned by the training loop, and updated in place.

    Attributes:
        parameters: the parameters to learn.
        optimizer: Adam, with its moments.
        generator: source of all draws, on the device of the parameters.
        view_states: the views' states that are not parameters.
        step: number of steps taken.
        seconds: time that these steps took.
        schedule: the position in the schedule.
        history: of the bound.
    """

    parameters: list[nn.Parameter]
    optimizer: torch.optim.Optimizer
    generator: torch.Generator
    view_states: ViewStates = field(default_factory=dict)
    step: int = 0
    seconds: float = 0.0
    schedule: Schedule = field(default_factory=Schedule)
    history: History = field(default_factory=History)


class StepRecord(NamedTuple):
    """One step: the bound before it, its parts, the time since the first step began, and the learning rate."""

    bound: float
    parts: dict[str, float]
    seconds: float
    learning_rate: float


def init_train_state(
    parameters: Iterable[nn.Parameter],
    generator: torch.Generator,
    view_states: ViewStates | None = None,
    *,
    betas: tuple[float, float] = defaults.ADAM_BETAS,
) -> TrainState:
    """Return the state before the first step, with a new optimiser.

    Args:
        parameters: the parameters to learn.
        generator: source of all draws.
        view_states: the views' initial states.
        betas: of Adam; its learning rate is set in every step.
    """
    learned = list(parameters)
    on_gpu = learned[0].is_cuda
    # a GPU reads the rate from its own memory, where a recorded step can change it
    rate = torch.tensor(0.0, device=learned[0].device) if on_gpu else 0.0
    optimizer = torch.optim.Adam(learned, lr=rate, betas=betas, fused=True, capturable=on_gpu)
    return TrainState(learned, optimizer, generator, view_states or {})


class EagerSteps:
    """Steps that are taken and checked one by one.

    Args:
        state: the training state, which every step updates.
        objective: the bound.
        learning_rates: of all steps; they may be changed later.
    """

    def __init__(self, state: TrainState, objective: Objective, learning_rates: Sequence[float]) -> None:
        self.state, self.objective, self.learning_rates = state, objective, learning_rates
        self._start = time.perf_counter() - state.seconds

    @property
    def seconds(self) -> float:
        """Time of the steps so far, with those of a run that this one continues."""
        return time.perf_counter() - self._start

    def set_learning_rates(self, learning_rates: Sequence[float]) -> None:
        """Change the learning rates of the steps to come; all steps are listed from the first."""
        self.learning_rates = learning_rates

    def take(self, n_steps: int, graph_key: Hashable | None = None) -> Sequence[StepRecord]:
        """Take one step, however many are requested, so that it can be shown and interrupted.

        Raises:
            NumericalError: the bound is not finite.
        """
        learning_rate = self.learning_rates[self.state.step]
        for group in self.state.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(learning_rate)
            else:
                group["lr"] = learning_rate
        bound = self.ascend(self.state.generator)
        value = _finite(bound.value.item(), self.state.step)
        self.state.step += 1
        parts = {name: part.item() for name, part in bound.parts().items()}
        return [StepRecord(value, parts, self.seconds, learning_rate)]

    def ascend(self, generator: torch.Generator) -> Bound:
        """Estimate the bound with draws of a generator, and update parameters and view states."""
        state = self.state
        state.optimizer.zero_grad(set_to_none=True)
        bound, state.view_states = self.objective(state.view_states, generator)
        (-bound.value).backward()
        state.optimizer.step()
        return bound


def _finite(bound: float, step: int) -> float:
    if not math.isfinite(bound):
        raise NumericalError(
            f"The bound is {bound} at step {step}; it must stay finite. "
            "Lower learning_rate, or fit with dtype='float64'."
        )
    return bound
