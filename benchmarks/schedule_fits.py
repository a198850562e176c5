"""A training loop with all variants that were tried, and the fits that compare them with the default schedule."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from experiment import Numbers
from mvlvm import NGMVLVM, defaults
from mvlvm.estimators.initialization import InitialModel, initialize
from mvlvm.estimators.preprocessing import preprocess, validate
from mvlvm.estimators.train import count_entries
from mvlvm.parameters import positive
from mvlvm.randomness import Stream, make_generator
from mvlvm.training.loop import cosine_decay, rise_between_windows
from schedule_data import Task

# Number of steps averaged per point of a training curve.
_PER_POINT = 25
# Number of steps between tests for convergence and updates of the compression.
_RUN = 50

# Initial posterior standard deviation, at which steps in its units equal ordinary steps.
_UNIT_STD = defaults.INITIAL_LATENT_STD


@dataclass(frozen=True)
class Schedule:
    """Options of training.

    Attributes:
        steps: number of steps.
        rate: learning rate of all parameters except the latents.
        latent_rate: learning rate of the latent means; None for `rate`.
        std_rate: learning rate of the latent standard deviations; None for that of the means.
        betas: betas of Adam.
        in_std_units: whether steps of latent means are in units of their posterior standard deviation.
        natural: learning rate of natural-gradient steps of the latents, instead of Adam; 0 for Adam.
        log_sigma: whether spectral standard deviations and weights take relative steps.
        n_draws: number of draws per step.
        cool: constant rate until the bound converges, then cosine decay over this many steps; 0 for cosine decay over
            all steps.
        flat: the bound has converged if it rises by less, in nats per entry from one 50 steps to the next.
    """

    steps: int = 1000
    rate: float = 0.02
    latent_rate: float | None = None
    std_rate: float | None = None
    betas: tuple[float, float] = defaults.ADAM_BETAS
    in_std_units: bool = False
    natural: float = 0.0
    log_sigma: bool = False
    n_draws: int = 1
    cool: int = 0
    flat: float = 2e-3


class Stepper:
    """Adam with a learning rate per parameter, or natural gradients for the latents."""

    def __init__(self, assembly: InitialModel, schedule: Schedule) -> None:
        self.schedule, self.latent = schedule, assembly.model.latent
        self.parameters = dict(assembly.model.named_parameters())
        self.first = {name: torch.zeros_like(p) for name, p in self.parameters.items()}
        self.second = {name: torch.zeros_like(p) for name, p in self.parameters.items()}
        self.count = 0

    @torch.no_grad()
    def step(self, decay: float) -> None:
        """Take an ascent step on the bound."""
        self.count += 1
        b1, b2 = self.schedule.betas
        for name, p in self.parameters.items():
            if p.grad is None:
                continue
            g = -p.grad
            self.first[name].lerp_(g, 1 - b1)
            self.second[name].lerp_(g * g, 1 - b2)
            mean = self.first[name] / (1 - b1**self.count)
            if self.schedule.natural and name.startswith("latent."):
                p += decay * self._natural(name, p, mean)
                continue
            root = (self.second[name] / (1 - b2**self.count)).sqrt() + 1e-8
            p += decay * self._rate(name, p) * mean / root

    def _rate(self, name: str, p: nn.Parameter) -> Tensor | float:
        s = self.schedule
        if name == "latent.mean":
            rate = s.rate if s.latent_rate is None else s.latent_rate
            return rate * self.latent.std / _UNIT_STD if s.in_std_units else rate
        if name == "latent.raw_std":
            rate = s.rate if s.latent_rate is None else s.latent_rate
            return rate if s.std_rate is None else s.std_rate
        if s.log_sigma and ("raw_sigma" in name or "raw_alpha" in name):
            return s.rate * positive(p) / torch.sigmoid(p)
        return s.rate

    def _natural(self, name: str, p: nn.Parameter, g: Tensor) -> Tensor:
        """Multiply a gradient by the inverse Fisher information of q(X), with clipped steps."""
        std = self.latent.std
        if name == "latent.mean":
            return (self.schedule.natural * std**2 * g).clamp(-0.1, 0.1)
        derivative = torch.sigmoid(p)  # d std / d raw
        by_log = g * std / derivative
        return (self.schedule.natural * by_log / 2).clamp(-0.1, 0.1) * std / derivative


def assembled(task: Task, seed: int, init: str = "pca") -> tuple[InitialModel, torch.Generator]:
    """Return an untrained model, and its generator."""
    estimator = NGMVLVM(n_components=task.n_components, init=init, random_state=seed)
    parameters = {**estimator.get_params(deep=False), "likelihood": task.likelihood}
    options, validated = validate(parameters, task.views)
    generator = make_generator(seed, Stream.TRAINING)
    return initialize(preprocess(validated, options), options, generator), generator


def follow(task: Task, schedule: Schedule, seed: int, *, most_steps: int = 1000, init: str = "pca") -> Numbers:
    """Train with a schedule, and return the final bound and quality."""
    assembly, generator = assembled(task, seed, init)
    model, data, states = assembly.model, assembly.data, assembly.states
    n_entries = count_entries(model, data)
    stepper, bounds, steps = Stepper(assembly, schedule), [], min(schedule.steps, most_steps)
    cool_from = max(0, steps - schedule.cool) if schedule.cool else 0
    while len(bounds) < steps:
        n = len(bounds)
        if n % _RUN == 0:
            states = model.refresh(data, states, n)
            if schedule.cool and n < cool_from and rise_between_windows(bounds, _RUN) < schedule.flat:
                cool_from, steps = n, n + schedule.cool
        model.zero_grad()
        elbo, states = model.elbo(data, states, generator, n_draws=schedule.n_draws)
        bound = elbo.value
        (-bound).backward()
        stepper.step(cosine_decay(max(0.0, (n - cool_from) / (steps - cool_from))))
        bounds.append(bound.item() / n_entries)
    with torch.no_grad():
        generator, states = make_generator(seed, Stream.BOUND), model.final_states(data, states)
        value = model.elbo(data, states, generator, n_draws=defaults.MAX_DRAWS_BOUND)[0].value
    quality = task.quality(model.latent.mean.detach().double().numpy())
    course = [float(np.mean(bounds[i : i + _PER_POINT])) for i in range(0, len(bounds), _PER_POINT)]
    numbers = {"bound": value.item() / n_entries, "quality": quality, "steps": steps, "cost": steps * schedule.n_draws}
    return {**numbers, "course": course, "init": [assembly.init]}
