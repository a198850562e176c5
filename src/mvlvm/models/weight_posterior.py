r"""The posterior of a view's feature weights, conditioned on the training rows.

For one draw of spectral points the function of column m is $f_m = \Phi w_m$ with weights $w_m \sim N(B_m, \Sigma_m)$.
Without missing entries,

    B = A^{-1} E[Phi]' Y,        Sigma = s A^{-1},        A = E[Phi' Phi] + s I

with expectations over draws of the latents. The sums of phi phi' and phi y' over rows are accumulated in blocks, so
that the features of only one block are in memory.

With missing entries, every column m has its own linear system over the rows in which it is observed,

    (E[Phi_m' Phi_m] + s I) b_m = E[Phi_m]' y_m

and forming all M systems would cost M times the work of a complete view. They are solved simultaneously by conjugate
gradients, which need only products with Phi, preconditioned by the system of an average column. The covariance is that
of the average column, scaled by the inverse fraction of observed entries in each column; a column without observed
entries counts as observed in one row.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.linalg.cholesky import add_to_diagonal, cholesky, factor
from mvlvm.linalg.conjugate_gradient import batched_conjugate_gradient
from mvlvm.linalg.gram import add_lower_gram
from mvlvm.models.data import ViewData
from mvlvm.models.spectral_mixture import FeatureMap
from mvlvm.row_blocks import row_blocks, row_sum
from mvlvm.shapes import Scalar

# Monte Carlo noise also averages over rows: this product of rows and draws makes it negligible.
_ROWS_TIMES_DRAWS = 20_000


class Prediction(NamedTuple):
    """The mean and variance of a view's function f at every entry."""

    mean: Float[Tensor, "N M"]
    variance: Float[Tensor, "N M"]


@dataclass(frozen=True)
class AbstractWeightPosterior(ABC):
    r"""The posterior of a view for one draw of spectral points: $f = \Phi w$ with $w_m \sim N(B_m, \Sigma_m)$.

    Attributes:
        features: the feature map phi.
        mean: the posterior means B of the weights, one column per column of the view.
    """

    features: FeatureMap
    mean: Float[Tensor, "F M"]

    @abstractmethod
    def _variance(self, Phi: Float[Tensor, "N F"]) -> Float[Tensor, "N M"]:
        """Return phi' Sigma_m phi, (N, M)."""

    @abstractmethod
    def _variance_gradient(self, Phi: Float[Tensor, "N F"], weight: Float[Tensor, "N M"]) -> Float[Tensor, "N F"]:
        """Return the gradient of the weighted sum of phi' Sigma_m phi over columns with respect to phi, (N, F)."""

    @abstractmethod
    def _correlate(self, eps: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        """Transform standard normal draws into draws of N(0, Sigma_m), (F, M)."""

    @abstractmethod
    def select_columns(self, columns: Bool[Tensor, " M"]) -> "AbstractWeightPosterior":
        """Return the posterior of some columns."""

    def mean_at(self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        r"""Return the expected function at Gaussian latents, $E[\phi]^\top B$ in closed form, (N, M)."""
        return self.features.expectation(mean, std).double() @ self.mean

    def predict(
        self, mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"], draws: Sequence[Float[Tensor, "N D"]]
    ) -> Prediction:
        r"""Return the mean and variance of the view's function at Gaussian latents, each (N, M).

        The mean is exact. The variance is the sum of that of the weights, $E[\phi^\top \Sigma \phi]$, and that of the
        latents, $\operatorname{Var}[\phi^\top B]$, both averaged over `draws` of the latents.
        """
        center = self.mean_at(mean, std)
        variance = torch.zeros_like(center)
        for X in draws:
            Phi = self.features(X).double()
            deviation = torch.addmm(center, Phi, self.mean, beta=-1)
            variance.addcmul_(deviation, deviation, value=1 / len(draws))
            variance.add_(self._variance(Phi), alpha=1 / len(draws))
        return Prediction(center, variance)

    def draw(self, generator: torch.Generator) -> Callable[[Float[Tensor, "N D"]], Float[Tensor, "N M"]]:
        """Draw a function of the view, which maps latents (N, D) to values (N, M)."""
        eps = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype, device=self.mean.device)
        weights = self.mean + self._correlate(eps)
        return lambda X: self.features(X).double() @ weights

    def squared_jacobian_norms(self, X: Float[Tensor, "N D"]) -> Float[Tensor, " D"]:
        r"""Return $\sum_{nm} (\partial f_{nm} / \partial x_{nd})^2$ for every d, (D,), without N x M arrays."""
        _, jacobian = self.features.with_jacobian(X)
        jacobian, (F, M) = jacobian.double(), self.mean.shape
        if M < F:
            return (jacobian @ self.mean).square().sum(dim=(0, 2))
        return ((jacobian @ (self.mean @ self.mean.T)) * jacobian).sum(dim=(0, 2))

    def moments(self, Phi: Float[Tensor, "N F"]) -> Prediction:
        """Return the mean and variance of the function for given features."""
        return Prediction(Phi @ self.mean, self._variance(Phi))

    def moments_gradient(self, Phi: Float[Tensor, "N F"], weights: Prediction) -> Float[Tensor, "N F"]:
        """Return the gradient of a weighted sum of the `moments` over columns with respect to the features.

        Args:
            Phi: the features.
            weights: the weights of the means and of the variances.
        """
        return weights.mean @ self.mean.T + self._variance_gradient(Phi, weights.variance)


@dataclass(frozen=True)
class WeightPosterior(AbstractWeightPosterior):
    """The posterior of a Gaussian view: the covariances of all columns are proportional to each other.

    Attributes:
        covariance: the common covariance.
        inflation: the factor of the covariance in each column; one if no entries are missing.
    """

    covariance: Float[Tensor, "F F"]
    inflation: Float[Tensor, " M"]

    def _variance(self, Phi: Float[Tensor, "N F"]) -> Float[Tensor, "N M"]:
        return ((Phi @ self.covariance) * Phi).sum(dim=1, keepdim=True) * self.inflation

    def _variance_gradient(self, Phi: Float[Tensor, "N F"], weight: Float[Tensor, "N M"]) -> Float[Tensor, "N F"]:
        return 2 * (weight @ self.inflation.to(weight))[:, None] * (Phi @ self.covariance)

    def select_columns(self, columns: Bool[Tensor, " M"]) -> "WeightPosterior":
        """Return the posterior of some columns."""
        return replace(self, mean=self.mean[:, columns], inflation=self.inflation[columns])

    def _correlate(self, eps: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        return self.inflation.sqrt() * (cholesky(self.covariance) @ eps)


@dataclass(frozen=True)
class ColumnPosterior(AbstractWeightPosterior):
    """The posterior of a non-Gaussian view: the covariances of all columns have the same eigenvectors.

    Attributes:
        basis: the eigenvectors.
        spread: the eigenvalues of every column's covariance.
    """

    basis: Float[Tensor, "F F"]
    spread: Float[Tensor, "F M"]

    def _variance(self, Phi: Float[Tensor, "N F"]) -> Float[Tensor, "N M"]:
        return (Phi @ self.basis).square() @ self.spread

    def _variance_gradient(self, Phi: Float[Tensor, "N F"], weight: Float[Tensor, "N M"]) -> Float[Tensor, "N F"]:
        return 2 * ((Phi @ self.basis) * (weight @ self.spread.T)) @ self.basis.T

    def select_columns(self, columns: Bool[Tensor, " M"]) -> "ColumnPosterior":
        """Return the posterior of some columns."""
        return replace(self, mean=self.mean[:, columns], spread=self.spread[:, columns])

    def _correlate(self, eps: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        return self.basis @ (self.spread.sqrt() * eps)


class WeightMoments(NamedTuple):
    """Means of the weights, and their covariance, which is the same for every column."""

    mean: Float[Tensor, "F M"]
    covariance: Float[Tensor, "F F"]


def n_latent_draws_for(n_rows: int) -> int:
    """Return the number of latent draws for sums over rows, which decreases with the number of rows.

    Example:
        >>> [n_latent_draws_for(n_rows) for n_rows in (1_000, 5_000, 70_000)]
        [8, 4, 1]
    """
    wanted = -(-_ROWS_TIMES_DRAWS // max(1, n_rows))
    return min(defaults.N_LATENT_DRAWS, wanted)


def infer_weights_complete(
    data: ViewData, features: FeatureMap, draws: Sequence[Float[Tensor, "R D"]], s: Scalar
) -> WeightMoments:
    """Return the posterior moments of the weights for one feature map, (F, M) and (F, F).

    Args:
        data: the view, without missing entries; rows are weighted by their sample weights.
        features: the feature map.
        draws: draws of the latents of the rows in which the view is observed.
        s: the noise variance.

    Raises:
        NumericalError: A cannot be factored.
    """
    (N, M), F = data.Y.shape, features.n_features
    root_weight = None if data.sample_weight is None else data.sample_weight.sqrt().double()[:, None]

    def term(rows: slice) -> tuple[Float[Tensor, "F F"], Float[Tensor, "F M"]]:
        gram, target = (s.new_zeros(shape, dtype=torch.float64) for shape in ((F, F), (F, M)))
        mean_Phi = gram.new_zeros((len(data.Y[rows]), F))
        for X in draws:
            Phi = features(X[rows]).double()
            Phi = Phi if root_weight is None else Phi * root_weight[rows]
            add_lower_gram(gram, Phi)  # the factorisation reads only the lower triangle
            mean_Phi.add_(Phi, alpha=1 / len(draws))
        Y = data.Y[rows].double()
        return gram, target.addmm_(mean_Phi.T, Y if root_weight is None else Y * root_weight[rows])

    gram, target = row_sum(row_blocks(N, max(F, M)), term)
    # saved models are loaded in row-major order, and the last bits of products depend on the memory layout
    inverse = factor(add_to_diagonal(gram / len(draws), s)).inverse().contiguous()
    return WeightMoments(inverse @ target, s * inverse)


def infer_weights_missing(
    Y: Float[Tensor, "N M"], observed: Bool[Tensor, "N M"], Phis: Sequence[Float[Tensor, "N F"]], s: Scalar
) -> tuple[Float[Tensor, "F M"], Float[Tensor, "F F"], Float[Tensor, " M"]]:
    """Return means (F, M), the covariance of an average column (F, F), and its factor in each column (M,).

    Args:
        Y: the view; missing entries are ignored.
        observed: the mask of observed entries.
        Phis: features at several draws of the latents, each (N, F).
        s: the noise variance.
    """
    blocks = row_blocks(*Y.shape)
    fraction = row_sum(blocks, lambda rows: (observed[rows].sum(dim=0),))[0] / len(Y)
    gram = sum((Phi.T @ Phi for Phi in Phis[1:]), Phis[0].T @ Phis[0]) / len(Phis)
    average_inverse = factor(add_to_diagonal(fraction.mean() * gram, s)).inverse().contiguous()

    def apply(B: Float[Tensor, "F M"]) -> Float[Tensor, "F M"]:
        def term(rows: slice) -> tuple[Float[Tensor, "F M"]]:
            total = s * B if rows.start == 0 else torch.zeros_like(B)
            for Phi in Phis:
                total.addmm_(Phi[rows].T, (Phi[rows] @ B).mul_(observed[rows]), alpha=1 / len(Phis))
            return (total,)

        return row_sum(blocks, term)[0]

    def right_hand_side(rows: slice) -> tuple[Float[Tensor, "F M"]]:
        total = Phis[0].new_zeros((Phis[0].shape[1], Y.shape[1]))
        for Phi in Phis:
            total.addmm_(Phi[rows].T, Y[rows].double() * observed[rows], alpha=1 / len(Phis))
        return (total,)

    (target,) = row_sum(blocks, right_hand_side)
    mean = batched_conjugate_gradient(apply, target, preconditioner=average_inverse).contiguous()
    return mean, s * average_inverse, fraction.mean() / fraction.clamp_min(1 / len(Y))
