r"""The log evidence of a view as a function of its latents, one block of rows at a time, with its analytic gradient.

This is the log evidence of `evidence/collapsed.py` [eq:gaussian_elbo_estimate] for F < N, without holding the features
of all rows in memory. With A = Phi' Phi + s I = LL', C = Phi' Y, H = L^-1 C and B = L'^-1 H = A^-1 C,

    log N(Y | 0, K) = -1/2 [ M (log|A| + (N - F) log s) + (|Y|^2 - |H|^2) / s + N M log 2 pi ]

    d/dPhi = R B' - M Phi A^-1                              with s R = Y - Phi B
    d/ds   = 1/2 [ |R|^2 - M ((N - F) / s + tr A^-1) ]      with s^2 |R|^2 = |Y|^2 - |H|^2 - s |B|^2

A, C and the gradients with respect to the frequencies are sums over rows, and the gradient with respect to the latent
of a row depends on that row only. The computation is therefore two passes over the blocks, with the F x F matrices
factored in between. Y may have been rotated and truncated (`models/state.py`): M and |Y|^2 are still those of the
whole view, and truncated columns have C = 0, which can only increase their (|Y|^2 - |H|^2) / s and thus lower the
evidence.

**Precision.** The condition number of A is about N / s, and rounding errors are divided by s. Unless s is small
(`FLOAT64_NOISE_THRESHOLD`), A and C are computed in the precision of the features within a block of rows and summed
over blocks in float64, and the gradient with respect to Phi is computed in the precision of the features as

    Y (B' / s) - Phi (B B' / s + M A^-1)

On a GPU, features and Y are rounded to TF32, for which products are exact (`linalg/gram.py`). If s is small, R is
computed in float64, and s |R|^2 + |B|^2 replaces (|Y|^2 - |H|^2) / s, which suffers from cancellation.
"""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.evidence.collapsed import forbid_double_backward
from mvlvm.linalg.cholesky import add_to_diagonal, cholesky, invert_lower_triangular
from mvlvm.linalg.cuda import Workspace
from mvlvm.linalg.gram import (
    allow_tf32_matmul,
    lower_gram,
    round_to_tf32,
    split_precision_matmul,
    supports_tf32,
    transposed_matmul,
)
from mvlvm.row_blocks import row_sum
from mvlvm.shapes import Scalar
from mvlvm.spectral.blocks import FeatureBlock, FrequencyGradients, feature_block, features_vjp
from mvlvm.spectral.features import Frequencies

# Below this noise variance nothing is rounded to float32 before a division by s. It is compared with s every fifty
# steps (`training/loop.py`), in which the noise changes by less than an order of magnitude. Above the threshold, the
# relative error of the evidence from float32 products is 6e-8 / 0.05, about 1e-6; the errors of A, 1e-6 in a block of
# 4096 rows, leave seven digits of log|A|; and rounding features and columns to TF32 changes each by at most 4.9e-4 of
# itself in a random direction, noise of less than 1e-7 of their variance compared with 0.05.
FLOAT64_NOISE_THRESHOLD = 0.05
# Up to this number of columns, a CPU computes Phi' Y faster as the transpose of Y' Phi.
_MAX_COLUMNS_TRANSPOSED = 32


class Target(NamedTuple):
    """The columns of a view for which the evidence is computed: all of them, or their leading directions.

    Attributes:
        Y: the view, possibly rotated and truncated; rows are already multiplied by `row_scale`.
        n_columns: M, the number of columns of the whole view.
        energy: |Y|^2 of the whole view.
        truncated_energy: the part of `energy` that is not in Y.
        row_scale: the square roots of the sample weights, by which the features are multiplied; None means one.
        rounded_to_tf32: whether Y already consists of TF32 numbers.
    """

    Y: Float[Tensor, "N r"]
    n_columns: int
    energy: float
    truncated_energy: float = 0.0
    row_scale: Float[Tensor, " N"] | None = None
    rounded_to_tf32: bool = False


@dataclass(frozen=True)
class BlockPlan:
    """How the rows are divided into blocks and processed.

    Attributes:
        n_rows: the number of rows of a block.
        keep: whether features are kept from the first pass for the second, or recomputed.
        exact: whether everything that is divided by s is computed in float64.
        space: memory for one block, used by one evaluation at a time.
    """

    n_rows: int
    keep: bool = True
    exact: bool = True
    space: Workspace = field(default_factory=Workspace, repr=False)


class FeatureSpaceFactors(NamedTuple):
    """Factors of A and solutions with it, from sums over all rows.

    Scalars are float64; matrices have the precision in which gradients are computed.

    Attributes:
        s: the noise variance.
        log_det: log|A|.
        inverse_trace: tr A^-1.
        H_energy: |H|^2.
        L_inverse: L^-1.
        B: A^-1 C.
    """

    s: Scalar
    log_det: Scalar
    inverse_trace: Scalar
    H_energy: Scalar
    L_inverse: Float[Tensor, "F F"]
    B: Float[Tensor, "F r"]


def factor_gram(
    gram: Float[Tensor, "F F"], C: Float[Tensor, "F r"], s: Scalar, dtype: torch.dtype
) -> FeatureSpaceFactors:
    """Factor A = Phi' Phi + s I and solve A B = C.

    Args:
        gram: Phi' Phi in float64; only the lower triangle is read.
        C: Phi' Y in float64.
        s: the noise variance.
        dtype: the precision of the matrices that are returned.
    """
    L = cholesky(add_to_diagonal(gram, s))
    L_inverse = invert_lower_triangular(L)
    H = L_inverse @ C
    log_det, inverse_trace = 2 * L.diagonal().log().sum(), L_inverse.square().sum()
    rounded = L_inverse.to(dtype)
    return FeatureSpaceFactors(s, log_det, inverse_trace, H.square().sum(), rounded, rounded.T @ H.to(dtype))


class ExactFeatureGradient:
    """The gradient R B' - M Phi A^-1 with respect to the features, with residuals R in float64."""

    def __init__(self, factors: FeatureSpaceFactors, n_columns: int, dtype: torch.dtype) -> None:
        self.B, self.B_over_s = factors.B, (factors.B / factors.s).to(dtype)
        self.minus_MA = (-n_columns * factors.L_inverse.T @ factors.L_inverse).to(dtype)

    def __call__(
        self, Phi: Float[Tensor, "N F"], Y: Float[Tensor, "N r"], out: Float[Tensor, "N F"]
    ) -> Float[Tensor, "N F"]:
        """Write the gradient with respect to the features of a block of rows to `out`, N x F."""
        R = residuals(Phi, Y, self.B).to(Phi)
        return torch.mm(self.B_over_s, R.T, out=out.T).addmm_(self.minus_MA, Phi.T).T


class FastFeatureGradient:
    """The gradient Y (B' / s) - Phi W with W = B B' / s + M A^-1, in the precision of the features."""

    def __init__(self, factors: FeatureSpaceFactors, n_columns: int, dtype: torch.dtype) -> None:
        self.B_over_s = (factors.B / factors.s).to(dtype)
        A_inverse = factors.L_inverse.T @ factors.L_inverse
        self.minus_W = torch.addmm(A_inverse, self.B_over_s, factors.B.T, beta=-n_columns, alpha=-1)

    def __call__(
        self, Phi: Float[Tensor, "N F"], Y: Float[Tensor, "N r"], out: Float[Tensor, "N F"]
    ) -> Float[Tensor, "N F"]:
        """Write the gradient with respect to the features of a block of rows to `out`, N x F."""
        data_term = split_precision_matmul(self.B_over_s, Y.T, out=out.T)
        return split_precision_matmul(self.minus_W, Phi.T, out=data_term, accumulate=True).T


def residuals(Phi: Float[Tensor, "N F"], Y: Float[Tensor, "N r"], B: Float[Tensor, "F r"]) -> Float[Tensor, "N r"]:
    """Return Y - Phi B in float64, N x r."""
    return torch.addmm(Y.double(), Phi.double(), B, alpha=-1)


def blocked_log_evidence(
    target: Target, X: Float[Tensor, "N D"], frequencies: Frequencies, noise_variance: Scalar, plan: BlockPlan
) -> Scalar:
    """Return the log evidence of a view as a function of its latents, for F < N [eq:gaussian_elbo_estimate].

    Differentiable once with respect to latents, frequencies and noise variance. Costs O(N F^2 + N r F) and holds
    O(n_rows F) numbers in memory, or O(N F) if features are kept.

    Args:
        target: the view.
        X: the latents of its rows.
        frequencies: the frequencies of its features.
        noise_variance: s, positive.
        plan: how rows are divided into blocks and processed.

    Returns:
        The log evidence, a float64 scalar.

    Raises:
        NumericalError: the covariance cannot be factored.
    """
    inputs = (X, *(part for part in frequencies if part is not None), noise_variance)
    with_grad = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs)
    return _BlockedLogEvidence.apply(target, plan, with_grad, X, *frequencies, noise_variance)  # pyright: ignore[reportReturnType]


class _BlockedLogEvidence(torch.autograd.Function):
    """Combines the value with its analytic gradient, so that autograd does not differentiate a factorisation."""

    @staticmethod
    def forward(ctx: Any, target: Target, plan: BlockPlan, with_grad: bool, X: Tensor, *rest: Any) -> Tensor:
        frequencies, noise_variance = Frequencies(*rest[:3]), rest[3]
        blocks, kept = _RowBlocks(target, X, frequencies, plan, with_grad), {}
        factors = factor_gram(*blocks.sums(kept), noise_variance.double(), torch.float64 if plan.exact else X.dtype)
        quadratic = _quadratic_terms(target, factors, blocks.residual_energy(factors, kept))
        if with_grad:
            grad_X, gradients = blocks.gradients(factors, kept)
            grad_carrier, *grad_envelope = gradients.frequencies.split(len(frequencies.carrier))
            grad_s = _noise_gradient(target, len(X), factors, quadratic).to(noise_variance)
            ctx.save_for_backward(
                grad_X, grad_carrier, grad_envelope[0] if grad_envelope else None, gradients.amplitude, grad_s
            )  # fmt: skip
        return _value(target, len(X), factors, quadratic)

    @staticmethod
    def backward(ctx: Any, grad_value: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        forbid_double_backward("blocked_log_evidence")
        grad_X, *grad_frequencies, grad_s = ctx.saved_tensors
        factor = grad_value.to(grad_X)
        return (
            None,
            None,
            None,
            factor * grad_X,
            *(None if grad is None else factor * grad for grad in grad_frequencies),
            (grad_value.to(grad_s) * grad_s),
        )


class _QuadraticTerms(NamedTuple):
    """Sums over all columns: value is y' K^-1 y, residual_energy is s^2 |R|^2."""

    value: Scalar
    residual_energy: Scalar


def _quadratic_terms(target: Target, factors: FeatureSpaceFactors, residual_energy: Scalar | None) -> _QuadraticTerms:
    """Return the quadratic terms, from the residuals if these were computed."""
    B_energy = factors.B.square().sum(dtype=torch.float64)
    if residual_energy is None:
        value = (target.energy - factors.H_energy) / factors.s
        return _QuadraticTerms(value, factors.s * (value - B_energy))
    residual_energy = residual_energy + target.truncated_energy
    return _QuadraticTerms(residual_energy / factors.s + B_energy, residual_energy)


def _value(target: Target, N: int, factors: FeatureSpaceFactors, quadratic: _QuadraticTerms) -> Scalar:
    F, M = len(factors.B), target.n_columns
    log_det = factors.log_det + (N - F) * factors.s.log()
    return -0.5 * (M * log_det + quadratic.value + N * M * math.log(2 * math.pi))


def _noise_gradient(target: Target, N: int, factors: FeatureSpaceFactors, quadratic: _QuadraticTerms) -> Scalar:
    inverse_trace = (N - len(factors.B)) / factors.s + factors.inverse_trace
    return 0.5 * (quadratic.residual_energy / factors.s**2 - target.n_columns * inverse_trace)


class _RowBlocks:
    """The rows of a view, block by block, with their features.

    Features are computed for every pass over the rows, unless the plan keeps them: `kept` then maps the first row of a
    block to its features.
    """

    def __init__(
        self, target: Target, X: Float[Tensor, "N D"], frequencies: Frequencies, plan: BlockPlan, with_grad: bool
    ) -> None:
        self.target, self.frequencies, self.plan, self.with_grad = target, frequencies, plan, with_grad
        self.X = X.T.contiguous().T  # products with so few columns are fast only if the columns are contiguous
        self.keep = plan.keep and (with_grad or plan.exact)  # otherwise there is no second pass
        self.slices = [slice(first, min(first + plan.n_rows, len(X))) for first in range(0, len(X), plan.n_rows)]

    def sums(self, kept: dict[int, FeatureBlock]) -> tuple[Float[Tensor, "F F"], Float[Tensor, "F r"]]:
        """Return the lower triangle of Phi' Phi (F x F) and C = Phi' Y (F x r) in float64."""
        block_sums = self._exact_sums if self.plan.exact else self._fast_sums

        def term(rows: slice) -> tuple[Float[Tensor, "F F"], Float[Tensor, "F r"]]:
            block = self._features(rows, kept, with_grad=self.with_grad and self.keep)
            gram, C = block_sums(rows, block)
            return gram.double(), C.double()

        return row_sum(self.slices, term)

    def _exact_sums(self, rows: slice, block: FeatureBlock) -> tuple[Float[Tensor, "F F"], Float[Tensor, "F r"]]:
        Phi = block.as_float64(self.plan.space)
        return lower_gram(Phi), Phi.T @ self.target.Y[rows].double()

    def _fast_sums(self, rows: slice, block: FeatureBlock) -> tuple[Float[Tensor, "F F"], Float[Tensor, "F r"]]:
        Phi, Y = block.Phi, self._columns(rows)
        if Phi.is_cuda:
            with allow_tf32_matmul(Phi.device):  # both matrices consist of TF32 numbers
                return transposed_matmul(Phi, Phi), transposed_matmul(Phi, Y)
        return lower_gram(Phi), (Y.T @ Phi).T if Y.shape[1] <= _MAX_COLUMNS_TRANSPOSED else Phi.T @ Y

    def residual_energy(self, factors: FeatureSpaceFactors, kept: dict[int, FeatureBlock]) -> Scalar | None:
        """Return |Y - Phi B|^2 if everything that is divided by s is float64, otherwise None."""
        if not self.plan.exact:
            return None

        def term(rows: slice) -> tuple[Scalar]:
            block = self._features(rows, kept, with_grad=self.with_grad and self.keep)
            return (residuals(block.Phi, self.target.Y[rows], factors.B).square().sum(),)

        return row_sum(self.slices, term)[0]

    def gradients(
        self, factors: FeatureSpaceFactors, kept: dict[int, FeatureBlock]
    ) -> tuple[Float[Tensor, "N D"], FrequencyGradients]:
        """Return the gradients with respect to latents (N x D) and frequencies."""
        grad_X = torch.empty_like(self.X)
        FeatureGradient = ExactFeatureGradient if self.plan.exact else FastFeatureGradient
        feature_gradient = FeatureGradient(factors, self.target.n_columns, self.X.dtype)

        def term(rows: slice) -> FrequencyGradients:
            block = self._features(rows, kept, with_grad=True)
            out = self.plan.space.take("feature_gradient", block.Phi.T.shape, block.Phi)
            G = feature_gradient(block.Phi, self.target.Y[rows] if self.plan.exact else self._columns(rows), out.T)
            grad_X[rows], gradients = features_vjp(block, G, self.X[rows], self.frequencies, self.plan.space)
            return gradients

        sums = row_sum(self.slices, term)
        # the memory layout, which determines the last bits of what autograd computes from them
        sums = sums if len(self.slices) == 1 else (part.contiguous() for part in sums)
        return grad_X, FrequencyGradients(*sums)

    def _columns(self, rows: slice) -> Float[Tensor, "n r"]:
        """Return a block of rows of Y in the precision of the features, rounded to TF32 on a GPU."""
        Y = self.target.Y[rows].to(self.X)
        return round_to_tf32(Y) if supports_tf32(Y) and not self.target.rounded_to_tf32 else Y

    def _features(self, rows: slice, kept: dict[int, FeatureBlock], *, with_grad: bool) -> FeatureBlock:
        """Return the features of a block of rows, which were kept or are computed."""
        if rows.start in kept:
            return kept[rows.start]
        scale = None if self.target.row_scale is None else self.target.row_scale[rows]
        block = feature_block(
            self.X[rows], self.frequencies, with_grad=with_grad, row_scale=scale,
            tf32=not self.plan.exact, workspace=self.plan.space, slot=rows.start if self.keep else 0,
        )  # fmt: skip
        if self.keep:
            kept[rows.start] = block.without_float64()
        return block
