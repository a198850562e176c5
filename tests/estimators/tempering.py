"""Estimators with a given likelihood tempering."""

import copy
from dataclasses import replace

from mvlvm.inference.predictor import Predictor
from mvlvm.lazy import Lazy


def predictor_with_tempering(predictor, **levels):
    """Return a predictor with the given tempering of some views."""
    tempering = Lazy.known(predictor.tempering | levels)
    functions = Lazy.known(predictor.functions)
    return Predictor(predictor.model, predictor.scalings, predictor.seed, functions=functions, tempering=tempering)


def with_tempering(est, **levels):
    """Return a copy of a fitted estimator with the given tempering of some views."""
    changed = copy.copy(est)
    changed.model_ = replace(est.model_, predictor=predictor_with_tempering(est.model_.predictor, **levels))
    return changed
