"""Calibration of predictive distributions.

A prediction is a normal distribution for every entry, given by its mean and standard deviation. The truth, means and
standard deviations are passed in any form accepted for views: matrices or DataFrames, lists or dicts of them, AnnData
or MuData. The entries of all views have equal weight. Two kinds of entries are excluded: entries whose truth is NaN,
and entries without a predictive distribution, for which the mean or standard deviation is NaN (a column that was never
observed in training) or the standard deviation is zero (a column that was constant in training).

Example:
    >>> from mvlvm import NGMVLVM, plots
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> views = {"a": np.sin(X @ rng.normal(size=(2, 5))), "b": np.cos(X @ rng.normal(size=(2, 4)))}
    >>> train, test = ({name: Y[rows] for name, Y in views.items()} for rows in (slice(40), slice(40, 60)))
    >>> est = NGMVLVM(max_iter=20, tol=0.0, random_state=0).fit(train)
    >>> mean, std = est.predict({"a": test["a"]}, target="b", return_std=True)
    >>> curve = reliability(test["b"], mean, std)
    >>> curve.n_entries
    80
    >>> figure = plots.plot_reliability({"b from a": curve})
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import erf

from mvlvm.checks import check_probability, listed
from mvlvm.errors import ViewError
from mvlvm.views.labels import json_labels
from mvlvm.views.layout import Container, unpack
from mvlvm.views.validation import as_matrix

LEVELS = tuple(percent / 100 for percent in (*range(5, 100, 5), 99))


@dataclass(frozen=True)
class Reliability:
    """Observed coverage of central intervals; unpacks as (expected, observed).

    Attributes:
        expected: nominal probabilities of the central intervals.
        observed: fraction of entries inside the intervals; smaller than expected if the standard deviations are too
            small.
        n_entries: number of entries evaluated.
        n_left_out: number of known entries without a predictive distribution, which were excluded.
    """

    expected: Float[np.ndarray, " L"]
    observed: Float[np.ndarray, " L"]
    n_entries: int
    n_left_out: int

    def __iter__(self) -> Iterator[Float[np.ndarray, " L"]]:
        yield self.expected
        yield self.observed

    @property
    def error(self) -> float:
        """Mean absolute difference between observed and expected coverage."""
        return float(np.abs(self.observed - self.expected).mean())


def coverage(truth: Any, mean: Any, std: Any, *, level: float = 0.95) -> float:
    """Compute the fraction of entries inside the central interval of a given probability.

    Args:
        truth: true values; NaN if unknown.
        mean: predictive means, in the same form.
        std: predictive standard deviations, in the same form.
        level: probability of the interval.

    Returns:
        The observed coverage, between 0 and 1.

    Raises:
        ViewError: The three inputs do not match, or there is no entry to evaluate.
        ValueError: `level` is not a probability.

    Example:
        >>> truth, mean = np.array([[0.3, -2.5], [np.nan, 1.2]]), np.zeros((2, 2))
        >>> round(coverage(truth, mean, np.ones((2, 2)), level=0.9), 3)
        0.667
    """
    level = check_probability(level, "level")
    return float((_pool(truth, mean, std).central_probability() <= level).mean())


def log_density(truth: Any, mean: Any, std: Any) -> float:
    r"""Compute the mean log predictive density of the truth, in nats per entry; higher is better.

    $$ -\tfrac12 \log 2\pi - \log s - \frac{(y - m)^2}{2 s^2}, \qquad \text{averaged over entries} $$

    The density has the inverse unit of the data, so that only predictions of the same entries in the same units can be
    compared. It is -inf if the squared standardised residual of an entry overflows.

    Args:
        truth: true values y; NaN if unknown.
        mean: predictive means m, in the same form.
        std: predictive standard deviations s, in the same form.

    Returns:
        The mean over all entries of all views.

    Raises:
        ViewError: The three inputs do not match, or there is no entry to evaluate.
    """
    pooled = _pool(truth, mean, std)
    with np.errstate(over="ignore"):
        return float(np.mean(-np.log(2 * np.pi) / 2 - np.log(pooled.std) - pooled.z**2 / 2))


def reliability(
    truth: Any, mean: Any, std: Any, *, levels: Sequence[float] | Float[np.ndarray, " L"] = LEVELS
) -> Reliability:
    """Compute the fraction of entries inside central intervals of several probabilities.

    Args:
        truth: true values; NaN if unknown.
        mean: predictive means, in the same form.
        std: predictive standard deviations, in the same form.
        levels: probabilities of the intervals.

    Returns:
        The reliability curve, with one point per level.

    Raises:
        ViewError: The three inputs do not match, or there is no entry to evaluate.
        ValueError: `levels` is empty or contains a value that is not a probability.

    Example:
        >>> curve = reliability([[0.3, -2.5, 1.2]], np.zeros((1, 3)), np.ones((1, 3)), levels=(0.5, 0.9))
        >>> curve.observed.round(3), round(curve.error, 3)
        (array([0.333, 0.667]), 0.2)
    """
    expected = np.array([check_probability(level, "Every element of levels") for level in np.ravel(levels).tolist()])
    if not len(expected):
        raise ValueError("levels must contain at least one probability. Got none. Omit it for 0.05 to 0.99.")
    pooled = _pool(truth, mean, std)
    probability = pooled.central_probability()
    observed = np.array([(probability <= level).mean() for level in expected])
    return Reliability(expected, observed, len(probability), pooled.n_left_out)


@dataclass(frozen=True)
class _Pooled:
    """Entries of all views with known truth and a predictive distribution.

    Attributes:
        z: standardised residuals, z = (y - m) / s.
        std: standard deviations.
        n_left_out: number of known entries without a predictive distribution.
    """

    z: Float[np.ndarray, " E"]
    std: Float[np.ndarray, " E"]
    n_left_out: int

    def central_probability(self) -> Float[np.ndarray, " E"]:
        """Return the (E,) probabilities of the intervals that end at the truth, P(|Z| <= |z|) = erf(|z| / sqrt 2)."""
        return erf(np.abs(self.z) / np.sqrt(2))


def _pool(truth: Any, mean: Any, std: Any) -> _Pooled:
    unpacked = {part: unpack(form) for part, form in (("truth", truth), ("mean", mean), ("std", std))}
    _check_forms({part: container for part, (container, _) in unpacked.items()})
    given = {
        part: {view: table for view, table in tables.items() if table is not None or container.single}
        for part, (container, tables) in unpacked.items()
    }
    _check_names(given)
    rows = [_matching_entries({part: tables[view] for part, tables in given.items()}, view) for view in given["truth"]]
    y, m, s = np.concatenate([np.empty((3, 0)), *rows], axis=1)
    known = ~np.isnan(y)
    if not known.any():
        raise ViewError("All entries of truth are NaN. Provide at least one known entry.")
    evaluated = known & ~np.isnan(m) & (s > 0)
    if not evaluated.any():
        raise ViewError(
            f"None of the {known.sum()} known entries has a predictive distribution: mean or std is NaN, or std is "
            "zero. Evaluate columns that were observed and not constant in training."
        )
    with np.errstate(over="ignore"):  # an infinite standardised residual is acceptable
        return _Pooled((y - m)[evaluated] / s[evaluated], s[evaluated], int((known & ~evaluated).sum()))


def _matching_entries(tables: Mapping[str, Any], view: Any) -> Float[np.ndarray, "3 E"]:
    """Return the entries of truth, mean and std of one view as the rows of a (3, E) matrix."""
    arrays = {part: as_matrix(f"{view} of {part}", table) for part, table in tables.items()}
    if len({array.shape for array in arrays.values()}) > 1:
        shapes = ", ".join(f"{part}: {array.shape}" for part, array in arrays.items())
        raise ViewError(
            f"truth, mean and std of view '{view}' must have the same shape. Got {shapes}. "
            "Provide the same rows and columns in all three."
        )
    _check_labels(tables, view)
    for part, array in arrays.items():
        if np.isinf(array).any():
            raise ViewError(
                f"View '{view}' of {part} has {np.isinf(array).sum()} infinite entries. Use NaN for unknown entries."
            )
    if (arrays["std"] < 0).any():
        raise ViewError(
            f"Standard deviations must not be negative. Got {np.nanmin(arrays['std']):g} in view '{view}' of std. "
            "Pass the values returned by predict, impute or reconstruct with return_std=True."
        )
    return np.stack([array.ravel() for array in arrays.values()])


def _check_forms(containers: Mapping[str, Container]) -> None:
    """Check that all or none of the inputs are single matrices, since a single matrix has no view name."""
    for part in ("mean", "std"):
        if containers[part].single != containers["truth"].single:
            alone, among = ("truth", part) if containers["truth"].single else (part, "truth")
            form = f"a {containers[among]} of views"
            raise ViewError(
                f"truth, mean and std must have the same form. Got a single matrix for {alone} and {form} for {among}. "
                f"Select a view of {among}, for example {among}['b'], or pass {form} for {alone}, too."
            )


def _check_names(given: Mapping[str, Mapping[Any, Any]]) -> None:
    expected = list(given["truth"])
    for part in ("mean", "std"):
        if set(given[part]) != set(expected):
            raise ViewError(
                f"truth, mean and std must have the same views. Got {listed(expected)} in truth and "
                f"{listed(list(given[part]))} in {part}. Use the same view names in all three, and omit views that "
                "only some of them contain."
            )


def _check_labels(tables: Mapping[str, Any], view: Any) -> None:
    """Check that row and column labels agree, since entries are matched by position."""
    frames = [(part, table) for part, table in tables.items() if isinstance(table, pd.DataFrame)]
    for part, frame in frames[1:]:
        first_part, first = frames[0]
        if not (_same_labels(frame.index, first.index) and _same_labels(frame.columns, first.columns)):
            raise ViewError(
                f"Row or column labels of view '{view}' differ between {part} and {first_part}. "
                "Align them with .loc, or pass arrays."
            )


def _same_labels(one: Any, other: Any) -> bool:
    """Return whether labels agree, possibly after the conversion to text that saving a model applies to them."""
    return one.equals(other) or json_labels(one) == json_labels(other)
