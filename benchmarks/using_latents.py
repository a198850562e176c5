"""Use of the latents: a label from views with missing entries, and out-of-sample rows."""

import time
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiment import Effort, Experiment, Numbers
from mvlvm.datasets import load

Matrix = Float[np.ndarray, "N M"]
Rows = Int[np.ndarray, " R"]


# --- cll: a label from the latents of four views with missing entries ---


def balanced_accuracy(table: Matrix, labels: Int[np.ndarray, " N"], seed: int) -> float:
    """Return the five-fold balanced accuracy of logistic regression; missing entries are imputed by fold means."""
    classifier = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000))
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return float(cross_val_score(classifier, table, labels, cv=folds, scoring="balanced_accuracy").mean())


def cll_rows() -> tuple[dict[str, Matrix], Int[np.ndarray, " N"], Bool[np.ndarray, " N"]]:
    """Return the views without the label column, the labels, and a mask of rows with drugs and a label."""
    data = load("cll")
    views = dict(data)
    views["mutations"] = data["mutations"][:, ["IGHV" not in column for column in data.columns["mutations"]]]
    return views, data.labels, (data.labels >= 0) & ~np.isnan(data["drugs"]).all(axis=1)


def cll_ours(seed: int, effort: Effort) -> Numbers:
    """Classify from the latents of one fit to all rows."""
    views, labels, compared = cll_rows()
    latents = effort.fit(views, n_components=5, seed=seed).embedding_
    labelled = labels >= 0
    return {
        "with drugs": balanced_accuracy(latents[compared], labels[compared], seed),
        "all labelled": balanced_accuracy(latents[labelled], labels[labelled], seed),
    }


def cll_drugs(seed: int, effort: Effort) -> Numbers:
    """Classify from the drug responses."""
    views, labels, compared = cll_rows()
    return {"with drugs": balanced_accuracy(views["drugs"][compared], labels[compared], seed)}


# --- transform: out-of-sample rows ---


def neighbour_accuracy(latents: Matrix, labels: Rows, new_latents: Matrix, new_labels: Rows) -> float:
    """Return the percentage of new rows whose nearest training row has the same label."""
    return 100 * float(KNeighborsClassifier(1).fit(latents, labels).score(new_latents, new_labels))


def digit_rows(name: str, seed: int) -> tuple[dict[str, Matrix], Int[np.ndarray, " N"], Rows, Rows]:
    """Return views, labels, indices of four fifths of the rows, and indices of the others."""
    data = load(name, random_state=seed)
    old, new = train_test_split(np.arange(len(data.labels)), test_size=0.2, random_state=seed)
    return dict(data), data.labels, old, new


def placed(name: str, max_iter: int, seed: int, effort: Effort) -> Numbers:
    """Fit the training rows, and infer the latents of the new rows."""
    views, labels, old, new = digit_rows(name, seed)
    est = effort.fit({view: Y[old] for view, Y in views.items()}, max_iter=max_iter, seed=seed)
    latents = est.transform({view: Y[new] for view, Y in views.items()})
    return {"accuracy": neighbour_accuracy(est.embedding_, labels[old], latents, labels[new])}


def fitted_together(name: str, max_iter: int, seed: int, effort: Effort) -> Numbers:
    """Fit all rows together; the new rows are still classified by the training rows."""
    views, labels, old, new = digit_rows(name, seed)
    latents = effort.fit(views, max_iter=max_iter, seed=seed).embedding_
    return {"accuracy": neighbour_accuracy(latents[old], labels[old], latents[new], labels[new])}


# --- speed: ten thousand new rows ---


def speed(seed: int, effort: Effort) -> Numbers:
    """Measure the time of `transform` for as many rows as were fitted."""
    data = load("mnist")
    rows = np.random.default_rng(seed).permutation(len(data.labels))[: 2 * effort.speed_rows]
    old, new = np.split(rows, 2)
    est = effort.fit({"image": data["image"][old]}, max_iter=300, seed=seed)
    begin = time.perf_counter()
    latents = est.transform({"image": data["image"][new]})
    seconds = time.perf_counter() - begin
    accuracy = neighbour_accuracy(est.embedding_, data.labels[old], latents, data.labels[new])
    return {"seconds": seconds, "rows": len(new), "threads": torch.get_num_threads(), "accuracy": accuracy}


EXPERIMENTS = (
    Experiment("cll", {"ours": cll_ours, "drugs alone": cll_drugs}),
    *(
        Experiment(f"transform-{name}", {
            "placed": partial(placed, name, max_iter),
            "fitted together": partial(fitted_together, name, max_iter),
        })
        for name, max_iter in (("r-mnist", 1000), ("mfeat", 500))
    ),
    Experiment("speed", {"ours": speed}, most_seeds=1),
)  # fmt: skip
