"""Whether error bars are as wide as they should be.

A prediction is a normal distribution for every entry: a mean and a standard deviation. Truth, means and standard
deviations are handed over as views are: matrices or DataFrames, lists or dicts of them, AnnData or MuData. The entries
of all views count alike. Two kinds of entries are left out: those whose truth is NaN, because it is not known, and
those that come without a distribution, where the mean or the standard deviation is NaN (a column never observed in
training) or the standard deviation is zero (a column that was constant in training).

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
from jaxtyping import Float
from scipy.special import erf

from mvlvm.checks import check_probability, listed
from mvlvm.errors import ViewError
from mvlvm.optional_dependencies import is_dataframe
from mvlvm.views.labels import json_labels
from mvlvm.views.layout import Container, unpack
from mvlvm.views.validation import as_matrix

LEVELS = tuple(percent / 100 for percent in (*range(5, 100, 5), 99))


@dataclass(frozen=True)
class Reliability:
    """How often the truth fell inside intervals of given probability; it unpacks as (expected, observed).

    Attributes:
        expected: the probabilities of the central intervals.
        observed: the share of entries that lie inside; below the expected one, the error bars are too narrow.
        n_entries: how many entries were counted.
        n_left_out: how many more are known but came without a distribution.
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
        """The mean distance of the observed shares from the expected ones."""
        return float(np.abs(self.observed - self.expected).mean())


def coverage(truth: Any, mean: Any, std: Any, *, level: float = 0.95) -> float:
    """Give the share of entries inside the central interval of a given probability.

    Args:
        truth: what was to be predicted; NaN where it is not known.
        mean: the predicted means, in the same form.
        std: the predicted standard deviations, in the same form.
        level: the probability of the interval.

    Raises:
        ViewError: the three do not match, or there is no entry to count.
        ValueError: `level` is no probability.

    Example:
        >>> truth, mean = np.array([[0.3, -2.5], [np.nan, 1.2]]), np.zeros((2, 2))
        >>> round(coverage(truth, mean, np.ones((2, 2)), level=0.9), 3)
        0.667
    """
    level = check_probability(level, "level")
    return float((_pool(truth, mean, std).central_probability() <= level).mean())


def log_density(truth: Any, mean: Any, std: Any) -> float:
    r"""Give the mean log density of the truth, in nats per entry; the higher, the better.

    $$ -\tfrac12 \log 2\pi - \log s - \frac{(y - m)^2}{2 s^2}, \qquad \text{averaged over entries} $$

    A density has the unit of one over the data: compare only predictions of the same entries in the same units. It is
    -inf where a truth is more standard deviations away than floating point can square.

    Args:
        truth: what was to be predicted, y; NaN where it is not known.
        mean: the predicted means m, in the same form.
        std: the predicted standard deviations s, in the same form.

    Raises:
        ViewError: the three do not match, or there is no entry to count.
    """
    pooled = _pool(truth, mean, std)
    with np.errstate(over="ignore"):
        return float(np.mean(-np.log(2 * np.pi) / 2 - np.log(pooled.std) - pooled.z**2 / 2))


def reliability(
    truth: Any, mean: Any, std: Any, *, levels: Sequence[float] | Float[np.ndarray, " L"] = LEVELS
) -> Reliability:
    """Give the share of entries inside central intervals of several probabilities.

    Args:
        truth: what was to be predicted; NaN where it is not known.
        mean: the predicted means, in the same form.
        std: the predicted standard deviations, in the same form.
        levels: the probabilities of the intervals.

    Raises:
        ViewError: the three do not match, or there is no entry to count.
        ValueError: there are no levels, or one is no probability.

    Example:
        >>> curve = reliability([[0.3, -2.5, 1.2]], np.zeros((1, 3)), np.ones((1, 3)), levels=(0.5, 0.9))
        >>> curve.observed.round(3), round(curve.error, 3)
        (array([0.333, 0.667]), 0.2)
    """
    expected = np.array([check_probability(level, "Every one of levels") for level in np.ravel(levels).tolist()])
    if not len(expected):
        raise ValueError("levels must hold at least one probability. Got none. Leave it out for 0.05 to 0.99.")
    pooled = _pool(truth, mean, std)
    probability = pooled.central_probability()
    observed = np.array([(probability <= level).mean() for level in expected])
    return Reliability(expected, observed, len(probability), pooled.n_left_out)


@dataclass(frozen=True)
class _Pooled:
    """The entries of all views whose truth is known and which have a distribution.

    Attributes:
        z: residuals in standard deviations, z = (y - m) / s.
        std: standard deviations.
        n_left_out: known entries without a distribution.
    """

    z: Float[np.ndarray, " E"]
    std: Float[np.ndarray, " E"]
    n_left_out: int

    def central_probability(self) -> Float[np.ndarray, " E"]:
        """Give the probability of the central interval that ends at the truth, P(|Z| <= |z|) = erf(|z| / sqrt 2)."""
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
        raise ViewError("No entry of truth is known: all are NaN. Give at least one that is not.")
    counted = known & ~np.isnan(m) & (s > 0)
    if not counted.any():
        raise ViewError(
            f"None of the {known.sum()} known entries has a distribution: mean or std is NaN there, or std is zero. "
            "Judge columns that were observed and varied in training."
        )
    with np.errstate(over="ignore"):  # infinitely many standard deviations is near enough
        return _Pooled((y - m)[counted] / s[counted], s[counted], int((known & ~counted).sum()))


def _matching_entries(tables: Mapping[str, Any], view: Any) -> Float[np.ndarray, "3 E"]:
    """Give truth, mean and std of one view in three rows, entry by entry."""
    arrays = {part: as_matrix(f"{view} of {part}", table) for part, table in tables.items()}
    if len({array.shape for array in arrays.values()}) > 1:
        shapes = ", ".join(f"{part}: {array.shape}" for part, array in arrays.items())
        raise ViewError(
            f"truth, mean and std of view '{view}' must have the same shape. Got {shapes}. "
            "Give the same rows and columns in all three."
        )
    _check_labels(tables, view)
    for part, array in arrays.items():
        if np.isinf(array).any():
            raise ViewError(
                f"View '{view}' of {part} has {np.isinf(array).sum()} infinite entries. Put NaN where nothing is known."
            )
    if (arrays["std"] < 0).any():
        raise ViewError(
            f"Standard deviations must not be negative. Got {np.nanmin(arrays['std']):g} in view '{view}' of std. "
            "Give what predict, impute or reconstruct returned with return_std=True."
        )
    return np.stack([array.ravel() for array in arrays.values()])


def _check_forms(containers: Mapping[str, Container]) -> None:
    """A matrix alone has no name by which it could be found among others."""
    for part in ("mean", "std"):
        if containers[part].single != containers["truth"].single:
            alone, among = ("truth", part) if containers["truth"].single else (part, "truth")
            form = f"a {containers[among]} of views"
            raise ViewError(
                f"truth, mean and std must have the same form. Got one matrix for {alone} and {form} for {among}. "
                f"Give the view of {among} that is meant, for example {among}['b'], or {form} for {alone}, too."
            )


def _check_names(given: Mapping[str, Mapping[Any, Any]]) -> None:
    expected = list(given["truth"])
    for part in ("mean", "std"):
        if set(given[part]) != set(expected):
            raise ViewError(
                f"truth, mean and std must have the same views. Got {listed(expected)} in truth and "
                f"{listed(list(given[part]))} in {part}. Give all three with the same names, and leave out "
                "what only some of them have."
            )


def _check_labels(tables: Mapping[str, Any], view: Any) -> None:
    """Entries are matched by place; labels that differ say that this would be wrong."""
    frames = [(part, table) for part, table in tables.items() if is_dataframe(table)]
    for part, frame in frames[1:]:
        first_part, first = frames[0]
        if not (_same_labels(frame.index, first.index) and _same_labels(frame.columns, first.columns)):
            raise ViewError(
                f"Rows or columns of view '{view}' are labelled otherwise in {part} than in {first_part}. "
                "Put them in the same order with .loc, or give arrays."
            )


def _same_labels(one: Any, other: Any) -> bool:
    """Labels are the same if a saved model would hold them as the same: its predictions have those."""
    return one.equals(other) or json_labels(one) == json_labels(other)
