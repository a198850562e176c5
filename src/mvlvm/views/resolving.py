"""From the likelihoods that a user asks for to those that the views get."""

from collections.abc import Mapping
from typing import Any

from mvlvm.checks import check_choice
from mvlvm.errors import ViewError
from mvlvm.views.container import Views
from mvlvm.views.kinds import LIKELIHOODS, Guess, guess_likelihood
from mvlvm.views.per_view import per_view
from mvlvm.views.values import check_values


def resolve_likelihoods(asked: Any, views: Views) -> dict[str, Guess]:
    """Give the likelihood of every view, and why it has it.

    Label views are categorical, also where one likelihood is asked for all views. "auto" is guessed from the data.

    Args:
        asked: one likelihood for all views, or view name -> likelihood; one of `LIKELIHOODS`, or "auto".
        views: the training views.

    Raises:
        ValueError: there is no such likelihood.
        ViewError: a view's values are not of the kind that was asked for.
    """
    wishes = {
        name: check_choice(wish, "likelihood", (*LIKELIHOODS, "auto"))
        for name, wish in per_view(asked, views.names, "likelihood").items()
    }
    by_name = isinstance(asked, Mapping)
    resolved = {name: _resolve(name, wish, views, by_name=by_name) for name, wish in wishes.items()}
    for name, guess in resolved.items():
        check_values(name, views.arrays[name], guess.likelihood, views.classes.get(name))
    return resolved


def _resolve(name: str, wish: str, views: Views, *, by_name: bool) -> Guess:
    if name not in views.classes:
        return guess_likelihood(views.arrays[name]) if wish == "auto" else Guess(wish, "as asked")
    classes = views.classes[name]
    two = len(classes) == 2 and wish == "bernoulli"
    if by_name and wish not in ("auto", "categorical") and not two:
        numbers = "" if isinstance(classes[0], str) else ", or give its numbers as a matrix, view.reshape(-1, 1)"
        raise ViewError(
            f"View '{name}' holds labels and must be categorical. Got likelihood '{wish}' for it. "
            f"Give 'categorical' or 'auto'{numbers}."
        )
    return Guess("categorical", f"labels, {len(classes)} classes")
