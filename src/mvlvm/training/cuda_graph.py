"""CUDA graphs: optimisation steps that a GPU records once and then replays.

A step consists of several hundred small kernels, and launching them one by one takes longer than running them. A
recorded step is launched as a whole. Its draws differ at every replay, because the generator is registered with the
graph; its learning rate comes from a table in GPU memory, and its bound is written to another one, which is read after
every run of steps.

A recording depends on decisions made before it: the number of columns that a view was truncated to, and the precision
that its noise requires (`graph_key`). When these change, the step is recorded again. Steps that cannot be recorded, or
whose bound is not finite, are taken one at a time from the last good parameters.
"""

from collections.abc import Hashable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.errors import warn
from mvlvm.training.steps import EagerSteps, StepRecord, StepSize

# Steps that are taken one by one before a recording, during which libraries initialise themselves.
_WARM_UP = 3


class RecordedSteps:
    """Runs of steps that are replayed without the CPU.

    Args:
        eager: takes steps one by one, on a GPU.
    """

    def __init__(self, eager: EagerSteps) -> None:
        self.eager = eager
        self._can_record = True
        self._graph: torch.cuda.CUDAGraph | None = None
        self._recorded_key: Hashable | None = None
        self._names: list[str] = []
        self._sizes = self._step_sizes().to(eager.state.generator.device)
        self._step = torch.zeros(1, dtype=torch.int64, device=self._sizes.device)
        self._bounds = self._sizes.new_zeros(0)  # steps x (bound and its parts)

    def set_learning_rates(self, learning_rates: Sequence[float]) -> None:
        """Change the learning rates of the steps to come; a recording reads them from the same table."""
        self.eager.set_learning_rates(learning_rates)
        self._sizes.copy_(self._step_sizes())

    def take(self, n_steps: int, graph_key: Hashable | None) -> Sequence[StepRecord]:
        """Take at most `n_steps` steps; none if a replay had to be undone.

        Args:
            n_steps: maximum number of steps.
            graph_key: what a recorded step depends on; None if it cannot be recorded.

        Raises:
            NumericalError: the bound is not finite.
        """
        warm = self.eager.state.step >= _WARM_UP
        if graph_key is not None and self._can_record and warm and self._is_recorded(graph_key):
            return self._replay(n_steps)
        taken = self.eager.take(1, graph_key)
        self._names = list(taken[0].parts)
        return taken

    def _replay(self, n_steps: int) -> Sequence[StepRecord]:
        """Replay the recorded step; restore the state before if a bound is not finite."""
        assert self._graph is not None
        first, before = self.eager.state.step, self.eager.seconds
        good = [tensor.clone() for tensor in self._tensors()]
        self._step.fill_(first)
        for _ in range(n_steps):
            self._graph.replay()
        rows = self._bounds[first : first + n_steps].cpu()
        if not torch.isfinite(rows).all():
            for tensor, value in zip(self._tensors(), good, strict=True):
                tensor.copy_(value)
            self._can_record = False
            self.eager.state.generator = _copy(self.eager.state.generator)
            return []
        self.eager.state.step += n_steps
        each = (self.eager.seconds - before) / n_steps
        return [
            StepRecord(
                bound, dict(zip(self._names, parts, strict=True)), before + each * (k + 1),
                self.eager.learning_rates[first + k],
            )
            for k, (bound, *parts) in enumerate(rows.tolist())
        ]  # fmt: skip

    def _tensors(self) -> list[Tensor]:
        """Return all tensors that a step changes: parameters, and moments of the optimiser."""
        state = self.eager.state
        return [state.parameters.vector, state.optimizer.mean, state.optimizer.square]

    def _step_sizes(self) -> Float[Tensor, "T 2"]:
        """Return the sizes of all steps."""
        rates, optimizer = self.eager.learning_rates, self.eager.state.optimizer
        return torch.tensor([optimizer.step_size(step, rate) for step, rate in enumerate(rates)], dtype=torch.float64)

    def _is_recorded(self, graph_key: Hashable) -> bool:
        """Record the step if what it depends on has changed; return whether there is a recording."""
        if graph_key != self._recorded_key:
            try:
                self._graph, self._recorded_key = self._record(), graph_key
            except RuntimeError as reason:  # what torch raises for an operation that cannot be recorded
                self._graph, self._can_record = None, False
                warn(
                    f"Steps cannot be recorded on this GPU ({str(reason).splitlines()[0]}). They are taken one by one, "
                    "which gives the same results but takes longer.",
                    RuntimeWarning,
                )
        return self._can_record

    def _record(self) -> torch.cuda.CUDAGraph:
        # a generator that took part in a failed recording cannot be used again, so every recording gets a copy, which
        # then is the generator of the run
        generator = _copy(self.eager.state.generator)
        self._graph = None  # release its memory for the new one
        if not len(self._bounds):
            self._bounds = self._bounds.new_zeros((len(self._sizes), 1 + len(self._names)))
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(generator)
        with torch.cuda.graph(graph):
            size = StepSize(*self._sizes.index_select(0, self._step).squeeze(0).unbind())
            bound = self.eager.ascend(generator, size)
            numbers = [torch.as_tensor(value) for value in (bound.value, *bound.parts().values())]
            row = torch.stack(numbers).detach().double()
            self._bounds.index_copy_(0, self._step, row[None])
            self._step.add_(1)
        self.eager.state.generator = generator
        return graph


def _copy(generator: torch.Generator) -> torch.Generator:
    """Return a generator with the same draws to come."""
    return torch.Generator(generator.device).set_state(generator.get_state())
