"""Further terms of the training objective, beside the expected log evidence of the views and the KL divergence.

A new term is a function that makes it, listed in `TERMS`: from the views and the options of a fit to the term with its
weight, or None where the options do not ask for it. `history_` then contains it under its name.
"""

from collections.abc import Callable
from typing import NamedTuple

from mvlvm.estimators.neighbour_term import neighbour_term
from mvlvm.estimators.options import FitOptions
from mvlvm.init.initializations import InitViews
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.shapes import Scalar


class WeightedTerm(NamedTuple):
    """A term of the objective.

    Attributes:
        weight: factor of the term in the objective.
        value: from the model to the term, a differentiable scalar to maximise.
        can_be_recorded: whether a GPU can record steps with the term, which must not wait for its results then.
    """

    weight: float
    value: Callable[[MultiViewLVM], Scalar]
    can_be_recorded: bool = True


def neighbours(views: InitViews, options: FitOptions) -> WeightedTerm | None:
    """Return the neighbour term of `neighbor_weight`."""
    if not options.neighbor_weight:
        return None
    return WeightedTerm(*neighbour_term(views, options.neighbor_weight), can_be_recorded=False)


# Name -> a function that makes the term.
TERMS: dict[str, Callable[[InitViews, FitOptions], WeightedTerm | None]] = {"neighbors": neighbours}


def objective_terms(views: InitViews, options: FitOptions) -> dict[str, WeightedTerm]:
    """Return the terms that the options ask for, by name."""
    made = {name: make(views, options) for name, make in TERMS.items()}
    return {name: term for name, term in made.items() if term is not None}
