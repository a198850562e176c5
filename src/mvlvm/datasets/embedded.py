"""Real data that come with scikit-learn, so that nothing needs to be downloaded."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from sklearn.datasets import load_digits


@dataclass(frozen=True)
class DigitHalves:
    """Handwritten digits, cut into a left and a right half.

    Attributes:
        views: "left" and "right", 8 x 4 pixels each.
        labels: which digit.
    """

    views: dict[str, Float[np.ndarray, "N M"]]
    labels: Int[np.ndarray, " N"]


def digit_halves() -> DigitHalves:
    """Give scikit-learn's 1,797 digits of 8 x 8 pixels as two views.

    Example:
        >>> {name: Y.shape for name, Y in digit_halves().views.items()}
        {'left': (1797, 32), 'right': (1797, 32)}
    """
    pixels, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    images = pixels.reshape(-1, 8, 8)
    return DigitHalves(
        views={"left": images[:, :, :4].reshape(-1, 32), "right": images[:, :, 4:].reshape(-1, 32)}, labels=labels
    )
