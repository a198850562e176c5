"""Random fits of few rows and all likelihoods; `python -m tests.end_to_end.random_small_fits [N [SEED]]` lists errors.

A fit and everything that can be asked of it succeeds, or ends with an error of the library that says what to do.
"""

import sys
import traceback
import warnings
from collections import Counter

import numpy as np
import torch

from mvlvm import NGMVLVM, NumericalError, ViewError
from mvlvm.likelihoods import LIKELIHOODS

EXPECTED = (ViewError, NumericalError)


def draw_view(rng, n_rows, likelihood):
    """Return a view of one to six columns that suits the likelihood, some of its entries missing."""
    width = int(rng.integers(1, 7))
    f = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, width))
    if likelihood == "categorical":
        classes = int(rng.integers(2, 4))
        labels = [str(label) for label in rng.integers(classes, size=n_rows)]
        return [None if rng.random() < 0.1 else label for label in labels]
    Y = {
        "bernoulli": lambda: (f > 0).astype(float),
        "poisson": lambda: rng.poisson(np.exp(np.clip(f, -3, 4))).astype(float),
        "negative-binomial": lambda: rng.poisson(np.exp(np.clip(f, -3, 6))).astype(float),
    }.get(likelihood, lambda: f * 10.0 ** rng.integers(-6, 9))()
    if rng.random() < 0.5:
        Y[rng.random(Y.shape) < 0.2] = np.nan
    if rng.random() < 0.3:
        Y[rng.random(n_rows) < 0.3] = np.nan
    return Y


def draw_problem(rng):
    """Return an estimator, views and sample weights."""
    n_rows = int(rng.integers(2, 14))
    kinds = {f"view{v}": str(rng.choice(list(LIKELIHOODS))) for v in range(rng.integers(1, 4))}
    views = {name: draw_view(rng, n_rows, kind) for name, kind in kinds.items()}
    weight = rng.choice([0.0, 1.0, 2.0], size=n_rows, p=[0.2, 0.6, 0.2]) if rng.random() < 0.2 else None
    est = NGMVLVM(
        n_components=int(rng.integers(1, 3)), n_points=int(rng.integers(1, 6)), max_iter=int(rng.integers(1, 8)),
        scale=rng.choice(np.array(["auto", "view", "column", None], dtype=object)), likelihood=kinds, random_state=0,
        init=str(rng.choice(["pca", "auto"], p=[0.8, 0.2])),
    )  # fmt: skip
    return est, views, weight


def run(est, views, weight):
    """Fit, and ask for everything."""
    est.fit(views, sample_weight=weight)
    new = {name: Y[:3] for name, Y in views.items()}
    results = [est.embedding_, *est.transform(new, return_std=True)]
    est.predict(new, return_std=True)
    if len(views) > 1:
        est.predict({"view1": new["view1"]}, target="view0", return_std=True)
    est.prepare()
    results += [est.relevance_]
    assert all(np.isfinite(result).all() for result in results), "a result is not finite"


def unexpected_error(rng):
    """Return the traceback of an unexpected error of a random fit; None if there is none."""
    est, views, weight = draw_problem(rng)
    try:
        run(est, views, weight)
    except EXPECTED:
        return None
    except ValueError as error:  # of a parameter: n_components exceeds the rank of so few rows, for example
        return None if str(error).startswith(("n_components", "sample_weight")) else traceback.format_exc()
    except Exception:  # any other error is a defect
        return traceback.format_exc()
    return None


def count_errors(n_fits, seed=0):
    """Return the unexpected errors of random fits with their numbers, the traceback of the first of each kind."""
    found, first = Counter(), {}
    for k in range(n_fits):
        error = unexpected_error(np.random.default_rng([seed, k]))
        if error is not None:
            kind = error.strip().splitlines()[-1][:120]
            found[kind] += 1
            first.setdefault(kind, f"fit {k}\n{error}")
    return found, first


if __name__ == "__main__":
    torch.set_num_threads(1)
    arguments = [int(argument) for argument in sys.argv[1:]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        errors, examples = count_errors(*(arguments or [300]))
    for kind, count in errors.most_common():
        print(f"{count:4} {kind}\n{examples[kind]}")
    print(f"{errors.total()} unexpected errors")
