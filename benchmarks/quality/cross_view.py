"""Measurements of cross-view prediction: missing entries, missing views, and out-of-sample rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.decomposition import PCA
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  # lets IterativeImputer be imported
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import BayesianRidge, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor

from benchmarks.cells import Cell, Measurement
from benchmarks.quality.out_of_sample import LATENT_TASKS, OURS
from benchmarks.quality.prediction_scores import (
    QUICK_STEPS,
    ColumnUnits,
    Metrics,
    calibration,
    fit_model,
    reduced,
    rmse,
)
from mvlvm import baselines
from mvlvm.datasets import load

Matrix = Float[np.ndarray, "N M"]
# A view; views have the same rows and different columns.
ViewMatrix = Float[np.ndarray, "N _"]

COLUMN_MEANS = "column means"
_PENALTIES = np.logspace(-2, 5, 15)
_RNA = ("mrna", "mirna")
_MOFA_STEPS = 1000


def ridge() -> RidgeCV:
    """Return a ridge regression that chooses its penalty by leave-one-out cross-validation."""
    return RidgeCV(alphas=_PENALTIES)


def mofa_reconstruction(cell: Cell, views: Mapping[str, ViewMatrix], n_factors: int) -> Mapping[str, ViewMatrix]:
    """Return the reconstruction of every entry, observed or missing, by multi-omics factor analysis."""
    max_iter = QUICK_STEPS if cell.is_quick else _MOFA_STEPS
    est = baselines.get("MOFA")(n_components=n_factors, max_iter=max_iter, random_state=cell.seed)
    return est.fit(dict(views)).reconstruct()


# --- digits-halves: the right half of a digit from its left half, on out-of-sample rows ---


@dataclass(frozen=True)
class DigitHalves:
    """Halves of digits: training rows and test rows."""

    left: Float[np.ndarray, "N L"]
    right: Float[np.ndarray, "N R"]
    new_left: Float[np.ndarray, "K L"]
    new_right: Float[np.ndarray, "K R"]

    @classmethod
    def of(cls, cell: Cell) -> "DigitHalves":
        """Hold out a fifth of the rows."""
        data = reduced(cell, load("digits-halves"))
        parts = train_test_split(*data.values(), test_size=0.2, random_state=cell.seed)
        left, new_left, right, new_right = map(np.asarray, parts)
        return cls(left, right, new_left, new_right)

    def score(self, predicted: Matrix) -> Metrics:
        """Score a prediction of the right halves of the test rows."""
        units = ColumnUnits.of(self.right)
        return {"RMSE": rmse(units.apply(self.new_right), units.apply(predicted))}


def digits_model(cell: Cell) -> Metrics:
    """Predict with NG-MVLVM, fitted to both halves of the training rows."""
    halves = DigitHalves.of(cell)
    est = fit_model(cell, {"left": halves.left, "right": halves.right}, n_components=8)
    mean, std = est.predict({"left": halves.new_left}, target="right", return_std=True)
    units = ColumnUnits.of(halves.right)
    intervals = calibration(units.apply(halves.new_right), units.apply(mean), units.apply_to_std(std))
    return {**halves.score(mean), **intervals, "tempering": est.model_.predictor.tempering["right"].from_others}


def digits_regression(make: Callable[[], Any], cell: Cell) -> Metrics:
    """Predict with a regression on the pixels of the left half, which all have the same unit."""
    halves = DigitHalves.of(cell)
    return halves.score(make().fit(halves.left, halves.right).predict(halves.new_left))


def digits_means(cell: Cell) -> Metrics:
    """Predict the mean of every column."""
    halves = DigitHalves.of(cell)
    return halves.score(np.broadcast_to(halves.right.mean(axis=0), halves.new_right.shape))


# --- mfeat: imputation of the missing entries of six views ---


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

    views: Mapping[str, ViewMatrix]
    units: Mapping[str, ColumnUnits]
    truth: Matrix
    removed: Bool[np.ndarray, "N M"]
    scattered: Bool[np.ndarray, "N M"]

    @classmethod
    def of(cls, cell: Cell) -> "IncompleteViews":
        """Remove a fifth of the row-view pairs, and a fifth of the remaining entries."""
        data, rng = reduced(cell, load("mfeat")), np.random.default_rng(cell.seed)
        n_rows = len(data["fou"])
        lacks = rng.random((n_rows, len(data))) < 0.2
        lacks[lacks.all(axis=1), rng.integers(len(data))] = False  # a row without observed entries cannot be imputed
        views, units, truth, removed, scattered = {}, {}, [], [], []
        for (name, values), gone in zip(data.items(), lacks.T, strict=True):
            Y = values.astype(float)
            missing = ~gone[:, None] & (rng.random(Y.shape) < 0.2)
            views[name] = np.where(gone[:, None] | missing, np.nan, Y)
            units[name] = ColumnUnits.of(views[name])
            truth.append(units[name].apply(Y))
            removed.append(np.broadcast_to(gone[:, None], Y.shape)[:, units[name].varies])
            scattered.append(missing[:, units[name].varies])
        return cls(views, units, np.hstack(truth), np.hstack(removed), np.hstack(scattered))

    @property
    def table(self) -> Matrix:
        """Table with missing entries."""
        return np.where(self.removed | self.scattered, np.nan, self.truth)

    def score(self, imputed: Matrix) -> Metrics:
        """Score an imputed table."""
        parts = {"all": self.removed | self.scattered, "views": self.removed, "entries": self.scattered}
        return {f"RMSE {name}": rmse(self.truth[part], imputed[part]) for name, part in parts.items()}


def mfeat_model(cell: Cell) -> Metrics:
    """Impute with NG-MVLVM."""
    incomplete = IncompleteViews.of(cell)
    imputed, std = fit_model(cell, incomplete.views, n_components=10, scale="column").impute(return_std=True)
    mean = np.hstack([units.apply(imputed[name]) for name, units in incomplete.units.items()])
    width = np.hstack([units.apply_to_std(std[name]) for name, units in incomplete.units.items()])
    truth = np.where(incomplete.removed | incomplete.scattered, incomplete.truth, np.nan)
    return {**incomplete.score(mean), **calibration(truth, mean, width)}


def mfeat_mofa(cell: Cell) -> Metrics:
    """Impute with linear factors, of the same number as the latent dimensions of NG-MVLVM."""
    incomplete = IncompleteViews.of(cell)
    tables = {name: units.apply(incomplete.views[name]) for name, units in incomplete.units.items()}
    imputed = mofa_reconstruction(cell, tables, 10)
    return incomplete.score(np.hstack([imputed[name] for name in tables]))


def mfeat_imputer(make: Callable[[Cell], Any], cell: Cell) -> Metrics:
    """Impute with an imputer of scikit-learn."""
    incomplete = IncompleteViews.of(cell)
    return incomplete.score(make(cell).fit_transform(incomplete.table))


def chained_ridge(cell: Cell) -> IterativeImputer:
    """Return an imputer that iteratively regresses every column on fifty others."""
    n_rounds = 1 if cell.is_quick else 5
    return IterativeImputer(BayesianRidge(), n_nearest_features=50, max_iter=n_rounds, random_state=cell.seed)


# --- breast-tcga: the proteins of patients from their RNA ---


@dataclass(frozen=True)
class ProteinSplit:
    """Patients with and without proteins.

    Attributes:
        views: view name -> columns in their original units.
        test: rows whose proteins are known but removed.
        train: rows with observed proteins.
    """

    views: Mapping[str, ViewMatrix]
    test: Int[np.ndarray, " K"]
    train: Int[np.ndarray, " R"]

    @classmethod
    def of(cls, cell: Cell) -> "ProteinSplit":
        """Remove the proteins of fifty patients."""
        views = {name: Y.astype(float) for name, Y in load("breast-tcga").items()}
        measured = np.flatnonzero(~np.isnan(views["protein"]).all(axis=1))
        train, test = train_test_split(measured, test_size=50, random_state=cell.seed)
        return cls(views, np.sort(test), np.sort(train))

    @property
    def units(self) -> ColumnUnits:
        """Units of the observed proteins."""
        return ColumnUnits.of(self.views["protein"][self.train])

    @property
    def standardised(self) -> dict[str, ViewMatrix]:
        """All rows in units of their observed entries; removed proteins are NaN."""
        proteins = self.units.apply(self.views["protein"])
        proteins[self.test] = np.nan
        return {
            **{name: ColumnUnits.of(self.views[name]).apply(self.views[name]) for name in _RNA},
            "protein": proteins,
        }

    @property
    def truth(self) -> Matrix:
        """Removed proteins, in units of the observed ones."""
        return self.units.apply(self.views["protein"][self.test])


def breast_model(cell: Cell) -> Metrics:
    """Predict with NG-MVLVM, fitted without the test rows."""
    split = ProteinSplit.of(cell)
    others = np.setdiff1d(np.arange(len(split.views["protein"])), split.test)
    est = fit_model(cell, {name: Y[others] for name, Y in split.views.items()}, n_components=10)
    rna = {name: split.views[name][split.test] for name in _RNA}
    mean, std = est.predict(rna, target="protein", return_std=True)
    predicted, width = split.units.apply(mean), split.units.apply_to_std(std)
    tempering = est.model_.predictor.tempering["protein"].from_others
    intervals = calibration(split.truth, predicted, width)
    return {"RMSE": rmse(split.truth, predicted), **intervals, "tempering": tempering}


def breast_mofa(n_factors: int, cell: Cell) -> Metrics:
    """Predict with linear factors, fitted to all rows including the RNA of the test rows."""
    split = ProteinSplit.of(cell)
    predicted = mofa_reconstruction(cell, split.standardised, n_factors)["protein"]
    return {"RMSE": rmse(split.truth, predicted[split.test])}


def breast_ridge(n_scores: int, cell: Cell) -> Metrics:
    """Predict by ridge regression on principal scores of both RNA views, computed from all rows."""
    split = ProteinSplit.of(cell)
    known = split.standardised
    scores = np.hstack([PCA(n_scores, svd_solver="full").fit_transform(known[name]) for name in _RNA])
    predicted = ridge().fit(scores[split.train], known["protein"][split.train]).predict(scores[split.test])
    return {"RMSE": rmse(split.truth, predicted)}


def breast_means(cell: Cell) -> Metrics:
    """Predict the mean of every column."""
    truth = ProteinSplit.of(cell).truth
    return {"RMSE": rmse(truth, np.zeros_like(truth))}


# Data set -> method -> function of a cell.
PREDICTION_TASKS: Mapping[str, Mapping[str, Callable[[Cell], Metrics]]] = {
    "digits-halves": {
        OURS: digits_model,
        "ridge": partial(digits_regression, ridge),
        "5-NN": partial(digits_regression, partial(KNeighborsRegressor, 5)),
        "10-NN": partial(digits_regression, partial(KNeighborsRegressor, 10)),
        COLUMN_MEANS: digits_means,
    },
    "mfeat": {
        OURS: mfeat_model,
        COLUMN_MEANS: partial(mfeat_imputer, lambda cell: SimpleImputer()),
        "KNNImputer, 5": partial(mfeat_imputer, lambda cell: KNNImputer(n_neighbors=5)),
        "KNNImputer, 10": partial(mfeat_imputer, lambda cell: KNNImputer(n_neighbors=10)),
        "MOFA, 10 factors": mfeat_mofa,
        "IterativeImputer": partial(mfeat_imputer, chained_ridge),
    },
    "breast-tcga": {
        OURS: breast_model,
        **{f"MOFA, {n} factors": partial(breast_mofa, n) for n in (2, 5, 10)},
        **{f"ridge on {n} scores per view": partial(breast_ridge, n) for n in (5, 10, 20, 50)},
        COLUMN_MEANS: breast_means,
    },
    **LATENT_TASKS,
}


def measure_prediction(cell: Cell) -> Measurement:
    """Measure a cell of the study."""
    return Measurement(PREDICTION_TASKS[cell.data][cell.method](cell))
