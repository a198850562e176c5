"""Steps that a GPU records once and then repeats by itself (CUDA graphs).

A step is some hundred small kernels, and starting them one by one takes longer than running them. A recorded step
starts as one. Its draws differ at every repetition, because the generator is registered with the graph; its learning
rate comes from a table in the GPU's memory, and its bound goes to another one, which is read after every run of steps.

A recording takes for granted what was decided when it was made: how many columns a view was cut to, and whether its
noise is small. When that changes, the step is recorded anew. What cannot be recorded, or fails while nobody looks, is
done one step at a time, from the last parameters that were good.
"""

import warnings
from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from mvlvm.training.steps import EagerSteps, Taken

# Steps that are taken one by one before a recording, in which libraries set themselves up.
_WARM_UP = 3


class RecordedSteps:
    """Runs of steps without the processor.

    Args:
        eager: takes steps one by one, on a GPU.
    """

    def __init__(self, eager: EagerSteps) -> None:
        self.eager = eager
        self._can_record = True
        self._graph: torch.cuda.CUDAGraph | None = None
        self._recorded_setting: Hashable | None = None
        self._names: list[str] = []
        # a generator that took part in a recording which failed is of no use any more, so it has one of its own
        self._generator = torch.Generator(eager.generator.device)
        self._rates = torch.tensor(eager.learning_rates, device=eager.generator.device)
        self._step = torch.zeros(1, dtype=torch.int64, device=self._rates.device)
        self._bounds = self._rates.new_zeros(0, dtype=torch.float64)  # steps by numbers: the bound, and its parts

    def cool(self) -> None:
        """Let the learning rate fall from now on; a recording reads it from the same table."""
        self.eager.cool()
        self._rates.copy_(torch.tensor(self.eager.learning_rates))

    def take(self, n_steps: int, setting: Hashable | None) -> Sequence[Taken]:
        """Take some steps, at most so many; none if a recording had to be given up.

        Args:
            n_steps: the most to take.
            setting: all that a recorded step takes for granted; None if it cannot be recorded.

        Raises:
            NumericalError: the bound is no longer finite.
        """
        if setting is not None and self._can_record and self.eager.n_taken >= _WARM_UP and self._is_recorded(setting):
            return self._repeat(n_steps)
        taken = self.eager.take(1, setting)
        self._names = list(taken[0].parts)
        return taken

    def _repeat(self, n_steps: int) -> Sequence[Taken]:
        """Repeat the recorded step, and go back to where it was if a bound is not finite."""
        assert self._graph is not None
        first, before = self.eager.n_taken, self.eager.seconds
        good = [tensor.clone() for tensor in self._state()]
        self._step.fill_(first)
        for _ in range(n_steps):
            self._graph.replay()
        rows = self._bounds[first : first + n_steps].cpu()
        if not torch.isfinite(rows).all():
            for tensor, value in zip(self._state(), good, strict=True):
                tensor.copy_(value)
            self._can_record = False
            return []
        self.eager.n_taken += n_steps
        each = (self.eager.seconds - before) / n_steps
        return [
            Taken(
                bound, dict(zip(self._names, parts, strict=True)), before + each * (k + 1),
                self.eager.learning_rates[first + k],
            )
            for k, (bound, *parts) in enumerate(rows.tolist())
        ]  # fmt: skip

    def _state(self) -> list[Tensor]:
        """Give everything that a step changes."""
        of_optimiser = [value for state in self.eager.optimiser.state.values() for value in state.values()]
        return [parameter.detach() for parameter in self.eager.parameters] + of_optimiser

    def _is_recorded(self, setting: Hashable) -> bool:
        """Record the step if what it takes for granted has changed; tell whether there is a recording."""
        if setting != self._recorded_setting:
            try:
                self._graph, self._recorded_setting = self._record(), setting
            except RuntimeError as reason:  # what torch raises for an operation that cannot be recorded
                self._graph, self._can_record = None, False
                warnings.warn(
                    f"Steps cannot be recorded on this GPU ({str(reason).splitlines()[0]}). They are taken one by one, "
                    "which gives the same results and takes longer.",
                    RuntimeWarning,
                    stacklevel=2,
                )
        return self._can_record

    def _record(self) -> torch.cuda.CUDAGraph:
        if self._recorded_setting is None:
            self._generator.set_state(self.eager.generator.get_state())
        self._graph = None  # its memory is free for the new one
        if not len(self._bounds):
            self._bounds = self._bounds.new_zeros((len(self._rates), 1 + len(self._names)))
        graph, rate = torch.cuda.CUDAGraph(), self.eager.rate
        assert rate is not None  # steps on a GPU have one
        graph.register_generator_state(self._generator)
        self.eager.optimiser.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            rate.copy_(self._rates.index_select(0, self._step).squeeze(0))
            bound = self.eager.raise_bound(self._generator)
            row = torch.stack([bound.value, *bound.parts().values()]).detach().double()
            self._bounds.index_copy_(0, self._step, row[None])
            self._step.add_(1)
        return graph
