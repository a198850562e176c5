"""The methods of the benchmark: NG-MVLVM, and factor models, GPLVMs and manifold methods of other libraries.

Every method is used as published on PyPI, with the settings of its own examples. Manifold methods have no likelihood
and cannot reconstruct views.
"""

import contextlib
import importlib
import io
import logging
import time
import warnings
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, Isomap

from mvlvm.baselines.baseline_input import concatenate_views, split_views, view_widths
from mvlvm.benchmarks import ours
from mvlvm.benchmarks.tasks import Fitted, Method, NewViews, Task, ViewArrays
from mvlvm.checks import require

_MOFA_ITERATIONS = 1000
# As in the examples of GPyTorch; those of GPy use 10 to 40.
_N_INDUCING = 25
_BATCH = 100
_GPY_ITERATIONS = 1000
_GPYTORCH_ITERATIONS = 10_000
_GPYTORCH_LEARNING_RATE = 0.01
_ROWS_AT_ONCE = 500


def fit_mofa(views: ViewArrays, task: Task) -> Fitted:
    """Fit the factor model of mofapy2."""
    factors, weights, n_steps = _mofa(views, task)
    return Fitted(latents=factors, n_steps=n_steps, rebuilt={name: factors @ W.T for name, W in weights.items()})


def predict_mofa(views: ViewArrays, given: NewViews, task: Task) -> Float[np.ndarray, "K _"]:
    """Predict one view of new rows from the other: rows with a missing view are fitted with the training rows."""
    (source,), (target,) = given, set(views) - set(given)
    missing = np.full((len(given[source]), views[target].shape[1]), np.nan)
    new = {source: given[source], target: missing}
    factors, weights, _ = _mofa({name: np.vstack([Y, new[name]]) for name, Y in views.items()}, task)
    return factors[len(views[target]) :] @ weights[target].T


def fit_gfa(views: ViewArrays, task: Task) -> Fitted:
    """Fit the group factor analysis of cca-zoo."""
    model = _gfa(views, task)
    factors = model.posterior_mean(list(views.values()))
    rebuilt = {name: factors @ W.T + m for name, W, m in zip(views, model.weights_, model.means_, strict=True)}
    return Fitted(latents=factors, n_steps=model.n_iter_, rebuilt=rebuilt)


def predict_gfa(views: ViewArrays, given: NewViews, task: Task) -> Float[np.ndarray, "K _"]:
    """Predict one view of new rows from the other with the group factor analysis of cca-zoo."""
    model, (target,) = _gfa(views, task), set(views) - set(given)
    factors, index = model.posterior_mean([given.get(name) for name in views]), list(views).index(target)
    return factors @ model.weights_[index].T + model.means_[index]


def fit_pca(views: ViewArrays, task: Task) -> Fitted:
    """Fit PCA to the concatenated views."""
    Y = concatenate_views(views)
    model = PCA(task.n_components, random_state=task.seed).fit(Y)
    scores = model.transform(Y)
    return Fitted(latents=scores, rebuilt=split_views(model.inverse_transform(scores), view_widths(views)))


def _mofa(views: ViewArrays, task: Task) -> tuple[np.ndarray, dict[str, np.ndarray], int]:
    """Return the factors, the weights of every view, and the number of iterations."""
    require("mofapy2", "MOFA's factor model", "bench")
    entry = importlib.import_module("mofapy2.run.entry_point")
    # It prints to standard output and uses deprecated functions.
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = entry.entry_point()
        run.set_data_options(scale_views=False)
        run.set_data_matrix([[np.array(Y)] for Y in views.values()], views_names=list(views))
        run.set_model_options(factors=task.n_components)
        run.set_train_options(
            iter=task.n_steps or _MOFA_ITERATIONS, convergence_mode="fast", seed=task.seed, quiet=True
        )
        run.build()
        run.run()
    nodes = run.model.nodes
    weights = dict(zip(views, nodes["W"].getExpectation(), strict=True))
    return nodes["Z"].getExpectation(), weights, len(run.model.getTrainingStats()["elbo"])


def _gfa(views: ViewArrays, task: Task) -> Any:
    require("cca_zoo", "Group factor analysis of cca-zoo", "bench")
    probabilistic = importlib.import_module("cca_zoo.probabilistic")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # convergence warnings
        if task.n_steps is None:
            return probabilistic.GFA(task.n_components, random_state=task.seed).fit(list(views.values()))
        model = probabilistic.GFA(task.n_components, random_state=task.seed, max_iter=task.n_steps)
        return model.fit(list(views.values()))


def fit_umap(views: ViewArrays, task: Task) -> Fitted:
    """Fit umap-learn to the concatenated views."""
    umap = require("umap", "UMAP", "bench")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fixed seed restricts it to one core, with a warning
        model = umap.UMAP(n_components=task.n_components, random_state=task.seed)
        return Fitted(latents=np.asarray(model.fit_transform(concatenate_views(views)), dtype=np.float64))


def fit_tsne(views: ViewArrays, task: Task) -> Fitted:
    """Fit scikit-learn's t-SNE to the concatenated views."""
    model = TSNE(task.n_components, random_state=task.seed)
    latents = np.asarray(model.fit_transform(concatenate_views(views)), dtype=np.float64)
    return Fitted(latents=latents, n_steps=int(model.n_iter_))


def fit_isomap(views: ViewArrays, task: Task) -> Fitted:
    """Fit scikit-learn's Isomap to the concatenated views."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns if it connects the components of a disconnected graph
        return Fitted(latents=Isomap(n_components=task.n_components).fit_transform(concatenate_views(views)))


class _TimeIsUpError(Exception):
    """Raised inside the objective to stop an optimiser that has no time limit."""


def fit_bayesian_gplvm(views: ViewArrays, task: Task) -> Fitted:
    """Fit GPy's BayesianGPLVM to the concatenated views."""
    GPy = _gpy()
    Y = concatenate_views(views)
    np.random.seed(task.seed)  # it draws from NumPy's global generator
    model = GPy.models.BayesianGPLVM(Y, task.n_components, num_inducing=min(_N_INDUCING, len(Y)))
    stopped, n_steps = _optimise(model, task)
    rebuilt = split_views(np.asarray(model.predict(model.X)[0]), view_widths(views))
    return Fitted(latents=np.asarray(model.X.mean), n_steps=n_steps, stopped=stopped, rebuilt=rebuilt)


def fit_mrd(views: ViewArrays, task: Task) -> Fitted:
    """Fit GPy's manifold relevance determination (MRD)."""
    model, stopped, n_steps = _mrd(views, task)
    rebuilt = {name: np.asarray(model.predict(model.X, Yindex=v)[0]) for v, name in enumerate(views)}
    return Fitted(latents=np.asarray(model.X.mean), n_steps=n_steps, stopped=stopped, rebuilt=rebuilt)


def predict_mrd(views: ViewArrays, given: NewViews, task: Task) -> Float[np.ndarray, "K _"]:
    """Predict one view of new rows from the other with GPy's MRD, optimising the latents as in its tutorial."""
    (source,), (target,) = given, set(views) - set(given)
    model, _, _ = _mrd(views, task)
    names = list(views)
    X, _ = model.bgplvms[names.index(source)].infer_newX(given[source], optimize=True)
    return np.asarray(model.predict(X, Yindex=names.index(target))[0])


def fit_gpytorch(views: ViewArrays, task: Task) -> Fitted:
    """Fit GPyTorch's Bayesian GPLVM to the concatenated views by stochastic variational inference."""
    gpytorch = require("gpytorch", "The Bayesian GPLVM of GPyTorch", "bench")
    joined = concatenate_views(views)
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
    rebuilt = split_views(_gpytorch_means(model, latents), view_widths(views))
    return Fitted(
        latents=latents.cpu().numpy(), n_steps=len(step_ends), step_ends=step_ends,
        stopped=len(step_ends) < n_steps, rebuilt=rebuilt,
    )  # fmt: skip


def _gpy() -> Any:
    """Import GPy with its logging reduced to errors."""
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
    """Run GPy's L-BFGS-B within the time limit; return whether it was stopped, and the number of evaluations."""
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
    """Return the model: one sparse Gaussian process per column, one q(x) per row."""
    (N, D), shape, variational = start.shape, torch.Size([n_columns]), gpytorch.variational

    class Gplvm(gpytorch.models.gplvm.BayesianGPLVM):
        def __init__(self) -> None:
            weights = variational.CholeskyVariationalDistribution(_N_INDUCING, batch_shape=shape)
            inducing_points = torch.randn(n_columns, _N_INDUCING, D)
            prior = gpytorch.priors.NormalPrior(torch.zeros(N, D), torch.ones(N, D))
            latent = gpytorch.models.gplvm.VariationalLatentVariable(N, n_columns, D, start, prior)
            super().__init__(latent, variational.VariationalStrategy(self, inducing_points, weights))
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


OURS, PLAIN, PROCESS, FACTORS, OTHER = "ours", "plain", "Gaussian process", "factor analysis", "other"

METHODS = {
    "ours": Method(
        family=OURS, package="torch", setting="the defaults of NGMVLVM", fit=ours.fit_ours, predict=ours.predict_ours
    ),
    "naive": Method(
        family=PLAIN, package="torch", setting="1,000 steps of Adam at 0.01, float64, autograd", fit=ours.fit_naive
    ),
    "GPy MRD": Method(
        family=PROCESS, package="GPy", setting="25 inducing points, L-BFGS-B, 1,000 iterations",
        fit=fit_mrd, predict=predict_mrd, fewest_views=2,
    ),
    "GPy BayesianGPLVM": Method(
        family=PROCESS, package="GPy", setting="25 inducing points, L-BFGS-B, 1,000 iterations",
        fit=fit_bayesian_gplvm,
    ),
    "GPyTorch BayesianGPLVM": Method(
        family=PROCESS, package="gpytorch", fit=fit_gpytorch,
        setting="25 inducing points a column, batches of 100 rows, 10,000 steps of Adam at 0.01",
    ),
    "mofapy2": Method(
        family=FACTORS, package="mofapy2", setting="convergence mode fast, at most 1,000 iterations",
        fit=fit_mofa, predict=predict_mofa,
    ),
    "cca-zoo GFA": Method(
        family=FACTORS, package="cca_zoo", setting="its defaults",
        fit=fit_gfa, predict=predict_gfa, fewest_views=2,
    ),
    "umap-learn": Method(
        family=OTHER, package="umap", setting="its defaults", fit=fit_umap
    ),
    "t-SNE": Method(
        family=OTHER, package="sklearn", setting="its defaults", fit=fit_tsne
    ),
    "Isomap": Method(
        family=OTHER, package="sklearn", setting="its defaults", fit=fit_isomap
    ),
    "PCA": Method(family=OTHER, package="sklearn", setting="its defaults", fit=fit_pca),
}  # fmt: skip
