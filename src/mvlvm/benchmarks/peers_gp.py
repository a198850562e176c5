"""Gaussian process latent variable models of other libraries."""

import logging
import time
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.decomposition import PCA

from mvlvm.baselines.joining import apart, side_by_side, widths_of
from mvlvm.benchmarks.fitted import Fitted, NewViews, ViewArrays
from mvlvm.benchmarks.task import Task
from mvlvm.optional_dependencies import require

# As in the examples of GPyTorch; GPy's own vary from 10 to 40.
_N_INDUCING = 25
_BATCH = 100
_GPY_ITERATIONS = 1000
_GPYTORCH_ITERATIONS = 10_000
_GPYTORCH_LEARNING_RATE = 0.01
_ROWS_AT_ONCE = 500


class _TimeIsUpError(Exception):
    """Ends an optimiser that cannot be asked to stop."""


def fit_bayesian_gplvm(views: ViewArrays, task: Task) -> Fitted:
    """Fit GPy's BayesianGPLVM to all views side by side."""
    GPy = _gpy()
    Y = side_by_side(views)
    np.random.seed(task.seed)  # it draws from NumPy's global generator
    model = GPy.models.BayesianGPLVM(Y, task.n_components, num_inducing=min(_N_INDUCING, len(Y)))
    stopped, n_steps = _optimise(model, task)
    rebuilt = apart(np.asarray(model.predict(model.X)[0]), widths_of(views))
    return Fitted(latents=np.asarray(model.X.mean), n_steps=n_steps, stopped=stopped, rebuilt=rebuilt)


def fit_mrd(views: ViewArrays, task: Task) -> Fitted:
    """Fit GPy's MRD, manifold relevance determination."""
    model, stopped, n_steps = _mrd(views, task)
    rebuilt = {name: np.asarray(model.predict(model.X, Yindex=v)[0]) for v, name in enumerate(views)}
    return Fitted(latents=np.asarray(model.X.mean), n_steps=n_steps, stopped=stopped, rebuilt=rebuilt)


def predict_mrd(views: ViewArrays, given: NewViews, task: Task) -> Float[np.ndarray, "K _"]:
    """Give one view of new rows from the other by GPy's MRD: a latent is sought for every row, as its tutorial does."""
    (source,), (target,) = given, set(views) - set(given)
    model, _, _ = _mrd(views, task)
    names = list(views)
    X, _ = model.bgplvms[names.index(source)].infer_newX(given[source], optimize=True)
    return np.asarray(model.predict(X, Yindex=names.index(target))[0])


def fit_gpytorch(views: ViewArrays, task: Task) -> Fitted:
    """Fit a Bayesian GPLVM on GPyTorch's classes to all views side by side, by stochastic variational inference."""
    gpytorch = require("gpytorch", "The Bayesian GPLVM of GPyTorch", "bench")
    joined = side_by_side(views)
    Y = torch.as_tensor(joined, dtype=torch.float32, device=task.device)
    start = PCA(task.n_components, random_state=task.seed).fit_transform(joined)
    torch.manual_seed(task.seed)
    model = _gpytorch_gplvm(gpytorch, torch.as_tensor(start, dtype=torch.float32), Y.shape[1]).to(task.device)
    likelihood = gpytorch.likelihoods.GaussianLikelihood(batch_shape=torch.Size([Y.shape[1]])).to(task.device)
    loss_of = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(Y))
    parameters = [*model.parameters(), *likelihood.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=_GPYTORCH_LEARNING_RATE)
    begin, step_ends = time.perf_counter(), []
    n_steps = task.n_steps or _GPYTORCH_ITERATIONS
    while len(step_ends) < n_steps and time.perf_counter() - begin < task.limit_s:
        rows = torch.randperm(len(Y), device=task.device)[:_BATCH]
        optimiser.zero_grad()
        loss = -loss_of(model(model.sample_latent_variable()[rows]), Y[rows].T).sum()
        loss.backward()
        optimiser.step()
        step_ends.append(time.perf_counter() - begin)
    latents = model.X.q_mu.detach()
    rebuilt = apart(_gpytorch_means(model, latents), widths_of(views))
    return Fitted(
        latents=latents.cpu().numpy(), n_steps=len(step_ends), step_ends=step_ends,
        stopped=len(step_ends) < n_steps, rebuilt=rebuilt,
    )  # fmt: skip


def _gpy() -> Any:
    """Import GPy, and keep it from talking."""
    GPy = require("GPy", "GPy's models", "bench")
    logging.getLogger("GPy").setLevel(logging.ERROR)
    return GPy


def _mrd(views: ViewArrays, task: Task) -> tuple[Any, bool, int]:
    GPy = _gpy()
    np.random.seed(task.seed)
    n_inducing = min(_N_INDUCING, len(next(iter(views.values()))))
    model = GPy.models.MRD(list(views.values()), task.n_components, num_inducing=n_inducing, Ynames=list(views))
    stopped, n_steps = _optimise(model, task)
    return model, stopped, n_steps


def _optimise(model: Any, task: Task) -> tuple[bool, int]:
    """Run GPy's optimiser, L-BFGS-B, as long as there is time; give whether it was stopped, and its evaluations."""
    begin, n_evaluations, original = time.perf_counter(), 0, model._objective_grads

    def counted(x: np.ndarray) -> Any:
        nonlocal n_evaluations
        if time.perf_counter() - begin > task.limit_s:
            raise _TimeIsUpError
        n_evaluations += 1
        return original(x)

    vars(model)["_objective_grads"] = counted
    try:
        model.optimize(messages=False, max_iters=task.n_steps or _GPY_ITERATIONS)
    except _TimeIsUpError:
        return True, n_evaluations
    return False, n_evaluations


def _gpytorch_gplvm(gpytorch: Any, start: Float[torch.Tensor, "N D"], n_columns: int) -> Any:
    """Put the model together: one sparse Gaussian process per column, one q(x) per row."""
    (N, D), shape, variational = start.shape, torch.Size([n_columns]), gpytorch.variational

    class Gplvm(gpytorch.models.gplvm.BayesianGPLVM):
        def __init__(self) -> None:
            weights = variational.CholeskyVariationalDistribution(_N_INDUCING, batch_shape=shape)
            places = torch.randn(n_columns, _N_INDUCING, D)
            prior = gpytorch.priors.NormalPrior(torch.zeros(N, D), torch.ones(N, D))
            latent = gpytorch.models.gplvm.VariationalLatentVariable(N, n_columns, D, start, prior)
            super().__init__(latent, variational.VariationalStrategy(self, places, weights))
            self.mean_module = gpytorch.means.ZeroMean(batch_shape=shape)
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=D))

        def forward(self, X: torch.Tensor) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))

    return Gplvm()


def _gpytorch_means(model: Any, latents: Float[torch.Tensor, "N D"]) -> Float[np.ndarray, "N M"]:
    model.eval()
    with torch.no_grad():
        parts = [model(rows).mean.T.cpu().numpy() for rows in latents.split(_ROWS_AT_ONCE)]
    return np.concatenate(parts).astype(np.float64)
