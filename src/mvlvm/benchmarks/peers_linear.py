"""Factor models of other libraries."""

import contextlib
import importlib
import io
import warnings
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.decomposition import PCA

from mvlvm.baselines.joining import apart, side_by_side, widths_of
from mvlvm.benchmarks.fitted import Fitted, NewViews, ViewArrays
from mvlvm.benchmarks.task import Task
from mvlvm.optional_dependencies import require

_MOFA_ITERATIONS = 1000


def fit_mofa(views: ViewArrays, task: Task) -> Fitted:
    """Fit mofapy2's factor model."""
    factors, weights, n_steps = _mofa(views, task)
    return Fitted(latents=factors, n_steps=n_steps, rebuilt={name: factors @ W.T for name, W in weights.items()})


def predict_mofa(views: ViewArrays, given: NewViews, task: Task) -> Float[np.ndarray, "K _"]:
    """Give one view of new rows from the other: rows with a missing view are fitted with all others."""
    (source,), (target,) = given, set(views) - set(given)
    gap = np.full((len(given[source]), views[target].shape[1]), np.nan)
    new = {source: given[source], target: gap}
    factors, weights, _ = _mofa({name: np.vstack([Y, new[name]]) for name, Y in views.items()}, task)
    return factors[len(views[target]) :] @ weights[target].T


def fit_gfa(views: ViewArrays, task: Task) -> Fitted:
    """Fit cca-zoo's group factor analysis."""
    model = _gfa(views, task)
    factors = model.posterior_mean(list(views.values()))
    rebuilt = {name: factors @ W.T + m for name, W, m in zip(views, model.weights_, model.means_, strict=True)}
    return Fitted(latents=factors, n_steps=model.n_iter_, rebuilt=rebuilt)


def predict_gfa(views: ViewArrays, given: NewViews, task: Task) -> Float[np.ndarray, "K _"]:
    """Give one view of new rows from the other by cca-zoo's group factor analysis."""
    model, (target,) = _gfa(views, task), set(views) - set(given)
    factors, place = model.posterior_mean([given.get(name) for name in views]), list(views).index(target)
    return factors @ model.weights_[place].T + model.means_[place]


def fit_pca(views: ViewArrays, task: Task) -> Fitted:
    """Give principal components of all views side by side."""
    Y = side_by_side(views)
    model = PCA(task.n_components, random_state=task.seed).fit(Y)
    scores = model.transform(Y)
    return Fitted(latents=scores, rebuilt=apart(model.inverse_transform(scores), widths_of(views)))


def _mofa(views: ViewArrays, task: Task) -> tuple[np.ndarray, dict[str, np.ndarray], int]:
    """Give factors, weights of every view, and iterations."""
    require("mofapy2", "MOFA's factor model", "bench")
    entry = importlib.import_module("mofapy2.run.entry_point")
    # It greets and reports on standard output, and uses what newer libraries warn of.
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
        warnings.simplefilter("ignore")  # it ends by its number of iterations where it has not converged
        if task.n_steps is None:
            return probabilistic.GFA(task.n_components, random_state=task.seed).fit(list(views.values()))
        model = probabilistic.GFA(task.n_components, random_state=task.seed, max_iter=task.n_steps)
        return model.fit(list(views.values()))
