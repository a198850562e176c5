"""Labels that are missing during fitting, compared with classifiers on the raw views."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiment import Effort, Experiment, Numbers
from mvlvm.datasets import load

Matrix = Float[np.ndarray, "N M"]
Codes = Int[np.ndarray, " N"]

# Latent dimensions in addition to the paper's two, and the number of steps.
SETTINGS = {"bridges": (5, 1000), "r-mnist": (10, 1000), "mfeat": (10, 500)}


def labelled(name: str, seed: int) -> tuple[dict[str, Matrix], Codes]:
    """Return views and labels; the seed draws the rows of r-mnist."""
    data = load(name, random_state=seed) if name == "r-mnist" else load(name)
    return {view: np.asarray(Y, dtype=float) for view, Y in data.items()}, data.labels


def split(codes: Codes, seed: int) -> tuple[Codes, Codes]:
    """Return the rows with known labels, and the fifth of the rows whose labels are removed for this seed."""
    return next(StratifiedKFold(5, shuffle=True, random_state=seed).split(codes[:, None], codes))


def _percent(codes: Codes, guess: Codes) -> float:
    return 100 * float((codes == guess).mean())


def judged_fit(views: dict[str, Matrix], codes: Codes, hidden: Codes, fit: Callable[[dict[str, Any]], Any]) -> Numbers:
    """Fit all rows with some labels missing, and return the accuracy on these labels."""
    label = codes.astype(float)
    label[hidden] = np.nan
    est = fit({**views, "label": label})
    known, classes = np.setdiff1d(np.arange(len(codes)), hidden), np.asarray(est.classes_["label"])
    inside = np.asarray(est.reconstruct()["label"])[hidden]
    predicted = np.asarray(est.predict({name: Y[hidden] for name, Y in views.items()}, target="label"))
    neighbour = KNeighborsClassifier(1).fit(est.embedding_[known], codes[known]).predict(est.embedding_[hidden])
    return {
        "predict": _percent(codes[hidden], classes[predicted.argmax(axis=1)]),
        "reconstruct": _percent(codes[hidden], classes[inside.argmax(axis=1)]),
        "1-NN": _percent(codes[hidden], neighbour),
        "log density": float(np.log(np.maximum(predicted[np.arange(len(hidden)), codes[hidden]], 1e-12)).mean()),
    }


def ours(name: str, n_components: int, seed: int, effort: Effort) -> Numbers:
    """Remove the labels of a fifth of the rows, and fit our model."""
    views, codes = labelled(name, seed)
    kinds = {**dict.fromkeys(views, "gaussian"), "label": "categorical"}
    fit = partial(effort.fit, n_components=n_components, max_iter=SETTINGS[name][1], likelihood=kinds, seed=seed)
    _, hidden = split(codes, seed)
    return judged_fit(views, codes, hidden, fit)


def plain(make: Callable[[int], Any], name: str, seed: int, effort: Effort) -> Numbers:
    """Classify from the standardised columns of all views."""
    views, codes = labelled(name, seed)
    table, (known, hidden) = np.hstack(list(views.values())), split(codes, seed)
    classifier = make_pipeline(StandardScaler(), make(seed)).fit(table[known], codes[known])
    return {"predict": _percent(codes[hidden], classifier.predict(table[hidden]))}


CLASSIFIERS: dict[str, Callable[[int], Any]] = {
    "logistic regression, raw": lambda seed: LogisticRegression(max_iter=1000),
    "1-NN, raw": lambda seed: KNeighborsClassifier(1),
    "random forest, raw": lambda seed: RandomForestClassifier(500, random_state=seed),
}

EXPERIMENTS = tuple(
    Experiment(f"labels-{name}", {
        **{f"ours, {n} dimensions": partial(ours, name, n) for n in (2, more)},
        **{classifier: partial(plain, make, name) for classifier, make in CLASSIFIERS.items()},
    })
    for name, (more, _) in SETTINGS.items()
)  # fmt: skip
