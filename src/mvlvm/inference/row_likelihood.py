r"""The log likelihood of rows, over their observed entries, given the fitted functions of their views.

A Gaussian view has the predictive density of y itself, with the mean f and the variance v of the view's function,

$$ \log p(y) = -\tfrac12 \sum_{m\ \mathrm{observed}} \Big( \frac{(y_m - f_m)^2}{v_m} + \log 2\pi v_m \Big) $$

with the noise variance included in v. All other views use the expected log density, the same lower bound as in
training. For most likelihoods it is linear in y, so that all pairs of rows and candidate latents are matrix products.

**Complete rows** of a Gaussian view with one posterior of the weights have the same variance v in every column, and
their mean is f = B' phi. With the QR decomposition of B' (M x F) into Q and R,

    |y - f|^2 = |Q' y - R phi|^2 + |y - Q Q' y|^2

so that for wide views, neither the likelihood nor its derivatives need sums over the M columns once Q' y is known.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mvlvm.inference.view_function import ViewFunction
from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.models.weight_posterior import Prediction, WeightPosterior
from mvlvm.row_blocks import row_blocks

# The function of a view, and its rows; NaN marks missing entries.
ObservedRows = tuple[ViewFunction, Float[Tensor, "_ _"]]


class LogDensity(NamedTuple):
    """A log density at the latent of every row, with its gradient and its negative (Gauss-Newton) Hessian."""

    value: Float[Tensor, " N"]
    gradient: Float[Tensor, "N D"]
    neg_hessian: Float[Tensor, "N D D"]


class RowLikelihood:
    """The log likelihood of rows as a function of their latents, summed over views.

    Args:
        observed: the views, all with the same number of rows.
        jacobian_dtype: the dtype of the Jacobian with respect to the latents; values are always computed in float64.
    """

    def __init__(self, observed: Sequence[ObservedRows], jacobian_dtype: torch.dtype = torch.float64) -> None:
        self._terms = [term for function, Y in observed for term in _terms_of(function, Y, jacobian_dtype)]

    def __call__(self, X: Float[Tensor, "L D"], rows: Int[Tensor, " L"]) -> LogDensity:
        """Return the log likelihood at latents, with its derivatives.

        Args:
            X: the latents.
            rows: the row that each latent belongs to.
        """
        L, D = X.shape
        total = LogDensity(*(X.new_zeros(shape, dtype=torch.float64) for shape in ((L,), (L, D), (L, D, D))))
        for part in self._parts(X, rows):
            found = part.term(part.X, part.rows)
            for values, addition in zip(total, found, strict=True):
                values.index_add_(0, part.latents, addition.double())
        return total

    def _parts(self, X: Float[Tensor, "L D"], rows: Int[Tensor, " L"]) -> Iterator["_Part"]:
        """Divide the latents of every term into blocks."""
        for term in self._terms:
            own_rows = term.position[rows]
            latents = (own_rows >= 0).nonzero().squeeze(1)
            for block in row_blocks(len(latents), term.width * X.shape[1]):
                chosen = latents[block]
                yield _Part(term, chosen, X[chosen], own_rows[chosen])


class _Term(ABC):
    """The log likelihood of some rows of one view.

    Attributes:
        position: the position of every row among those of the term; -1 for all others.
        width: the number of columns of the largest array.
    """

    position: Int[Tensor, " N"]
    width: int

    @abstractmethod
    def __call__(self, X: Float[Tensor, "L D"], rows: Int[Tensor, " L"]) -> LogDensity:
        """Return the log likelihood at latents of these rows; the Gauss-Newton Hessian J' H J is semidefinite."""


class _Part(NamedTuple):
    """Some of the latents of a call, those whose rows a term contains.

    Attributes:
        term: the term.
        latents: the positions of these latents in the call.
        X: the latents.
        rows: their rows in the term.
    """

    term: _Term
    latents: Int[Tensor, " n"]
    X: Float[Tensor, "n D"]
    rows: Int[Tensor, " n"]


class _Entries(_Term):
    """Rows of any view, with or without missing entries."""

    def __init__(
        self, function: ViewFunction, Y: Float[Tensor, "N M"], rows: Bool[Tensor, " N"], dtype: torch.dtype
    ) -> None:
        self._function, self._Y, self._dtype = function, Y[rows].double(), dtype
        n_features, n_columns = function.posteriors[0].mean.shape
        self.position, self.width = _positions(rows), max(n_columns, len(function.posteriors) * n_features)

    def __call__(self, X: Float[Tensor, "L D"], rows: Int[Tensor, " L"]) -> LogDensity:
        around = self._function.linearise(X, self._dtype)
        row = row_log_likelihood(self._function.likelihood, self._Y[rows], around.moments)
        scaled = around.mean_jacobian().mul_(row.neg_hessian.sqrt()[:, None])
        gradient = around.gradient(row.grad_mean, row.grad_variance)
        return LogDensity(row.value, gradient, scaled @ scaled.transpose(1, 2))


class _CompleteRows(_Term):
    """Complete rows of a Gaussian view with one posterior of the weights, whose columns have the same variance."""

    def __init__(
        self,
        posterior: WeightPosterior,
        noise_variance: Tensor,
        Y: Float[Tensor, "N M"],
        rows: Bool[Tensor, " N"],
        dtype: torch.dtype,
    ) -> None:
        Y, self._R, (F, self._n_columns) = Y[rows].double(), posterior.mean.T, posterior.mean.shape
        self._projection, self._outside = Y, Y.new_zeros(len(Y))
        if self._n_columns > F:
            Q, self._R = torch.linalg.qr(posterior.mean.T)
            self._projection = Y @ Q
            self._outside = (Y - self._projection @ Q.T).square().sum(dim=1)
        self._posterior, self._dtype = posterior, dtype
        self._inflation, self._noise_variance = posterior.inflation[0], noise_variance.double()
        self.position, self.width = _positions(rows), F

    def __call__(self, X: Float[Tensor, "L D"], rows: Int[Tensor, " L"]) -> LogDensity:
        Phi, jacobian = self._posterior.features.with_jacobian(X, self._dtype)
        Phi = Phi.double()
        residual = self._projection[rows] - Phi @ self._R.T
        correlated = Phi @ self._posterior.covariance
        variance = self._inflation * (correlated * Phi).sum(dim=1) + self._noise_variance
        squares, precision = residual.square().sum(dim=1) + self._outside[rows], 1 / variance
        value = -0.5 * (squares * precision + self._n_columns * (2 * math.pi * variance).log())
        of_variance = 0.5 * precision * (squares * precision - self._n_columns)
        of_features = (
            precision[:, None] * (residual @ self._R) + 2 * self._inflation * of_variance[:, None] * correlated
        )
        gradient = (jacobian * of_features.to(jacobian)[:, None]).sum(dim=2)  # faster than a batched product
        J = jacobian @ self._R.T.to(jacobian)
        return LogDensity(value, gradient, precision[:, None, None] * (J @ J.transpose(1, 2)))


def _terms_of(function: ViewFunction, Y: Float[Tensor, "N M"], jacobian_dtype: torch.dtype) -> list[_Term]:
    """Divide the rows of a view that have entries into complete rows with a single variance, and all others."""
    missing = torch.isnan(Y)
    some, complete = ~missing.all(dim=1), ~missing.any(dim=1)
    (posterior, *others), likelihood = function.posteriors, function.likelihood
    terms: list[_Term] = []
    if (
        likelihood.noise is not None
        and isinstance(posterior, WeightPosterior)
        and (posterior.inflation == posterior.inflation[0]).all()
        and not others
        and complete.any()
    ):
        terms.append(_CompleteRows(posterior, likelihood.noise, Y, complete, jacobian_dtype))
        some &= ~complete
    return [*terms, _Entries(function, Y, some, jacobian_dtype)] if some.any() else terms


def _positions(rows: Bool[Tensor, " N"]) -> Int[Tensor, " N"]:
    """Return the position of every selected row among them, and -1 for all others."""
    return (rows.cumsum(dim=0) - 1).masked_fill(~rows, -1)


def row_log_density(
    Y: Float[Tensor, "N M"], mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"]
) -> Float[Tensor, " N"]:
    """Return the Gaussian log density of every row under its own prediction, (N,).

    Args:
        Y: the rows; NaN marks missing entries.
        mean: the predicted means f.
        variance: the predicted variances v.
    """
    terms = (Y - mean).square() / variance + (2 * math.pi * variance).log()
    return -0.5 * terms.masked_fill(torch.isnan(Y), 0.0).sum(dim=1)


def pairwise_row_log_density(
    Y: Float[Tensor, "N M"], mean: Float[Tensor, "A M"], variance: Float[Tensor, "A M"]
) -> Float[Tensor, "N A"]:
    """Return the Gaussian log density of N rows under each of A predictions, (N, A), by matrix products."""
    observed, filled = (~torch.isnan(Y)).to(mean), Y.nan_to_num(nan=0.0).to(mean)
    squares = filled.square() @ (1 / variance).T - 2 * filled @ (mean / variance).T
    return -0.5 * (squares + observed @ (mean.square() / variance + (2 * math.pi * variance).log()).T)


class RowLogLikelihood(NamedTuple):
    """The log likelihood of every row, with derivatives with respect to the mean and variance of f.

    Attributes:
        value: the sum over the observed entries of a row.
        grad_mean: the gradient with respect to the mean of f.
        grad_variance: the gradient with respect to the variance of f.
        neg_hessian: the negative second derivative with respect to the mean of f, clamped at zero.
    """

    value: Float[Tensor, " N"]
    grad_mean: Float[Tensor, "N M"]
    grad_variance: Float[Tensor, "N M"]
    neg_hessian: Float[Tensor, "N M"]


def row_log_likelihood(
    likelihood: AbstractLikelihood, Y: Float[Tensor, "N M"], predicted: Prediction
) -> RowLogLikelihood:
    """Return the log likelihood of every row under its own prediction, with derivatives; NaN marks missing entries."""
    if likelihood.noise is not None:
        return _gaussian_row_log_likelihood(Y, predicted.mean, predicted.variance + likelihood.noise)
    with torch.enable_grad():
        mean, variance = (values.detach().requires_grad_() for values in predicted)
        value = likelihood.expected_log_density(Y, mean, variance)
        grad_mean, grad_variance = torch.autograd.grad(value.sum(), (mean, variance))
    # d/dv E[log p] = E[(log p)''] / 2 under N(m, v), and d^2/dm^2 E[log p] = E[(log p)'']
    return RowLogLikelihood(value.detach().sum(dim=1), grad_mean, grad_variance, (-2 * grad_variance).clamp_min(0))


def pairwise_log_likelihood(
    likelihood: AbstractLikelihood, Y: Float[Tensor, "N M"], predicted: Prediction
) -> Float[Tensor, "N A"]:
    """Return the log likelihood of N rows under each of A predictions, (N, A)."""
    if likelihood.noise is not None:
        return pairwise_row_log_density(Y, predicted.mean, predicted.variance + likelihood.noise)
    return likelihood.pairwise_expected_log_density(Y, *predicted)


def _gaussian_row_log_likelihood(
    Y: Float[Tensor, "N M"], mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"]
) -> RowLogLikelihood:
    precision = (1 / variance).masked_fill(torch.isnan(Y), 0.0)
    residual = Y.nan_to_num(nan=0.0) - mean
    grad_variance = 0.5 * precision * (residual.square() / variance - 1)
    return RowLogLikelihood(row_log_density(Y, mean, variance), precision * residual, grad_variance, precision)
