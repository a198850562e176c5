"""Scores that make a normal distribution comparable with a distribution of counts, of zeros and ones, or of classes."""

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr
from scipy.stats import norm

Matrix = Float[np.ndarray, "N M"]
# Probabilities made of predicted means are kept so far away from 0 and 1, as they may be anything.
CLIP = 1e-3


def log_interval(Y: Matrix, mean: Matrix, std: Matrix, *, highest: float = np.inf, logs: bool = False) -> Matrix:
    """Give the log probability that normal variables, rounded to the integers 0 to `highest`, are Y.

    Everything below 1/2 counts as 0, and everything above `highest` - 1/2 as `highest`. So the probabilities of all
    values sum to one, as those of a count model do, and none is lost to values that cannot be.

    Args:
        Y: integers.
        mean: of the normal variables.
        std: their standard deviations.
        highest: the largest value there is.
        logs: whether the normal variables are log(1 + y) rather than y.
    """
    link = np.log1p if logs else np.asarray
    lower = np.where(Y <= 0, -np.inf, (link(np.maximum(Y - 0.5, 0.0)) - mean) / std)
    upper = np.where(highest <= Y, np.inf, (link(Y + 0.5) - mean) / std)
    # Phi(b) - Phi(a) = Phi(-a) - Phi(-b): take the side on which both are small
    right = lower + np.where(np.isinf(upper), lower, upper) > 0
    low, high = np.where(right, -upper, lower), np.where(right, -lower, upper)
    with np.errstate(divide="ignore"):
        return log_ndtr(high) + np.log1p(-np.exp(log_ndtr(low) - log_ndtr(high)))


def mean_log_interval(Y: Matrix, mean: Matrix, std: Matrix, *, highest: float = np.inf, logs: bool = False) -> float:
    """Give the mean of `log_interval` over entries."""
    return float(log_interval(Y, mean, std, highest=highest, logs=logs).mean())


def mean_log_normal(Y: Matrix, mean: Matrix, std: Matrix) -> float:
    """Give the mean log density of entries under normal distributions."""
    return float(norm.logpdf(Y, mean, std).mean())


def log_loss(bits: Matrix, share: Matrix) -> float:
    """Give the mean log loss of probabilities of ones, in nats per entry."""
    return float(-np.log(np.where(bits == 1, share, 1 - share)).mean())


def clipped(means: Matrix, least: float = CLIP) -> Matrix:
    """Make probabilities of predicted means."""
    return np.clip(means, least, 1 - least)


def class_shares(means: Matrix) -> Matrix:
    """Make probabilities of classes of predicted one-hot columns."""
    shares = clipped(means)
    return shares / shares.sum(axis=1, keepdims=True)


def mean_log_share(codes: np.ndarray, shares: Matrix) -> float:
    """Give the mean log probability of the classes that there were, by their numbers."""
    return float(np.log(shares[np.arange(len(codes)), codes]).mean())
