"""Scores that make a normal distribution comparable with distributions of counts, binary data or classes."""

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr
from scipy.stats import norm

Matrix = Float[np.ndarray, "N M"]
# Predicted means are unbounded; they are clipped to this distance from 0 and 1.
CLIP = 1e-3


def log_interval(Y: Matrix, mean: Matrix, std: Matrix, *, highest: float = np.inf, logs: bool = False) -> Matrix:
    """Return the log probability that normal variables, rounded to the integers 0 to `highest`, equal Y.

    Values below 1/2 are rounded to 0, and values above `highest` - 1/2 to `highest`. The probabilities of all values
    therefore sum to one, as those of a count model, without mass on impossible values.

    Args:
        Y: integers.
        mean: means of the normal variables.
        std: standard deviations of the normal variables.
        highest: largest possible value.
        logs: whether the normal variables are log(1 + y) rather than y.
    """
    link = np.log1p if logs else np.asarray
    lower = np.where(Y <= 0, -np.inf, (link(np.maximum(Y - 0.5, 0.0)) - mean) / std)
    upper = np.where(highest <= Y, np.inf, (link(Y + 0.5) - mean) / std)
    # Phi(b) - Phi(a) = Phi(-a) - Phi(-b): use the tail in which both terms are small
    right = lower + np.where(np.isinf(upper), lower, upper) > 0
    low, high = np.where(right, -upper, lower), np.where(right, -lower, upper)
    with np.errstate(divide="ignore"):
        return log_ndtr(high) + np.log1p(-np.exp(log_ndtr(low) - log_ndtr(high)))


def mean_log_interval(Y: Matrix, mean: Matrix, std: Matrix, *, highest: float = np.inf, logs: bool = False) -> float:
    """Return the mean of `log_interval` over entries."""
    return float(log_interval(Y, mean, std, highest=highest, logs=logs).mean())


def mean_log_normal(Y: Matrix, mean: Matrix, std: Matrix) -> float:
    """Return the mean log density of entries under normal distributions."""
    return float(norm.logpdf(Y, mean, std).mean())


def log_loss(bits: Matrix, share: Matrix) -> float:
    """Return the mean log loss of probabilities of ones, in nats per entry."""
    return float(-np.log(np.where(bits == 1, share, 1 - share)).mean())


def clipped(means: Matrix, least: float = CLIP) -> Matrix:
    """Clip predicted means to probabilities."""
    return np.clip(means, least, 1 - least)


def class_shares(means: Matrix) -> Matrix:
    """Normalise predicted one-hot columns to class probabilities."""
    shares = clipped(means)
    return shares / shares.sum(axis=1, keepdims=True)


def mean_log_share(codes: np.ndarray, shares: Matrix) -> float:
    """Return the mean log probability of the true classes, given by index."""
    return float(np.log(shares[np.arange(len(codes)), codes]).mean())
