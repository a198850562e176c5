"""Views of every likelihood, drawn around smooth functions of two latent factors."""

import numpy as np

LIKELIHOODS = {
    "size": "gaussian",
    "price": "student-t",
    "marks": "bernoulli",
    "cells": "poisson",
    "reads": "negative-binomial",
    "kind": "categorical",
}
CLASSES = ("early", "late", "middle")


_MAX_ROWS = 200


def draw_views(rows, widths=5):
    """Return six views of the same rows, the first `rows` or a slice of them; the last view is an array of labels."""
    views = _draw_all(np.random.default_rng(0), _MAX_ROWS, widths)
    return select_rows(views, slice(rows) if isinstance(rows, int) else rows)


def _draw_all(rng, N, widths):
    X = rng.normal(size=(N, 2))

    def function(M, *, level=0.0, size=1.5):
        return level + size * np.sin(X @ rng.normal(size=(2, M)) + rng.uniform(0, 6, M))

    logits = function(3, size=4.0)
    rates = np.exp(function(widths, level=1.5, size=1.0))
    return {
        "size": function(widths) + 0.3 * rng.normal(size=(N, widths)),
        "price": function(widths) + 0.3 * rng.standard_t(3, size=(N, widths)),
        "marks": (rng.random((N, widths)) < 1 / (1 + np.exp(-function(widths, size=3.0)))).astype(float),
        "cells": rng.poisson(np.exp(function(widths, level=1.0, size=1.2))).astype(float),
        "reads": rng.poisson(rng.gamma(3.0, rates / 3.0)).astype(float),
        "kind": np.array(CLASSES, dtype=object)[(logits + rng.gumbel(size=(N, 3))).argmax(axis=1)],
    }


def select_rows(views, rows):
    return {name: Y[rows] for name, Y in views.items()}


def without(views, name):
    return {other: Y for other, Y in views.items() if other != name}
