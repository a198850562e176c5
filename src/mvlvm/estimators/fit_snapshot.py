"""Conversion of the state of a fit in training to a JSON header and arrays, and back.

A fit that continues from a restored state takes the same steps, bit for bit, as one that was not stopped. Products of
matrices depend on their memory layout, so the order of dimensions in memory is part of a snapshot. What the problem
determines, such as compressed views, is computed again.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mvlvm.estimators.fit_state import FitState, Run, initial_states
from mvlvm.estimators.problem import Problem
from mvlvm.models.multiview import Dimensions
from mvlvm.training.history import History, StopReason
from mvlvm.training.steps import Schedule, init_train_state

Header = dict[str, Any]
Arrays = dict[str, np.ndarray]


class Snapshot(NamedTuple):
    """The state of a fit after some step.

    Attributes:
        header: values for JSON.
        arrays: name -> array.
    """

    header: Header
    arrays: Arrays


class _Contents:
    """Named arrays, and tensors as contiguous arrays with the order of their dimensions in memory.

    Args:
        arrays: name -> contiguous array.
        orders: name -> dimensions from the slowest to the fastest in memory, if they are not in order.
    """

    def __init__(self, arrays: Arrays | None = None, orders: Mapping[str, list[int]] | None = None) -> None:
        self.arrays, self.orders = {} if arrays is None else arrays, dict(orders or {})

    def add(self, name: str, tensor: Tensor) -> None:
        """Add a copy of a tensor."""
        tensor = tensor.detach()
        order = sorted(range(tensor.ndim), key=lambda dim: -tensor.stride(dim))
        if not tensor.is_contiguous():
            self.orders[name], tensor = order, tensor.permute(order)
        self.arrays[name] = tensor.cpu().contiguous().numpy().copy()

    def get(self, name: str, device: torch.device) -> Tensor:
        """Return a tensor with the memory layout that it had."""
        tensor = torch.tensor(self.arrays[name], device=device)
        order = self.orders.get(name)
        return tensor if order is None else tensor.permute([order.index(dim) for dim in range(tensor.ndim)])

    def below(self, prefix: str) -> list[str]:
        """Return the names that begin with a prefix, without it."""
        return [name.removeprefix(prefix) for name in self.arrays if name.startswith(prefix)]


def pack_fit(problem: Problem, state: FitState) -> Snapshot:
    """Return a snapshot, which contains copies of everything in the state of a fit."""
    contents = _Contents()
    header: Header = {
        "seed": problem.seed,
        "run": _pack_run(state.run, "run.", contents),
        "trials": {init: _pack_run(run, f"trial.{init}.", contents) for init, run in state.trials.items()},
        "finalists": list(state.finalists),
        "earlier": _pack_history(state.earlier, "earlier.", contents),
        "bounds": dict(state.bounds),
        "inits": list(state.latents),
    }
    for init, mean in state.latents.items():
        contents.add(f"latents.{init}", mean)
    return Snapshot(header | {"orders": contents.orders}, contents.arrays)


def unpack_fit(problem: Problem, snapshot: Snapshot) -> FitState:
    """Return the state of a fit from a snapshot, for the same problem."""
    header, arrays = snapshot
    contents, device = _Contents(arrays, header["orders"]), problem.options.device
    run = _unpack_run(problem, header["run"], "run.", contents)
    trials = {
        init: run if init == run.init else _unpack_run(problem, packed, f"trial.{init}.", contents)
        for init, packed in header["trials"].items()
    }
    latents = {init: contents.get(f"latents.{init}", device) for init in header["inits"]}
    return FitState(
        run, latents, initial_states(problem, run.model) if latents else {}, trials, list(header["finalists"]),
        dict(header["bounds"]), _unpack_history(header["earlier"], "earlier.", arrays),
    )  # fmt: skip


def _pack_run(run: Run, prefix: str, contents: _Contents) -> Header:
    state = run.state
    for name, tensor in run.model.state_dict().items():
        contents.add(f"{prefix}model.{name}", tensor)
    contents.add(f"{prefix}optimizer.mean", state.optimizer.mean)
    contents.add(f"{prefix}optimizer.square", state.optimizer.square)
    contents.add(f"{prefix}generator", state.generator.get_state())
    numbers = [
        _pack_view_state(part, f"{prefix}state.{i}.", contents) for i, part in enumerate(state.view_states.values())
    ]
    return {
        "init": run.init,
        "n_shared": run.dimensions.n_shared,
        "step": state.step,
        "seconds": state.seconds,
        "schedule": asdict(state.schedule),
        "history": _pack_history(state.history, f"{prefix}history.", contents),
        "view_states": numbers,
    }


def _pack_view_state(state: Any, prefix: str, contents: _Contents) -> Header:
    """Add the tensors of the essential values of a view's state, and return the others."""
    for name, value in state.essential.items():
        if isinstance(value, Tensor):
            contents.add(prefix + name, value)
    return {name: value for name, value in state.essential.items() if not isinstance(value, Tensor)}


def _unpack_run(problem: Problem, header: Mapping[str, Any], prefix: str, contents: _Contents) -> Run:
    device = problem.options.device
    generator = problem.generator().set_state(contents.get(f"{prefix}generator", torch.device("cpu")))
    dimensions = Dimensions(header["n_shared"], problem.dimensions.private)
    mean = contents.get(f"{prefix}model.latent.mean", device)
    model = problem.model(mean, dimensions, problem.generator())
    for name, tensor in model.state_dict(keep_vars=True).items():
        tensor.data = contents.get(f"{prefix}model.{name}", device)
    initial = initial_states(problem, model)
    states = {}
    for i, (name, numbers) in enumerate(zip(initial, header["view_states"], strict=True)):
        start = f"{prefix}state.{i}."
        essential = numbers | {part: contents.get(start + part, device) for part in contents.below(start)}
        states[name] = initial[name].restored(essential)
    state = init_train_state(model.parameters(), generator, states)
    state.step, state.seconds, state.schedule = header["step"], header["seconds"], Schedule(**header["schedule"])
    state.history = _unpack_history(header["history"], f"{prefix}history.", contents.arrays)
    state.optimizer.mean.copy_(contents.get(f"{prefix}optimizer.mean", device))
    state.optimizer.square.copy_(contents.get(f"{prefix}optimizer.square", device))
    return Run(header["init"], dimensions, model, state)


def _pack_history(history: History, prefix: str, contents: _Contents) -> Header:
    columns = {"bound": history.bound, "seconds": history.seconds, "learning_rate": history.learning_rate}
    columns |= {f"part.{name}": values for name, values in history.parts.items()}
    contents.arrays |= {prefix + name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
    contents.arrays[f"{prefix}last_rise"] = np.asarray(history.last_rise)
    return {"stop_reason": str(history.stop_reason), "parts": list(history.parts)}


def _unpack_history(header: Mapping[str, Any], prefix: str, arrays: Arrays) -> History:
    return History(
        bound=arrays[f"{prefix}bound"].tolist(),
        parts={name: arrays[f"{prefix}part.{name}"].tolist() for name in header["parts"]},
        seconds=arrays[f"{prefix}seconds"].tolist(),
        learning_rate=arrays[f"{prefix}learning_rate"].tolist(),
        stop_reason=StopReason(header["stop_reason"]),
        last_rise=float(arrays[f"{prefix}last_rise"]),
    )
