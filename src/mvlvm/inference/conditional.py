r"""Prediction of a view from others by the latents and by regression on the given views.

The latents hold what all views have in common in a few dimensions; what the given views know about the target beyond
that is lost to predictions that pass through them. The conditional layer adds it. With the latent prediction F of the
target, standardised columns u of the given views S, and a Gaussian process g,

    y = m + a F + g(u_S) + e,    0 <= a <= 1

is stacked with the mean of the nearest neighbours. The coefficient a, the kernel of g and the weights of the stack are
chosen by leave-one-out errors, which have closed forms (`kernel_regression.py`); latent predictions of training rows
are those of folds that do not contain them (`held_out_latents.py`).

The variance of entry m of row i is a sum of four parts with non-negative weights of highest leave-one-out likelihood,

    V_im = s_m^2 (w_0 + w_1 v_i / mean(v) + w_2 q_i / mean(q) + w_3 h_im / mean_i(h_m))

with the leave-one-out error s_m^2 of the column, the variance v of the regression, the squared errors q of the
neighbours, and the variance h of the latent prediction. Beyond the distances at which training rows have their
neighbours, nothing was learned about errors: there the variance grows in proportion to the squared distance.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.optimize import minimize, nnls

from mvlvm.inference.kernel_regression import (
    MAX_PARAMETER_ROWS,
    Blend,
    Columns,
    KernelRegression,
    Matrix,
    ViewKernel,
    choose_blend,
    choose_kernels,
    project_targets,
    squared_distances,
)
from mvlvm.inference.missing_columns import draw_missing

# With fewer rows there is nothing to learn a regression from, or weights of a stack.
MIN_ROWS, _MIN_STACK_ROWS = 10, 100
_N_NEIGHBOURS = 10
# Bounds of the log weights of the parts of the variance.
_LOG_WEIGHT_RANGE = (-9.0, 2.0)
_TINY = 1e-12
# Added to mean squared errors in standardised columns, which may be zero.
_SMALL_ERROR = 1e-9


class KnownRows(NamedTuple):
    """What a layer knows about rows whose target it predicts.

    Attributes:
        given: the columns of all given views, side by side.
        latent: latent predictions of the target.
        latent_variance: variances of the target's function under the posterior of the latents.
    """

    given: Columns
    latent: Matrix
    latent_variance: Matrix


class LayerChoice(NamedTuple):
    """What is chosen when a layer is fitted; everything else follows from it and the training rows.

    Attributes:
        kernel: the kernel of the regression.
        noise: its noise variance.
        share: the coefficient a of the latent prediction.
    """

    kernel: ViewKernel
    noise: float
    share: float


class LayerPrediction(NamedTuple):
    """Predicted entries of the target.

    Attributes:
        mean: predicted means.
        variance: variances of the entries.
        function_variance: the part of them that is not noise.
    """

    mean: Matrix
    variance: Matrix
    function_variance: Matrix


class Sources(NamedTuple):
    """Where predictions of a target come from, by leave-one-out predictions of the training rows.

    Shares are covariances of a part of the prediction with the target, relative to the variance of the target.

    Attributes:
        n_rows: number of training rows.
        latent_coefficient: the coefficient a of the latent prediction.
        regression_weight: weight of a F + g in the stack.
        neighbour_weight: weight of the nearest neighbours in the stack.
        latent_share: share of the target's variance that is predicted by a F.
        view_share: share of it that is predicted by g, from the given views directly.
        neighbour_share: share of it that is predicted by the nearest neighbours.
        rmse: root mean squared error in standardised columns.
        latent_rmse: that of the latent prediction alone.
    """

    n_rows: int
    latent_coefficient: float
    regression_weight: float
    neighbour_weight: float
    latent_share: float
    view_share: float
    neighbour_share: float
    rmse: float
    latent_rmse: float


@dataclass(frozen=True)
class Standardisation:
    """Means and standard deviations of columns; constant columns have the standard deviation one."""

    mean: Float[np.ndarray, " C"]
    std: Float[np.ndarray, " C"]

    @classmethod
    def of(cls, Y: Matrix) -> "Standardisation":
        """Return the units of columns."""
        std = Y.std(axis=0)
        return cls(Y.mean(axis=0), np.where(std > _TINY, std, 1.0))

    def apply(self, Y: Matrix) -> Matrix:
        """Return entries in these units."""
        return (Y - self.mean) / self.std


@dataclass(frozen=True)
class NearestRows:
    """Nearest training rows by the distance in which all columns have equal weight.

    Attributes:
        given: standardised columns of the training rows.
        k: number of neighbours.
        largest: the largest mean squared distance of a training row to its neighbours.
        typical: the mean squared distance between training rows.
    """

    given: Columns
    k: int
    largest: float
    typical: float

    @classmethod
    def of(cls, given: Columns) -> "tuple[NearestRows, Int[np.ndarray, '_ k']]":
        """Return the neighbours of the training rows among themselves."""
        k = min(_N_NEIGHBOURS, len(given) // 3)
        d = _distances(given, given)
        typical = float(d.mean())
        np.fill_diagonal(d, np.inf)
        indices, distance = _nearest(d, k)
        return cls(given, k, float(distance.max()), max(typical, _TINY)), indices

    def find(self, given: Columns) -> tuple[Int[np.ndarray, "n k"], Float[np.ndarray, " n"]]:
        """Return the neighbours of new rows, and by how far they exceed the distances of the training rows.

        The excess is relative to the mean distance between training rows: by so many times the variance of the target,
        entries at twice this distance differ if their variogram is linear.
        """
        indices, distance = _nearest(_distances(given, self.given), self.k)
        return indices, np.maximum(distance - self.largest, 0.0) / self.typical


class VarianceParts(NamedTuple):
    """The parts of the variance before they are weighted.

    Attributes:
        regression: variances of the regression, with its noise.
        neighbours: mean squared errors of the neighbours.
        latent: variances of the target's function under the posterior of the latents.
    """

    regression: Float[np.ndarray, " N"]
    neighbours: Float[np.ndarray, " N"]
    latent: Matrix

    def stacked(self) -> Float[np.ndarray, "4 N M"]:
        """Return the constant part and these parts, each for every entry."""
        regression, neighbours = self.regression[:, None], self.neighbours[:, None]
        return np.stack(np.broadcast_arrays(np.ones(1), regression, neighbours, self.latent))


@dataclass(frozen=True)
class VarianceModel:
    """The variance as a weighted sum of its parts.

    Attributes:
        weights: w_0 to w_3.
        squared_error: s_m^2 of every column.
        means: the means of all parts over the training rows.
    """

    weights: Float[np.ndarray, " 4"]
    squared_error: Float[np.ndarray, " M"]
    means: Float[np.ndarray, "4 1 M"]

    @classmethod
    def fit(cls, errors: Matrix, parts: VarianceParts) -> "VarianceModel":
        """Maximise the leave-one-out likelihood."""
        squares, stacked = np.square(errors), parts.stacked()
        squared_error, means = squares.mean(axis=0) + _SMALL_ERROR, stacked.mean(axis=1, keepdims=True) + _TINY
        relative, ratio = stacked / means, squares / squared_error

        def negative_log_likelihood(log_weights: Float[np.ndarray, " 4"]) -> tuple[float, Float[np.ndarray, " 4"]]:
            weights = np.exp(log_weights)
            V = np.tensordot(weights, relative, 1) + _TINY
            of_V = 0.5 * (1 / V - ratio / V**2) / V.size
            return float(0.5 * np.mean(np.log(V) + ratio / V)), weights * np.tensordot(relative, of_V, 2)

        start, bounds = np.full(4, np.log(0.25)), [_LOG_WEIGHT_RANGE] * 4
        found = minimize(negative_log_likelihood, start, jac=True, method="L-BFGS-B", bounds=bounds)
        return cls(np.exp(found.x), squared_error, means)

    def variance(self, parts: VarianceParts) -> Matrix:
        """Return the variance of every entry."""
        return self.squared_error * np.tensordot(self.weights, parts.stacked() / self.means, 1)

    def function_variance(self, parts: VarianceParts, noise: float) -> Matrix:
        """Return the variance without noise: that of the regression without its noise, and that of the latent."""
        of_function = parts._replace(regression=np.maximum(parts.regression - noise, 0.0))
        weights = self.weights * [0.0, 1.0, 0.0, 1.0]
        return self.squared_error * np.tensordot(weights, of_function.stacked() / self.means, 1)


@dataclass(frozen=True)
class ConditionalLayer:
    """Predictions of a target from given views, conditioned on training rows.

    Attributes:
        given_units: units of the given columns.
        target_units: units of the target.
        choice: the kernel, the noise and the coefficient of the latent prediction.
        latent: latent predictions of the training rows, and their variances.
        regression: the regression of Y - a F.
        coefficients: coefficients of the training rows in the regression.
        intercept: the estimated mean of Y - a F.
        stack: the constant and the weights of both predictions.
        neighbours: the nearest neighbours, and with them the given columns of the training rows.
        target: the target of the training rows, standardised.
        neighbour_errors: mean squared leave-one-out error of every training row relative to those of columns.
        variances: the weights of the variance.
        sources: where predictions come from.
    """

    given_units: Standardisation
    target_units: Standardisation
    choice: LayerChoice
    latent: tuple[Matrix, Matrix]
    regression: KernelRegression
    coefficients: Matrix
    intercept: Float[np.ndarray, " M"]
    stack: "Stack"
    neighbours: NearestRows
    target: Matrix
    neighbour_errors: Float[np.ndarray, " N"]
    variances: VarianceModel
    sources: Sources

    def predict(self, rows: KnownRows) -> LayerPrediction:
        """Predict the target of new rows, in the units of the rows; given entries may be missing (NaN).

        Predictions are averaged over draws of the missing entries, and the variance between draws is added.
        """
        B = self.given_units.apply(rows.given)
        if not np.isnan(B).any():
            return self._predict_complete(B, rows)
        draws = [self._predict_complete(filled, rows) for filled in draw_missing(B, self.neighbours.given)]
        means = np.stack([draw.mean for draw in draws])
        between = means.var(axis=0)
        variance, function_variance = (np.mean([draw[k] for draw in draws], axis=0) + between for k in (1, 2))
        return LayerPrediction(means.mean(axis=0), variance, function_variance)

    def _predict_complete(self, B: Columns, rows: KnownRows) -> LayerPrediction:
        """Predict from standardised given columns without missing entries."""
        F = self.target_units.apply(rows.latent)
        kernel, noise, share = self.choice
        K = kernel.matrix(B, self.neighbours.given)
        indices, excess = self.neighbours.find(B)
        mean = self.stack.combine(self.intercept + K @ self.coefficients + share * F, self.target[indices].mean(axis=1))
        v = self.regression.variance(K, kernel.diagonal(B)) + noise
        q = self.neighbour_errors[indices].mean(axis=1)
        parts = VarianceParts(v, q, rows.latent_variance / self.target_units.std**2)
        extrapolation = excess[:, None]
        variances = (
            self.variances.variance(parts) + extrapolation,
            self.variances.function_variance(parts, noise) + extrapolation,
        )
        units = self.target_units
        return LayerPrediction(units.mean + units.std * mean, *(units.std**2 * V for V in variances))

    @property
    def improves(self) -> bool:
        """Whether its leave-one-out error is smaller than that of the latent prediction alone."""
        return self.sources.rmse < self.sources.latent_rmse

    @property
    def n_bytes(self) -> int:
        """Memory of the largest arrays."""
        N = len(self.target)
        return 8 * N * (N + self.neighbours.given.shape[1] + 2 * self.target.shape[1])


class Stack(NamedTuple):
    """A weighted sum of predictions and a constant.

    Attributes:
        constant: of every column.
        weights: of the regression and of the neighbours.
    """

    constant: Float[np.ndarray, " M"]
    weights: Float[np.ndarray, " 2"]

    def combine(self, regression: Matrix, neighbours: Matrix) -> Matrix:
        """Return the weighted sum."""
        return self.constant + self.weights[0] * regression + self.weights[1] * neighbours


def fit_stack(Y: Matrix, regression: Matrix, neighbours: Matrix) -> Stack:
    """Fit non-negative weights of two predictions by least squares; of few rows, the regression alone is kept."""
    if len(Y) < _MIN_STACK_ROWS:
        return Stack(np.zeros(Y.shape[1]), np.array([1.0, 0.0]))
    means = [part.mean(axis=0) for part in (regression, neighbours)]
    parts = np.stack([(part - mean).ravel() for part, mean in zip((regression, neighbours), means, strict=True)])
    gram = parts @ parts.T
    factor = np.linalg.cholesky(gram + 1e-8 * np.trace(gram) * np.eye(2) + _TINY * np.eye(2))
    weights = nnls(factor.T, np.linalg.solve(factor, parts @ (Y - Y.mean(axis=0)).ravel()))[0]
    return Stack(Y.mean(axis=0) - weights[0] * means[0] - weights[1] * means[1], weights)


def choose_layer(
    rows: KnownRows, view_of: Int[np.ndarray, " C"], target: Matrix, generator: torch.Generator
) -> LayerChoice:
    """Choose the layer of one target and the views that it is predicted from by leave-one-out errors.

    Args:
        rows: the training rows; latent predictions are out of sample.
        view_of: the view of every given column.
        target: the target of these rows.
        generator: draws the rows that the parameters of the kernel are fitted to, and projections of wide targets.
    """
    A, units = Standardisation.of(rows.given).apply(rows.given), Standardisation.of(target)
    some = torch.randperm(len(A), generator=generator)[:MAX_PARAMETER_ROWS].numpy()
    projected = project_targets(units.apply(target), units.apply(rows.latent), generator)
    kernels = choose_kernels(A[some], view_of, *(part[some] for part in projected))
    kernel, blend = choose_blend(kernels, A, *projected)
    return LayerChoice(kernel, blend.regression.noise, blend.share)


def condition_layer(rows: KnownRows, target: Matrix, choice: LayerChoice) -> ConditionalLayer:
    """Condition a layer on training rows.

    Args:
        rows: the training rows; latent predictions are out of sample.
        target: the target of these rows.
        choice: the kernel, the noise and the coefficient of the latent prediction.
    """
    given_units, target_units = Standardisation.of(rows.given), Standardisation.of(target)
    A, Y, F = given_units.apply(rows.given), target_units.apply(target), target_units.apply(rows.latent)
    blend = Blend.of(choice.kernel.matrix(A, A), choice.noise, choice.share)
    residual = Y - choice.share * F

    neighbours, indices = NearestRows.of(A)
    predicted = Y - blend.errors(Y, F), Y[indices].mean(axis=1)
    stack = fit_stack(Y, *predicted)
    errors = Y - stack.combine(*predicted)
    relative_errors = (np.square(errors) / (np.square(errors).mean(axis=0) + _SMALL_ERROR)).mean(axis=1)
    parts = VarianceParts(
        blend.variance, relative_errors[indices].mean(axis=1), rows.latent_variance / target_units.std**2
    )
    return ConditionalLayer(
        given_units, target_units, choice, (rows.latent, rows.latent_variance), blend.regression,
        blend.regression.solve(residual), blend.regression.mean(residual), stack, neighbours, Y, relative_errors,
        VarianceModel.fit(errors, parts), find_sources(Y, F, predicted, choice.share, stack),
    )  # fmt: skip


def find_sources(Y: Matrix, F: Matrix, predicted: tuple[Matrix, Matrix], share: float, stack: Stack) -> Sources:
    """Divide leave-one-out predictions into their parts, and return the share of each in the target's variance."""
    centred = Y - Y.mean(axis=0)
    regression, neighbours = predicted
    w_regression, w_neighbours = map(float, stack.weights)
    scale = max(float(np.vdot(centred, centred)), _TINY)
    latent_share, view_share, neighbour_share = (
        weight * float(np.vdot(part, centred)) / scale
        for weight, part in (
            (w_regression * share, F), (w_regression, regression - share * F), (w_neighbours, neighbours),
        )
    )  # fmt: skip
    rmse, latent_rmse = (float(np.sqrt(np.mean(np.square(e)))) for e in (Y - stack.combine(*predicted), Y - F))
    return Sources(
        len(Y), share, w_regression, w_neighbours, latent_share, view_share, neighbour_share, rmse, latent_rmse
    )


def _distances(A: Columns, B: Columns) -> Float[np.ndarray, "_ _"]:
    """Return squared distances per column."""
    return squared_distances(A, B, np.full(A.shape[1], 1 / A.shape[1]))


def _nearest(d: Float[np.ndarray, "n N"], k: int) -> tuple[Int[np.ndarray, "n k"], Float[np.ndarray, " n"]]:
    """Return the k nearest rows and the mean of their distances."""
    indices = np.argpartition(d, k - 1, axis=1)[:, :k]
    return indices, np.take_along_axis(d, indices, axis=1).mean(axis=1)
