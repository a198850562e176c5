"""Maps of other libraries that keep neighbours together. They have no likelihood and cannot go back to the views."""

import warnings

import numpy as np
from sklearn.manifold import TSNE, Isomap

from mvlvm.baselines.joining import side_by_side
from mvlvm.benchmarks.fitted import Fitted, ViewArrays
from mvlvm.benchmarks.task import Task
from mvlvm.optional_dependencies import require


def fit_umap(views: ViewArrays, task: Task) -> Fitted:
    """Give umap-learn's map of all views side by side."""
    umap = require("umap", "UMAP", "bench")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a seed makes it use one core, and it says so
        model = umap.UMAP(n_components=task.n_components, random_state=task.seed)
        return Fitted(latents=np.asarray(model.fit_transform(side_by_side(views)), dtype=np.float64))


def fit_tsne(views: ViewArrays, task: Task) -> Fitted:
    """Give scikit-learn's t-SNE of all views side by side."""
    model = TSNE(task.n_components, random_state=task.seed)
    latents = np.asarray(model.fit_transform(side_by_side(views)), dtype=np.float64)
    return Fitted(latents=latents, n_steps=int(model.n_iter_))


def fit_isomap(views: ViewArrays, task: Task) -> Fitted:
    """Give scikit-learn's Isomap of all views side by side."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the graph of neighbours falls apart, it joins its parts
        return Fitted(latents=Isomap(n_components=task.n_components).fit_transform(side_by_side(views)))
