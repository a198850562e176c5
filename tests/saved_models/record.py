"""Models saved in every format, with their predictions; `python -m tests.saved_models.record` adds the current format.

Every format that a version of the library wrote must stay readable, so existing files are never replaced.
"""

import warnings
from pathlib import Path

import numpy as np

import mvlvm
from mvlvm import baselines
from mvlvm.io.model_files import FORMAT_VERSION
from tests.architecture import golden

FOLDER = Path(__file__).parent


def linear_views():
    """Return the training views of the baseline."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    return {"a": X @ rng.normal(size=(2, 5)), "b": X @ rng.normal(size=(2, 4))}


def fit_mixed():
    """Fit views with several likelihoods and with missing entries."""
    est, views, _ = golden.CASES["counts-and-labels"]()
    return est.set_params(n_points=3, n_draws_predict=2, max_iter=20, tol=0.0, random_state=3).fit(views)


def predict_mixed(est):
    """Predict all views of a few rows from all views except `left`."""
    views = golden.CASES["counts-and-labels"]()[1]
    mean, std = est.predict({name: Y[:7] for name, Y in views.items() if name != "left"}, return_std=True)
    arrays = {f"{name}.mean": np.asarray(values) for name, values in mean.items()}
    return arrays | {f"{name}.std": np.asarray(values) for name, values in std.items()}


def fit_pca():
    """Fit a baseline."""
    return baselines.get("PCA")(n_components=2, random_state=0).fit(linear_views())


def predict_pca(est):
    """Transform the training views."""
    return {"latents": est.transform(linear_views())}


# Name -> functions that fit a model, and that compute its predictions.
MODELS = {"mixed": (fit_mixed, predict_mixed), "pca": (fit_pca, predict_pca)}


def paths(name, version):
    """Return the files of a model and of its predictions."""
    stem = f"{name}-format-{version}"
    return FOLDER / f"{stem}.safetensors", FOLDER / f"{stem}.npz"


if __name__ == "__main__":
    for name, (fit, predict) in MODELS.items():
        model, predictions = paths(name, FORMAT_VERSION)
        if not model.exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit().save(model)
        np.savez(predictions, **predict(mvlvm.load(model)))
