"""What a user may ask about the latent dimensions: how many all views share, and how many each has for itself."""

from collections.abc import Mapping, Sequence
from typing import Any

from mvlvm.checks import check_integer
from mvlvm.errors import ViewError
from mvlvm.models.private import Dimensions


def check_dimensions(n_components: int, n_private: Any, n_columns: Mapping[str, int]) -> Dimensions:
    """Resolve `n_private` for the views at hand.

    Args:
        n_components: dimensions that all views share.
        n_private: None, or view name -> number of its own dimensions.
        n_columns: view name -> number of its columns.

    Raises:
        ValueError: it is no dict of integers, or names a view that does not exist.
        ViewError: a view is to have more dimensions of its own than columns.
    """
    names: Sequence[str] = list(n_columns)
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
    return Dimensions(n_components, {name: k for name, k in private.items() if k})
