"""Fits that compare learning-rate schedules and initialisations, in a training loop with all variants."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.quality.prediction_scores import QUICK_ROWS, QUICK_STEPS, Metrics
from mvlvm import datasets, defaults
from mvlvm.estimators import NGMVLVM
from mvlvm.estimators.fit_state import Run, begin_run, trained_views
from mvlvm.estimators.initialization import initialize
from mvlvm.estimators.preprocessing import preprocess, validate
from mvlvm.estimators.problem import Problem
from mvlvm.estimators.train import choose_init
from mvlvm.evaluation import affine_r2, nearest_neighbour_accuracy
from mvlvm.init.pca import pca_init
from mvlvm.models.multiview import MultiViewLVM, final_views, refreshed_states, with_states
from mvlvm.models.state import StateSettings
from mvlvm.parameters import positive
from mvlvm.randomness import Stream, make_generator
from mvlvm.training.interrupts import Interrupts
from mvlvm.training.loop import cosine_decay, rise_between_windows

# Number of steps between tests for convergence and updates of the compression.
_WINDOW = 50
# Initial posterior standard deviation, at which steps in its units equal ordinary steps.
_UNIT_STD = defaults.INITIAL_LATENT_STD

PCA_ALONE, FROM_PCA, FROM_TRUTH = "PCA", "NG-MVLVM from PCA", "NG-MVLVM from the true latents"


@dataclass(frozen=True)
class ScheduleTask:
    """Views and the quality of their latents.

    Attributes:
        views: view name -> matrix.
        quality: returns a number between 0 and 1 for an embedding.
        n_components: latent dimensions.
        likelihood: likelihood of all views.
    """

    views: Mapping[str, Any]
    quality: Callable[[Float[np.ndarray, "N D"]], float]
    n_components: int = 2
    likelihood: str = "gaussian"


def _labelled(
    name: str, quick: bool, *, seed: int | None = None, most_rows: int = 1000, n_components: int = 2,
    likelihood: str = "gaussian",
) -> ScheduleTask:  # fmt: skip
    """Return a data set with labels, and a random subset of its rows if there are more than `most_rows`.

    The seed draws a data set that is itself random, and the subset; None is the same subset for all seeds.
    """
    data = datasets.load(name) if seed is None else datasets.load(name, random_state=seed)
    assert data.labels is not None
    labels, n_rows = data.labels, QUICK_ROWS if quick else most_rows
    rows = np.flatnonzero(labels >= 0)
    if len(rows) > n_rows:
        rows = np.sort(np.random.default_rng(seed or 0).permutation(rows)[:n_rows])
    views = {view: np.asarray(Y)[rows] for view, Y in data.views.items()}
    return ScheduleTask(views, lambda X: nearest_neighbour_accuracy(X, labels[rows]), n_components, likelihood)


def _s_curve(kernels: list[str], seed: int) -> ScheduleTask:
    data = datasets.load("s-curve", kernels=kernels, random_state=seed)
    return ScheduleTask(data.views, lambda X: affine_r2(data.truth["latents"], X))


# Data set -> function of the seed and of whether the cell is quick.
SCHEDULE_TASKS: Mapping[str, Callable[[int, bool], ScheduleTask]] = {
    "bridges": lambda seed, quick: _labelled("bridges", quick),
    "s-curve-rbf": lambda seed, quick: _s_curve(["rbf", "rbf"], seed),
    "s-curve-gibbs": lambda seed, quick: _s_curve(["rbf", "gibbs"], seed),
    "yale": lambda seed, quick: _labelled("yale", quick),
    "breast-tcga": lambda seed, quick: _labelled("breast-tcga", quick),
    "digits-halves": lambda seed, quick: _labelled("digits-halves", quick),
    "digits-counts": lambda seed, quick: _labelled("digits-halves", quick, most_rows=300, likelihood="poisson"),
    "r-mnist": lambda seed, quick: _labelled("r-mnist", quick, seed=seed),
    "r-cifar": lambda seed, quick: _labelled("r-cifar", quick, seed=seed),
    "mfeat-10": lambda seed, quick: _labelled("mfeat", quick, most_rows=500, n_components=10),
    "cll-10": lambda seed, quick: _labelled("cll", quick, n_components=10),
}


@dataclass(frozen=True)
class LearningSchedule:
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


class ScheduleStepper:
    """Adam with a learning rate per parameter, or natural gradients for the latents."""

    def __init__(self, model: MultiViewLVM, schedule: LearningSchedule) -> None:
        self.schedule, self.latent = schedule, model.latent
        self.parameters = dict(model.named_parameters())
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


def untrained(task: ScheduleTask, seed: int, init: str = "pca") -> tuple[Problem, Run]:
    """Return a problem, and a run before its first step."""
    estimator = NGMVLVM(n_components=task.n_components, init=init, device="cpu", random_state=seed)
    parameters = {**estimator.get_params(deep=False), "likelihood": task.likelihood}
    options, validated = validate(parameters, task.views)
    problem, state = initialize(preprocess(validated, options), options, seed)
    if not state.is_trial:
        return problem, state.run
    latents = state.latents
    choose_init(problem, state, Interrupts())
    return problem, begin_run(problem, state.run.init, latents[state.run.init])


def train_with(
    task: ScheduleTask, schedule: LearningSchedule, seed: int, *, quick: bool = False, init: str = "pca"
) -> Metrics:
    """Train with a schedule, and return the final bound and quality."""
    problem, run = untrained(task, seed, init)
    model, views, generator, n_entries = run.model, trained_views(problem, run), run.state.generator, problem.n_entries
    stepper, bounds = ScheduleStepper(model, schedule), []
    steps = min(schedule.steps, QUICK_STEPS) if quick else schedule.steps
    cool_from = max(0, steps - schedule.cool) if schedule.cool else 0
    while len(bounds) < steps:
        n = len(bounds)
        if n % _WINDOW == 0:
            views = with_states(views, refreshed_states(views, n))
            if schedule.cool and n < cool_from and rise_between_windows(bounds, _WINDOW) < schedule.flat:
                cool_from, steps = n, n + schedule.cool
        model.zero_grad()
        elbo, states = model.elbo(views, generator, n_draws=schedule.n_draws)
        views = with_states(views, states)
        bound = cast(Tensor, elbo.value)
        (-bound).backward()
        stepper.step(cosine_decay(max(0.0, (n - cool_from) / (steps - cool_from))))
        bounds.append(bound.item() / n_entries)
    with torch.no_grad():
        whole = final_views({name: view.released() for name, view in views.items()}, StateSettings(torch.float32))
        value = float(model.elbo(whole, make_generator(seed, Stream.BOUND), n_draws=defaults.MAX_DRAWS_BOUND)[0].value)
    return {
        "bound": value / n_entries,
        "quality": task.quality(model.latent.mean.detach().double().numpy()),
        "steps": steps,
        "init": run.init,
    }


def recovery(method: str, seed: int, *, quick: bool = False) -> Metrics:
    """Recover the latents of an S-curve with a non-stationary view from different initial latents, with defaults.

    Args:
        method: PCA without a fit, or the initial latents of a fit.
        seed: seed of the data and of the fit.
        quick: whether to take few steps.

    Returns:
        R² against the true latents; for fits also the bound in nats per entry and the noise standard deviation.
    """
    data = datasets.load("s-curve", kernels=["rbf", "gibbs"], random_state=seed)
    truth = data.truth["latents"]
    if method == PCA_ALONE:
        centred = [torch.as_tensor(Y - Y.mean(axis=0)) for Y in data.values()]
        return {"R2": affine_r2(truth, pca_init(centred, 2).numpy())}
    est = NGMVLVM(
        init=truth if method == FROM_TRUTH else "pca", random_state=seed,
        max_iter=QUICK_STEPS if quick else defaults.MAX_ITER,
    ).fit(data.views)  # fmt: skip
    return {
        "R2": affine_r2(truth, est.embedding_),
        "bound": est.elbo_ / sum(Y.size for Y in data.values()),
        "noise": float(np.sqrt(np.mean(list(est.noise_variance_.values())))),
    }
