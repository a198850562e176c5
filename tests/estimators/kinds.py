"""Views of every likelihood, drawn around smooth functions of two factors."""

import numpy as np

LIKELIHOODS = {
    "size": "gaussian",
    "price": "student-t",
    "marks": "bernoulli",
    "cells": "poisson",
    "reads": "negative-binomial",
    "kind": "categorical",
}
KINDS = ("early", "late", "middle")


_MOST_ROWS = 200


def draw_views(rows, widths=5):
    """Six views of some of the same rows, up to a number or in a slice; the last view is a column of text."""
    drawn = _draw_all(np.random.default_rng(0), _MOST_ROWS, widths)
    return some_rows(drawn, slice(rows) if isinstance(rows, int) else rows)


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
        "kind": np.array(KINDS, dtype=object)[(logits + rng.gumbel(size=(N, 3))).argmax(axis=1)],
    }


def some_rows(views, rows):
    return {name: Y[rows] for name, Y in views.items()}


def without(views, name):
    return {other: Y for other, Y in views.items() if other != name}
