"""The state of a training run, and optimisation steps that are taken one at a time."""

import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.errors import NumericalError
from mvlvm.parameters import Gradients
from mvlvm.shapes import Number
from mvlvm.training.history import History

# Numbers at whose multiples the parts of a vector begin.
_ALIGNMENT = 16
# Added to the denominator of Adam.
_EPSILON = 1e-8


@runtime_checkable
class Bound(Protocol):
    """The objective: a scalar to maximise, with named parts for the history."""

    @property
    def value(self) -> Number:
        """The scalar to maximise."""
        ...

    def parts(self) -> dict[str, Number]:
        """Return the parts of the objective by name."""
        ...


# View name -> its state besides parameters; the loop passes them on without looking inside.
ViewStates = Mapping[str, Any]


class Evaluation(NamedTuple):
    """The objective at the current parameters, its gradients, and the views' states after the step."""

    bound: Bound
    gradients: Gradients
    view_states: ViewStates


# From the views' states and a source of draws to an estimate of the objective.
Objective = Callable[[ViewStates, torch.Generator], Evaluation]


def by_autograd(
    bound: Callable[[ViewStates, torch.Generator], tuple[Bound, ViewStates]], parameters: Iterable[nn.Parameter]
) -> Objective:
    """Return the objective whose gradients autograd computes.

    Args:
        bound: from the views' states and a source of draws to the bound and the states after the step.
        parameters: with respect to which it is differentiated.
    """
    learned = list(parameters)

    def evaluate(view_states: ViewStates, generator: torch.Generator) -> Evaluation:
        value, after = bound(view_states, generator)
        return Evaluation(value, gradients_by_autograd(torch.as_tensor(value.value), learned), after)

    return evaluate


def gradients_by_autograd(value: Tensor, parameters: Iterable[nn.Parameter]) -> Gradients:
    """Return the gradients of a scalar with respect to those of the parameters that influence it."""
    learned = list(parameters)
    gradients = torch.autograd.grad(value, learned, allow_unused=True)
    return {p: gradient for p, gradient in zip(learned, gradients, strict=True) if gradient is not None}


class ParameterVector:
    """Parameters as parts of one vector, which an optimiser updates as a whole.

    The parameters keep their values and shapes, but share the memory of the vector from now on. Every part begins at a
    multiple of 64 bytes, as tensors of their own do.

    Args:
        parameters: of one dtype, on one device.

    Attributes:
        vector: the vector.
        gradient: the gradient with respect to it.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self.parameters = list(parameters)
        sizes = [parameter.numel() for parameter in self.parameters]
        starts = [0, *accumulate(-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes)]
        self.vector = self.parameters[0].detach().new_zeros(starts[-1])
        self.gradient = torch.zeros_like(self.vector)
        self._gradients = []
        for parameter, first, size in zip(self.parameters, starts, sizes, strict=False):
            parameter.data = self.vector[first : first + size].view(parameter.shape).copy_(parameter.detach())
            self._gradients.append(self.gradient[first : first + size].view(parameter.shape))

    def set_gradients(self, gradients: Gradients) -> None:
        """Set the gradient of the vector; it is zero for parameters without influence."""
        for parameter, part in zip(self.parameters, self._gradients, strict=True):
            if parameter in gradients:
                part.copy_(gradients[parameter])
            else:
                part.zero_()


class StepSize(NamedTuple):
    """What a step of Adam depends on besides moments and gradient: the corrections for their start at zero.

    Attributes:
        rate: the learning rate, divided by the correction of the mean.
        root: the square root of the correction of the squares.
    """

    rate: Number
    root: Number


class Adam:
    """Adam for a vector of parameters.

    torch's implementation takes longer for a vector of a few thousand numbers than all the steps below, and a second to
    import.

    Args:
        vector: the parameters.
        betas: decay rates of the running means.

    Attributes:
        mean: running mean of the gradients.
        square: running mean of their squares.
    """

    def __init__(self, vector: Float[Tensor, " n"], betas: tuple[float, float]) -> None:
        self.betas = betas
        self.mean, self.square = torch.zeros_like(vector), torch.zeros_like(vector)
        self._scratch = torch.empty_like(vector)

    def step_size(self, step: int, learning_rate: float) -> StepSize:
        """Return the size of a step, counted from zero."""
        beta1, beta2 = (beta ** (step + 1) for beta in self.betas)
        return StepSize(learning_rate / (1 - beta1), (1 - beta2) ** 0.5)

    def ascend(self, parameters: ParameterVector, size: StepSize) -> None:
        """Take a step along the gradient."""
        (beta1, beta2), gradient = self.betas, parameters.gradient
        self.mean.lerp_(gradient, 1 - beta1)
        self.square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        deviation = torch.sqrt(self.square, out=self._scratch).div_(size.root).add_(_EPSILON)
        parameters.vector.add_(torch.div(self.mean, deviation, out=deviation).mul_(size.rate))


@dataclass
class Schedule:
    """The position of a run in its schedule.

    Attributes:
        decay_from: the first step of the learning-rate decay; None until the bound has converged.
        next_refresh: the number of steps after which the views' states are refreshed next.
        decays: whether the decay has begun.
    """

    decay_from: int | None = None
    next_refresh: int = 0
    decays: bool = False


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

    parameters: ParameterVector
    optimizer: Adam
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
    learned = ParameterVector(parameters)
    return TrainState(learned, Adam(learned.vector, betas), generator, view_states or {})


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
        bound = self.ascend(self.state.generator, self.state.optimizer.step_size(self.state.step, learning_rate))
        value = _finite(_number(bound.value), self.state.step)
        self.state.step += 1
        parts = {name: _number(part) for name, part in bound.parts().items()}
        return [StepRecord(value, parts, self.seconds, learning_rate)]

    def ascend(self, generator: torch.Generator, size: StepSize) -> Bound:
        """Estimate the bound with draws of a generator, and update parameters and view states."""
        state = self.state
        evaluation = self.objective(state.view_states, generator)
        state.view_states = evaluation.view_states
        state.parameters.set_gradients(evaluation.gradients)
        state.optimizer.ascend(state.parameters, size)
        return evaluation.bound


def _number(value: Number) -> float:
    return value.item() if isinstance(value, Tensor) else value


def _finite(bound: float, step: int) -> float:
    if not math.isfinite(bound):
        raise NumericalError(
            f"The bound is {bound} at step {step}; it must stay finite. "
            "Lower learning_rate, or fit with dtype='float64'."
        )
    return bound
