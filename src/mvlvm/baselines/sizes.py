"""How many components and neighbours there can be, said before a library says it in its own terms."""

from jaxtyping import Float
from numpy import ndarray

from mvlvm.baselines.base import Matrices


def most_directions(Y: Float[ndarray, "N M"]) -> int:
    """Give how many directions a centred matrix can have."""
    return min(len(Y) - 1, Y.shape[1])


def most_common_directions(views: Matrices) -> int:
    """Give how many directions every one of some centred views can have."""
    return min(most_directions(Y) for Y in views.values())


def check_components(method: str, n_components: int, most: int) -> None:
    """Say that there are more components than rows and columns allow.

    Raises:
        ValueError: there are.
    """
    if n_components > most:
        raise ValueError(
            f"{method} finds at most {most} components in views of this many rows and varying columns. "
            f"Got n_components={n_components}. Give n_components <= {most}, or take VAE or MVAE, which can have more."
        )


def check_below_rows(value: int | float, parameter: str, n_rows: int) -> None:
    """Say that a row has fewer others than it is to have neighbours.

    Raises:
        ValueError: it has.
    """
    if value >= n_rows:
        raise ValueError(
            f"{parameter} must be below the number of rows. Got {parameter}={value:g} for {n_rows} rows. "
            f"Lower {parameter}, or give more rows."
        )
