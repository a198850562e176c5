"""Use of the latents: a label from views with missing entries, and latents of out-of-sample rows."""

import time
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Real
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.cells import Cell
from benchmarks.quality.prediction_scores import QUICK_ROWS, Metrics, fit_model, reduced
from mvlvm.datasets import load

# A view; views have the same rows and different columns.
ViewMatrix = Real[np.ndarray, "N _"]
Codes = Int[np.ndarray, " N"]

OURS, DRUGS = "NG-MVLVM", "drugs alone"
TRANSFORM, ALL_ROWS = "NG-MVLVM, transform", "NG-MVLVM, all rows fitted"
_N_NEW_ROWS = 10_000


# --- cll: a label from the latents of four views with missing entries ---


def balanced_accuracy(table: Float[np.ndarray, "N M"], labels: Codes, seed: int) -> float:
    """Return the five-fold balanced accuracy of logistic regression; missing entries are imputed by fold means."""
    classifier = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000))
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return float(cross_val_score(classifier, table, labels, cv=folds, scoring="balanced_accuracy").mean())


def cll_rows() -> tuple[dict[str, ViewMatrix], Codes, Bool[np.ndarray, " N"]]:
    """Return the views without the label column, the labels, and a mask of rows with drugs and a label."""
    data = load("cll")
    assert data.labels is not None
    views = dict(data)
    views["mutations"] = data["mutations"][:, ["IGHV" not in column for column in data.columns["mutations"]]]
    return views, data.labels, (data.labels >= 0) & ~np.isnan(data["drugs"]).all(axis=1)


def cll_model(cell: Cell) -> Metrics:
    """Classify from the latents of one fit to all rows."""
    views, labels, compared = cll_rows()
    latents, labelled = fit_model(cell, views, n_components=5).embedding_, labels >= 0
    rows = {"with drugs": compared, "all labelled": labelled}
    return {name: balanced_accuracy(latents[chosen], labels[chosen], cell.seed) for name, chosen in rows.items()}


def cll_drugs(cell: Cell) -> Metrics:
    """Classify from the drug responses."""
    views, labels, compared = cll_rows()
    return {"with drugs": balanced_accuracy(views["drugs"][compared], labels[compared], cell.seed)}


# --- latents of out-of-sample rows ---


def neighbour_accuracy(
    latents: Float[np.ndarray, "N D"],
    labels: Codes,
    new_latents: Float[np.ndarray, "K D"],
    new_labels: Int[np.ndarray, " K"],
) -> float:
    """Return the share of new rows whose nearest training row has the same label."""
    return float(KNeighborsClassifier(1).fit(latents, labels).score(new_latents, new_labels))


def digit_rows(
    name: str, cell: Cell
) -> tuple[dict[str, ViewMatrix], Codes, Int[np.ndarray, " R"], Int[np.ndarray, " K"]]:
    """Return views, labels, indices of four fifths of the rows, and indices of the others."""
    data = reduced(cell, load(name, random_state=cell.seed))
    assert data.labels is not None
    old, new = train_test_split(np.arange(len(data.labels)), test_size=0.2, random_state=cell.seed)
    return dict(data), data.labels, np.asarray(old), np.asarray(new)


def transformed_rows(name: str, max_iter: int, cell: Cell) -> Metrics:
    """Fit the training rows, and infer the latents of the new rows."""
    views, labels, old, new = digit_rows(name, cell)
    est = fit_model(cell, {view: Y[old] for view, Y in views.items()}, max_iter=max_iter)
    latents = est.transform({view: Y[new] for view, Y in views.items()})
    return {"accuracy": neighbour_accuracy(est.embedding_, labels[old], latents, labels[new])}


def jointly_fitted_rows(name: str, max_iter: int, cell: Cell) -> Metrics:
    """Fit all rows; the new rows are still classified by the training rows."""
    views, labels, old, new = digit_rows(name, cell)
    latents = fit_model(cell, views, max_iter=max_iter).embedding_
    return {"accuracy": neighbour_accuracy(latents[old], labels[old], latents[new], labels[new])}


def transform_time(cell: Cell) -> Metrics:
    """Measure the time of `transform` for as many rows as were fitted."""
    data, n_rows = load("mnist"), QUICK_ROWS if cell.is_quick else _N_NEW_ROWS
    assert data.labels is not None
    old, new = np.split(np.random.default_rng(cell.seed).permutation(len(data.labels))[: 2 * n_rows], 2)
    est = fit_model(cell, {"image": data["image"][old]}, max_iter=300)
    begin = time.perf_counter()
    latents = est.transform({"image": data["image"][new]})
    seconds = time.perf_counter() - begin
    accuracy = neighbour_accuracy(est.embedding_, data.labels[old], latents, data.labels[new])
    return {"seconds": seconds, "rows": len(new), "threads": torch.get_num_threads(), "accuracy": accuracy}


# Data set -> method -> function of a cell.
LATENT_TASKS: Mapping[str, Mapping[str, Callable[[Cell], Metrics]]] = {
    "cll": {OURS: cll_model, DRUGS: cll_drugs},
    **{
        f"transform-{name}": {
            TRANSFORM: partial(transformed_rows, name, max_iter),
            ALL_ROWS: partial(jointly_fitted_rows, name, max_iter),
        }
        for name, max_iter in (("r-mnist", 1000), ("mfeat", 500))
    },
    "mnist-10000": {OURS: transform_time},
}
