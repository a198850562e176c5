"""Binary digits with Bernoulli and Gaussian likelihoods."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float
from sklearn.model_selection import train_test_split

from discrete import clipped, log_loss
from experiment import Effort, Experiment, Numbers
from mvlvm.datasets import load

Matrix = Float[np.ndarray, "N M"]

_SIDE, _NEW_ROWS, _COMPONENTS = 28, 200, 10
_ROUNDING = 1e-7  # precision of the predicted probabilities


@dataclass(frozen=True)
class BinaryHalves:
    """Left and right halves of binary digits: training rows and new rows."""

    views: Mapping[str, Matrix]
    new: Mapping[str, Matrix]

    @classmethod
    def of(cls, seed: int) -> "BinaryHalves":
        """Draw digits, set pixels above half of the maximum to 1, and hold out rows."""
        images = load("r-mnist", random_state=seed)["image"].reshape(-1, _SIDE, _SIDE)
        bits = (images > images.max() / 2).astype(float)
        halves = (bits[:, :, : _SIDE // 2], bits[:, :, _SIDE // 2 :])
        left, new_left, right, new_right = train_test_split(
            *(half.reshape(len(bits), -1) for half in halves), test_size=_NEW_ROWS, random_state=seed
        )
        return cls({"left": left, "right": right}, {"left": new_left, "right": new_right})


def binary_ours(likelihood: str, seed: int, effort: Effort) -> Numbers:
    """Fit both halves; reconstruct the training rows, and predict the right half of new rows."""
    halves = BinaryHalves.of(seed)
    est = effort.fit(halves.views, n_components=_COMPONENTS, max_iter=1000, likelihood=likelihood, seed=seed)
    fitted, new = est.reconstruct(), est.predict({"left": halves.new["left"]}, target="right")
    # means of Gaussian views are not probabilities; those of Bernoulli views are, and only protected from rounding
    shares = clipped if likelihood == "gaussian" else partial(clipped, least=_ROUNDING)
    seen = np.hstack(list(halves.views.values()))
    return {
        "reconstructed": log_loss(seen, shares(np.hstack([fitted[name] for name in halves.views]))),
        "predicted": log_loss(halves.new["right"], shares(new)),
    }


def binary_means(seed: int, effort: Effort) -> Numbers:
    """Predict the smoothed share of ones of every pixel (one pseudo-count of each value)."""
    halves = BinaryHalves.of(seed)
    shares = {name: (Y.sum(axis=0) + 1) / (len(Y) + 2) for name, Y in halves.views.items()}
    seen = np.hstack(list(halves.views.values()))
    return {
        "reconstructed": log_loss(seen, np.hstack(list(shares.values()))),
        "predicted": log_loss(halves.new["right"], shares["right"]),
    }


EXPERIMENTS = (
    Experiment("binary-mnist", {
        "bernoulli": partial(binary_ours, "bernoulli"),
        "gaussian": partial(binary_ours, "gaussian"),
        "pixel means": binary_means,
    }),
)  # fmt: skip
