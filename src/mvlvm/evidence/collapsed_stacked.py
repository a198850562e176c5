r"""The log evidence of a view and its gradient on a CPU in float32, in as few and as large operations as possible.

The features and the columns of a block of rows are stacked in one matrix Z = [Phi'; Y'], stored feature by feature. The
first pass then has one product, Z Phi = [Phi' Phi; Y' Phi], and the second one, minus the gradient with respect to
Phi',

    [ B B' / s + M A^-1 | -B / s ] Z        with B B' / s + M A^-1 = S S',  S = [ B / sqrt(s) | sqrt(M) L'^-1 ]

A = Phi' Phi + s I is factored in float64, and products with its factor are float32 (`evidence/feature_space.py`). All
products have the form A B', for which oneDNN has fast kernels (`linalg/cpu_arithmetic.py`). The phases of carriers and
envelopes are stacked too; features and gradients are those of `spectral/blocks.py`.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.evidence.feature_space import BlockPlan, FeatureSpaceFactors, Target, energy
from mvlvm.linalg.cholesky import cholesky, invert_lower_triangular, rounded_inverse_transposed
from mvlvm.row_blocks import row_sum
from mvlvm.shapes import Number
from mvlvm.spectral.blocks import FrequencyGradients, phases, stack_frequencies
from mvlvm.spectral.features import Frequencies

# From these sizes on, a product without a quarter of Phi' Phi, in two parts, is faster than the whole one.
_MIN_FEATURES_DIVIDED, _MIN_ROWS_DIVIDED = 128, 750


class _StackedBlock(NamedTuple):
    """A block of rows.

    Attributes:
        Z: features and columns, [Phi'; Y'].
        tangent: tan(delta); None if the points are tied or no gradients are requested.
    """

    Z: Float[Tensor, "S n"]
    tangent: Float[Tensor, "K n"] | None


class StackedBlocks:
    """The rows of a view, block by block, with features and columns stacked.

    Args:
        target: the view.
        X: the latents of its rows.
        frequencies: the frequencies of its features.
        plan: how rows are divided into blocks and processed.
        with_grad: whether `gradients` will be called.
    """

    def __init__(
        self, target: Target, X: Float[Tensor, "N D"], frequencies: Frequencies, plan: BlockPlan, *, with_grad: bool
    ) -> None:
        self.target, self.plan, self.with_grad = target, plan, with_grad
        self.keep = plan.keep and with_grad  # otherwise there is no second pass
        self.X = X.T.contiguous()
        self.W, self.amplitude = stack_frequencies(frequencies), frequencies.amplitude
        self.tied = frequencies.envelope is None
        self.slices = plan.slices(len(X))

    def factors(self, s: Number, kept: dict[int, _StackedBlock]) -> FeatureSpaceFactors:
        """Return the factors of A = Phi' Phi + s I, in the first pass over the rows."""
        F, arithmetic, dtype = 2 * len(self.amplitude), self.plan.arithmetic, self.X.dtype
        first, others = row_sum(self.slices, lambda rows: self._sums(self._block(rows, kept)))
        n_first, A = len(first), first.new_empty((F, F), dtype=torch.float64)  # only the lower triangle is read
        A[:n_first, :n_first], A[n_first:] = first, others[: F - n_first]
        A.diagonal().add_(s)
        L = cholesky(A)
        U = (
            rounded_inverse_transposed(L, arithmetic)
            if dtype == torch.float32
            else invert_lower_triangular(L).T.contiguous()
        )
        H = arithmetic.product(others[F - n_first :].to(dtype), U.T)  # transposed: C' L'^-1
        B = arithmetic.product(U, H)
        log_det = 2 * L.diagonal().log().sum().item()
        return FeatureSpaceFactors(s, log_det, energy(U), energy(H), U.T, B)

    def residual_energy(self, factors: FeatureSpaceFactors, kept: dict[int, _StackedBlock]) -> None:
        """Return None: the energy of the residuals follows from that of H and B."""

    def gradients(
        self, factors: FeatureSpaceFactors, kept: dict[int, _StackedBlock]
    ) -> tuple[Float[Tensor, "N D"], FrequencyGradients]:
        """Return the gradients with respect to latents (N x D) and frequencies."""
        W, grad_X = self._gradient_weights(factors), torch.empty_like(self.X)

        def term(rows: slice) -> tuple[Tensor, Tensor]:
            block, space = self._block(rows, kept), self.plan.space
            K, n = len(self.amplitude), block.Z.shape[1]
            minus_G = self.plan.arithmetic.product(W, block.Z.T)
            cosines, sines = block.Z[:K], block.Z[K : 2 * K]
            grad_phase, minus_u = (space.take(name, (k, n), self.X) for name, k in (("a", len(self.W)), ("b", K)))
            torch.mul(sines, minus_G[:K], out=grad_phase[:K]).addcmul_(cosines, minus_G[K:], value=-1)
            torch.mul(cosines, minus_G[:K], out=minus_u).addcmul_(sines, minus_G[K:])
            if block.tangent is not None:
                torch.mul(minus_u, block.tangent, out=grad_phase[K:])
            grad_X[:, rows] = self.W.T @ grad_phase
            return grad_phase @ self.X[:, rows].T, minus_u.sum(dim=1)

        frequencies, minus_u = row_sum(self.slices, term)
        return grad_X.T, FrequencyGradients(frequencies, minus_u.neg_().div_(self.amplitude))

    def _gradient_weights(self, factors: FeatureSpaceFactors) -> Float[Tensor, "F S"]:
        """Return the matrix whose product with Z is minus the gradient with respect to Phi'."""
        B, s = factors.B, factors.s
        F, r = B.shape
        S, W = B.new_empty((F, r + F)), B.new_empty((F, F + r))
        torch.mul(B, s**-0.5, out=S[:, :r])
        torch.mul(factors.L_inverse.T, self.target.n_columns**0.5, out=S[:, r:])
        W[:, :F] = self.plan.arithmetic.product(S, S)
        torch.mul(B, -1 / s, out=W[:, F:])
        return W

    def _sums(self, block: _StackedBlock) -> tuple[Float[Tensor, "G G"], Float[Tensor, "T F"]]:
        """Return Phi' Phi above Y' Phi, divided into the first rows, without their upper triangle, and the others.

        Sums of several blocks are float64.
        """
        Z, F, product = block.Z, 2 * len(self.amplitude), self.plan.arithmetic.product
        n_first = F // 2 if F >= _MIN_FEATURES_DIVIDED and Z.shape[1] >= _MIN_ROWS_DIVIDED else 0
        first, others = product(Z[:n_first], Z[:n_first]), product(Z[n_first:], Z[:F])
        return (first, others) if len(self.slices) == 1 else (first.double(), others.double())

    def _block(self, rows: slice, kept: dict[int, _StackedBlock]) -> _StackedBlock:
        """Return a block of rows, which was kept or is computed."""
        if rows.start in kept:
            return kept[rows.start]
        Y, slot = self.target.Y[rows], rows.start if self.keep else 0
        Z = self.plan.space.take(f"stacked {slot}", (2 * len(self.amplitude) + Y.shape[1], len(Y)), self.X)
        Z[-Y.shape[1] :] = Y.T
        block = _StackedBlock(Z, self._write_features(rows, Z, slot))
        if self.keep:
            kept[rows.start] = block
        return block

    def _write_features(self, rows: slice, Z: Float[Tensor, "S n"], slot: int) -> Float[Tensor, "K n"] | None:
        """Write the features of a block of rows, and return tan(delta) if gradients need it."""
        K, space, arithmetic, n = len(self.amplitude), self.plan.space, self.plan.arithmetic, Z.shape[1]
        sines, cosines = (space.take(name, (len(self.W), n), self.X) for name in ("a", "b"))
        phases(self.W, self.X[:, rows].T, sines)
        arithmetic.cos(sines, out=cosines)
        arithmetic.sin(sines, out=sines)
        scale, tangent = self.amplitude[:, None], None
        if not self.tied:
            if self.with_grad:
                tangent = torch.div(sines[K:], cosines[K:], out=space.take(f"tangent {slot}", (K, n), self.X))
            scale = cosines[K:].mul_(scale)
        if self.target.row_scale is not None:
            scale = scale * self.target.row_scale[rows]
        torch.mul(cosines[:K], scale, out=Z[:K])
        torch.mul(sines[:K], scale, out=Z[K : 2 * K])
        return tangent
