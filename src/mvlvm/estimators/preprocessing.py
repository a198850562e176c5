"""From what a user hands over to what the model is fitted to: likelihoods chosen, labels encoded, numbers scaled."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from mvlvm.likelihoods import LIKELIHOODS, Support
from mvlvm.views.encoding import Encoding, check_known_classes, fit_encodings
from mvlvm.views.layout import Layout, Views, as_label_view
from mvlvm.views.likelihood_inference import InferredLikelihood, resolve_likelihoods
from mvlvm.views.scaling import Scaling, fit_scalings, has_missing, without_scaling
from mvlvm.views.validation import as_views

Arrays = Mapping[str, Float[np.ndarray, "N _"]]


@dataclass(frozen=True)
class PreparedViews:
    """Views as they came, and as likelihoods take them.

    Attributes:
        data: the views as they came; columns of classes are label views, whatever they looked like.
        guesses: view name -> likelihood, and why it was chosen.
        encodings: view name -> how its values are written for its likelihood.
    """

    data: Views
    guesses: Mapping[str, InferredLikelihood]
    encodings: Mapping[str, Encoding]

    @property
    def likelihoods(self) -> dict[str, str]:
        """View name -> likelihood."""
        return {name: guess.likelihood for name, guess in self.guesses.items()}

    def encoded(self) -> dict[str, Float[np.ndarray, "N _"]]:
        """Give every view as its likelihood takes it."""
        return {name: self.encodings[name].encode(name, Y) for name, Y in self.data.arrays.items()}


def prepare_views(views: Any, likelihood: Any) -> PreparedViews:
    """Let views in, and choose what they are.

    Args:
        views: as a user gives them.
        likelihood: what was asked for, one for all views or view name -> likelihood.
    """
    data = as_views(views)
    guesses = resolve_likelihoods(likelihood, data)
    for name, guess in guesses.items():
        if LIKELIHOODS[guess.likelihood].support is Support.ONE_HOT and data.arrays[name].shape[1] == 1:
            data = as_label_view(data, name)
    likelihoods = {name: guess.likelihood for name, guess in guesses.items()}
    return PreparedViews(data, guesses, fit_encodings(data, likelihoods))


@dataclass(frozen=True)
class Aside:
    """What is needed of the views once the model is trained; nothing else of them stays in memory meanwhile.

    Attributes:
        layout: their outer form.
        encodings: view name -> how its values are written for its likelihood.
        with_gaps: the views as they came, if they have gaps to be filled.
        rows: view name -> rows that do not count, as its likelihood takes them.
    """

    layout: Layout
    encodings: Mapping[str, Encoding]
    with_gaps: Views | None
    rows: Arrays


def set_aside(prepared: PreparedViews, rows: Int[np.ndarray, " n"]) -> Aside:
    """Put aside what is needed of the views once the model is trained.

    Args:
        prepared: the views.
        rows: those that do not count in training.
    """
    data, encodings = prepared.data, prepared.encodings
    with_gaps = None
    if any(has_missing(Y) for Y in data.arrays.values()):
        # what cannot be written to is the user's own, and may change until it is asked for
        with_gaps = replace(data, arrays={n: Y if Y.flags.writeable else Y.copy() for n, Y in data.arrays.items()})
    chosen = {name: encodings[name].encode(name, Y[rows]) for name, Y in data.arrays.items()}
    return Aside(data.layout, encodings, with_gaps, chosen)


def choose_scalings(
    prepared: PreparedViews, scales: Mapping[str, Any], encoded: Arrays, counting: Arrays
) -> dict[str, Scaling]:
    """Choose how views are centred and scaled; counts, classes and the like are not.

    Args:
        prepared: the views.
        scales: view name -> what was asked for.
        encoded: view name -> view as its likelihood takes it.
        counting: the same with nothing seen in rows that do not count.

    Raises:
        ViewError: a view does not vary, or rows that do not count have a class of their own.
    """
    wanted = {name: scales[name] if _is_real(prepared, name) else None for name in scales}
    columns = {**prepared.data.layout.columns, **prepared.data.classes}
    scalings = fit_scalings(counting, wanted, columns)
    for name, Y in encoded.items():
        if LIKELIHOODS[prepared.guesses[name].likelihood].support is Support.ONE_HOT:
            check_known_classes(name, Y, scalings[name].kept, columns.get(name))
    return {
        name: scaling if _is_real(prepared, name) else without_scaling(scaling) for name, scaling in scalings.items()
    }


def say_likelihoods(guesses: Mapping[str, InferredLikelihood]) -> None:
    """Show which likelihood every view has, and why."""
    for name, guess in guesses.items():
        print(f"View '{name}': {guess.likelihood} ({guess.reason})")


def _is_real(prepared: PreparedViews, name: str) -> bool:
    return LIKELIHOODS[prepared.guesses[name].likelihood].real_valued
