"""Prediction of missing data: half of a digit, missing entries of six views, the proteins of patients."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  # lets IterativeImputer be imported
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor

from experiment import Effort, Experiment, Numbers
from mvlvm.datasets import load
from rivals import mofa, principal_scores, ridge
from scoring import Units, calibration, rmse

Matrix = Float[np.ndarray, "N M"]
Rows = Int[np.ndarray, " R"]


# --- digits-halves: the right half of a digit from its left half, on new rows ---


@dataclass(frozen=True)
class Halves:
    """Halves of digits: training rows and test rows."""

    left: Matrix
    right: Matrix
    new_left: Matrix
    new_right: Matrix

    @classmethod
    def of(cls, seed: int) -> "Halves":
        """Hold out a fifth of the rows."""
        data = load("digits-halves")
        left, new_left, right, new_right = train_test_split(*data.values(), test_size=0.2, random_state=seed)
        return cls(left, right, new_left, new_right)

    def score(self, guess: Matrix) -> Numbers:
        """Score a prediction of the right halves of the test rows."""
        units = Units.of(self.right)
        return {"RMSE": rmse(units.apply(self.new_right), units.apply(guess))}


def digits_ours(seed: int, effort: Effort) -> Numbers:
    """Predict with our model, fitted to both halves of the training rows."""
    halves = Halves.of(seed)
    est = effort.fit({"left": halves.left, "right": halves.right}, n_components=8, seed=seed)
    mean, std = est.predict({"left": halves.new_left}, target="right", return_std=True)
    units = Units.of(halves.right)
    judged = calibration(units.apply(halves.new_right), units.apply(mean), units.apply_to_std(std))
    return {**halves.score(mean), **judged, "tempering": est.model_.views["right"].tempering.from_others}


def digits_regression(make: Callable[[], Any], seed: int, effort: Effort) -> Numbers:
    """Predict with a regression on the pixels of the left half, which all have the same unit."""
    halves = Halves.of(seed)
    return halves.score(make().fit(halves.left, halves.right).predict(halves.new_left))


def digits_mean(seed: int, effort: Effort) -> Numbers:
    """Predict the mean of every column."""
    halves = Halves.of(seed)
    return halves.score(np.broadcast_to(halves.right.mean(axis=0), halves.new_right.shape))


# --- mfeat: impute the missing entries of six views ---


@dataclass(frozen=True)
class IncompleteViews:
    """Six views with missing entries; tables have the columns of all views, in units of their observed entries.

    Attributes:
        views: view name -> columns in their original units, NaN where missing.
        units: view name -> units of its columns.
        truth: the complete table.
        removed: entries that are missing because the row lacks the view.
        scattered: entries that are missing individually.
    """

    views: Mapping[str, Matrix]
    units: Mapping[str, Units]
    truth: Matrix
    removed: Bool[np.ndarray, "N M"]
    scattered: Bool[np.ndarray, "N M"]

    @property
    def table(self) -> Matrix:
        """Table with missing entries."""
        return np.where(self.removed | self.scattered, np.nan, self.truth)

    def score(self, guess: Matrix) -> Numbers:
        """Score an imputed table."""
        parts = {"all": self.removed | self.scattered, "views": self.removed, "entries": self.scattered}
        return {f"RMSE {name}": rmse(self.truth[part], guess[part]) for name, part in parts.items()}


@cache
def mfeat_incomplete(seed: int) -> IncompleteViews:
    """Remove a fifth of the row-view pairs, and a fifth of the remaining entries."""
    data, rng = load("mfeat"), np.random.default_rng(seed)
    n_rows = len(data["fou"])
    lacks = rng.random((n_rows, len(data))) < 0.2
    lacks[lacks.all(axis=1), rng.integers(len(data))] = False  # a row without observed entries cannot be imputed
    views, units, truth, removed, scattered = {}, {}, [], [], []
    for (name, Y), gone in zip(data.items(), lacks.T, strict=True):
        hidden = ~gone[:, None] & (rng.random(Y.shape) < 0.2)
        views[name] = np.where(gone[:, None] | hidden, np.nan, Y.astype(float))
        units[name] = Units.of(views[name])
        truth.append(units[name].apply(Y))
        removed.append(np.broadcast_to(gone[:, None], Y.shape)[:, units[name].varies])
        scattered.append(hidden[:, units[name].varies])
    return IncompleteViews(views, units, np.hstack(truth), np.hstack(removed), np.hstack(scattered))


def mfeat_ours(seed: int, effort: Effort) -> Numbers:
    """Impute with our model."""
    incomplete = mfeat_incomplete(seed)
    filled, std = effort.fit(incomplete.views, n_components=10, scale="column", seed=seed).impute(return_std=True)
    guess = np.hstack([units.apply(filled[name]) for name, units in incomplete.units.items()])
    width = np.hstack([units.apply_to_std(std[name]) for name, units in incomplete.units.items()])
    hidden = np.where(incomplete.removed | incomplete.scattered, incomplete.truth, np.nan)
    return {**incomplete.score(guess), **calibration(hidden, guess, width)}


def mfeat_mofa(seed: int, effort: Effort) -> Numbers:
    """Impute with linear factors, with the same number as our latent dimensions."""
    incomplete = mfeat_incomplete(seed)
    tables = {name: units.apply(incomplete.views[name]) for name, units in incomplete.units.items()}
    guess = mofa(tables, n_factors=10, n_iter=effort.mofa_iter, seed=seed)
    return incomplete.score(np.hstack([guess[name] for name in tables]))


def mfeat_imputer(make: Callable[[int, Effort], Any], seed: int, effort: Effort) -> Numbers:
    """Impute with an imputer of scikit-learn."""
    incomplete = mfeat_incomplete(seed)
    return incomplete.score(make(seed, effort).fit_transform(incomplete.table))


def chained_ridge(seed: int, effort: Effort) -> IterativeImputer:
    """Return an imputer that iteratively regresses every column on fifty others."""
    return IterativeImputer(
        BayesianRidge(), n_nearest_features=50, max_iter=effort.chained_rounds, random_state=seed
    )  # fmt: skip


# --- breast-tcga: the proteins of patients from their RNA ---


@dataclass(frozen=True)
class Patients:
    """Patients with and without proteins.

    Attributes:
        views: view name -> columns in their original units.
        hidden: rows whose proteins are known but removed.
        shown: rows with observed proteins.
    """

    views: Mapping[str, Matrix]
    hidden: Rows
    shown: Rows

    @classmethod
    def of(cls, seed: int) -> "Patients":
        """Remove the proteins of fifty patients."""
        views = {name: Y.astype(float) for name, Y in load("breast-tcga").items()}
        measured = np.flatnonzero(~np.isnan(views["protein"]).all(axis=1))
        shown, hidden = train_test_split(measured, test_size=50, random_state=seed)
        return cls(views, np.sort(hidden), np.sort(shown))

    @property
    def units(self) -> Units:
        """Units of the observed proteins."""
        return Units.of(self.views["protein"][self.shown])

    @property
    def standardised(self) -> dict[str, Matrix]:
        """All rows in units of their observed entries; removed proteins are NaN."""
        proteins = self.units.apply(self.views["protein"])
        proteins[self.hidden] = np.nan
        rna = {name: Units.of(self.views[name]).apply(self.views[name]) for name in ("mrna", "mirna")}
        return {**rna, "protein": proteins}

    @property
    def truth(self) -> Matrix:
        """Removed proteins, in units of the observed ones."""
        return self.units.apply(self.views["protein"][self.hidden])


def breast_ours(seed: int, effort: Effort) -> Numbers:
    """Predict with our model, fitted without the test rows."""
    patients = Patients.of(seed)
    others = np.setdiff1d(np.arange(len(patients.views["protein"])), patients.hidden)
    est = effort.fit({name: Y[others] for name, Y in patients.views.items()}, n_components=10, seed=seed)
    rna = {name: patients.views[name][patients.hidden] for name in ("mrna", "mirna")}
    mean, std = est.predict(rna, target="protein", return_std=True)
    guess, width = patients.units.apply(mean), patients.units.apply_to_std(std)
    judged = calibration(patients.truth, guess, width)
    tempering = est.model_.views["protein"].tempering.from_others
    return {"RMSE": rmse(patients.truth, guess), **judged, "tempering": tempering}


def breast_mofa(n_factors: int, seed: int, effort: Effort) -> Numbers:
    """Predict with linear factors, fitted to all rows including the test rows."""
    patients = Patients.of(seed)
    guess = mofa(patients.standardised, n_factors=n_factors, n_iter=effort.mofa_iter, seed=seed)
    return {"RMSE": rmse(patients.truth, guess["protein"][patients.hidden])}


def breast_ridge(n_scores: int, seed: int, effort: Effort) -> Numbers:
    """Predict by ridge regression on principal scores of both RNA views, computed from all rows."""
    patients = Patients.of(seed)
    known = patients.standardised
    scores = principal_scores([known["mrna"], known["mirna"]], n_scores)
    guess = ridge().fit(scores[patients.shown], known["protein"][patients.shown]).predict(scores[patients.hidden])
    return {"RMSE": rmse(patients.truth, guess)}


def breast_mean(seed: int, effort: Effort) -> Numbers:
    """Predict the mean of every column."""
    truth = Patients.of(seed).truth
    return {"RMSE": rmse(truth, np.zeros_like(truth))}


EXPERIMENTS = (
    Experiment("digits-halves", {
        "ours": digits_ours,
        "ridge": partial(digits_regression, ridge),
        "5-NN": partial(digits_regression, partial(KNeighborsRegressor, 5)),
        "10-NN": partial(digits_regression, partial(KNeighborsRegressor, 10)),
        "column means": digits_mean,
    }),
    Experiment("mfeat", {
        "ours": mfeat_ours,
        "column means": partial(mfeat_imputer, lambda seed, effort: SimpleImputer()),
        "KNNImputer, 5": partial(mfeat_imputer, lambda seed, effort: KNNImputer(n_neighbors=5)),
        "KNNImputer, 10": partial(mfeat_imputer, lambda seed, effort: KNNImputer(n_neighbors=10)),
        "mofapy2, 10 factors": mfeat_mofa,
        "IterativeImputer": partial(mfeat_imputer, chained_ridge),
    }),
    Experiment("breast-tcga", {
        "ours": breast_ours,
        **{f"mofapy2, {n} factors": partial(breast_mofa, n) for n in (2, 5, 10)},
        **{f"ridge on {n} scores a view": partial(breast_ridge, n) for n in (5, 10, 20, 50)},
        "column means": breast_mean,
    }),
)  # fmt: skip
