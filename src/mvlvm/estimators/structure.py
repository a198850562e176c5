"""What a user may ask about the latent dimensions: how many all views share, and how many each has for itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jaxtyping import Float
from torch import Tensor

from mvlvm.checks import check_integer
from mvlvm.errors import ViewError
from mvlvm.estimators.options import FitOptions, ViewOptions
from mvlvm.models.private import Dimensions
from mvlvm.models.private_start import with_room_for_private
from mvlvm.models.starting import n_directions


def check_dimensions(
    options: FitOptions,
    view_options: Mapping[str, ViewOptions],
    parameters: Mapping[str, Any],
    Ys: Mapping[str, Float[Tensor, "N _"]],
) -> Dimensions:
    """Resolve the latent dimensions for the views at hand.

    Args:
        options: how many all views share; if it is for us to find out, at most how many.
        view_options: the views' settings.
        parameters: parameter name -> value; `n_private` and `init` are looked at.
        Ys: view name -> scaled view.

    Raises:
        ValueError: `n_private` is no dict of integers, names a view that does not exist or one of weight zero.
        ViewError: a view is to have more dimensions of its own than columns.
    """
    private = _check_private(parameters["n_private"], {name: Y.shape[1] for name, Y in Ys.items()})
    for name in private:
        if view_options[name].weight == 0:
            raise ValueError(
                f"n_private gives view '{name}' dimensions of its own, but view_weights gives it no say in them. "
                "Give it a positive weight, or no private dimensions."
            )
    dimensions = Dimensions(options.n_components, private)
    if options.prune and isinstance(parameters["init"], str):
        return _as_many_as_can_start(dimensions, {name: Y for name, Y in Ys.items() if view_options[name].weight})
    return dimensions


def _as_many_as_can_start(dimensions: Dimensions, Ys: Mapping[str, Float[Tensor, "N _"]]) -> Dimensions:
    """Lower the number of shared dimensions to what the views have directions for, beside their private ones."""
    matrices, most = list(Ys.values()), dimensions.n_shared
    dimensions = replace(dimensions, n_shared=max(1, min(most, n_directions(matrices, most))))
    return with_room_for_private(matrices, list(Ys), dimensions) if dimensions.private else dimensions


def _check_private(n_private: Any, n_columns: Mapping[str, int]) -> dict[str, int]:
    """Give the private dimensions of views that have some."""
    names = list(n_columns)
    if n_private is not None and not isinstance(n_private, Mapping):
        raise ValueError(
            "n_private must be None, or a dict of view names and numbers of dimensions. "
            f"Got {n_private!r}. The views are: {', '.join(names)}."
        )
    given = dict(n_private or {})
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(
            f"n_private must name views. Got {', '.join(map(repr, unknown))}. The views are: {', '.join(names)}."
        )
    private = {name: check_integer(given[name], "n_private", at_least=0) for name in names if name in given}
    for name, k in private.items():
        if k > n_columns[name]:
            raise ViewError(
                f"n_private gives view '{name}' {k} dimensions of its own, more than its {n_columns[name]} column(s). "
                f"Give it at most {n_columns[name]}."
            )
    return {name: k for name, k in private.items() if k}
