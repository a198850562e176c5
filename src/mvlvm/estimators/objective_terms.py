"""Further terms of the training objective, beside the expected log evidence of the views and the KL divergence.

A new term is a function that makes it, listed in `TERMS`: from the views and the options of a fit to the term with its
weight, or None where the options do not ask for it. `history_` then contains it under its name.
"""

from collections.abc import Callable
from typing import NamedTuple

from mvlvm.estimators.options import FitOptions
from mvlvm.init.initializations import InitViews
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.shapes import Scalar


class WeightedTerm(NamedTuple):
    """A term of the objective.

    Attributes:
        weight: factor of the term in the objective.
        value: from the model to the term, a differentiable scalar to maximise.
    """

    weight: float
    value: Callable[[MultiViewLVM], Scalar]


# Name -> a function that makes the term.
TERMS: dict[str, Callable[[InitViews, FitOptions], WeightedTerm | None]] = {}


def objective_terms(views: InitViews, options: FitOptions) -> dict[str, WeightedTerm]:
    """Return the terms that the options ask for, by name."""
    made = {name: make(views, options) for name, make in TERMS.items()}
    return {name: term for name, term in made.items() if term is not None}
