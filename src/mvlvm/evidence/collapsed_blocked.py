r"""The log evidence of a view as a function of its latents, one block of rows at a time, with its analytic gradient.

This is the log evidence of `evidence/collapsed.py` [eq:gaussian_elbo_estimate] for F < N, without holding the features
of all rows in memory. A = Phi' Phi + s I, C = Phi' Y and the gradients with respect to the frequencies are sums over
rows, and the gradient with respect to the latent of a row depends on that row only (`evidence/feature_space.py`). The
computation is therefore two passes over the blocks, with the F x F matrices factored in between.

**Precision.** The condition number of A is about N / s, and rounding errors are divided by s. Unless s is small
(`noise_threshold`), A and C are computed in the precision of the features within a block of rows and summed over blocks
in float64, and the gradient with respect to Phi is computed in the precision of the features as

    Y (B' / s) - Phi (B B' / s + M A^-1)

on a CPU as in `evidence/collapsed_stacked.py`. On a GPU, features and Y are rounded to TF32, for which products are
exact (`linalg/gram.py`). If s is small, R is computed in float64, and s |R|^2 + |B|^2 replaces (|Y|^2 - |H|^2) / s,
which suffers from cancellation.
"""

from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.evidence.collapsed import forbid_double_backward
from mvlvm.evidence.collapsed_stacked import StackedBlocks
from mvlvm.evidence.feature_space import (
    BlockPlan,
    EvidenceWithGradients,
    FeatureSpaceFactors,
    Target,
    energy,
    evidence_value,
    noise_gradient,
    quadratic_terms,
)
from mvlvm.linalg.cholesky import cholesky, invert_lower_triangular
from mvlvm.linalg.gram import (
    allow_tf32_matmul,
    lower_gram,
    round_to_tf32,
    split_precision_matmul,
    supports_tf32,
    transposed_matmul,
)
from mvlvm.row_blocks import row_sum
from mvlvm.shapes import Number, Scalar
from mvlvm.spectral.blocks import FeatureBlock, FrequencyGradients, feature_block, features_vjp
from mvlvm.spectral.features import Frequencies

# Below this noise variance nothing is rounded to float32 before a division by s. It is compared with s every fifty
# steps (`training/loop.py`), in which the noise changes by less than an order of magnitude. On a GPU, rounding features
# and columns to TF32 changes each by at most 4.9e-4 of itself in a random direction, noise of less than 1e-7 of their
# variance compared with 0.05. On a CPU, errors of float32 products are relative to 6e-8 / s (measured in
# tests/evidence/test_collapsed_blocked.py), far below the Monte Carlo noise of a step.
_NOISE_THRESHOLD = {"cpu": 0.005, "cuda": 0.05}


def noise_threshold(device: torch.device) -> float:
    """Return the noise variance below which training computes in float64 what is divided by it."""
    return _NOISE_THRESHOLD[device.type]


def factor_gram(
    gram: Float[Tensor, "F F"], C: Float[Tensor, "F r"], s: Number, dtype: torch.dtype
) -> FeatureSpaceFactors:
    """Factor A = Phi' Phi + s I and solve A B = C.

    Args:
        gram: Phi' Phi in float64; only the lower triangle is read, and it is overwritten.
        C: Phi' Y in float64.
        s: the noise variance.
        dtype: the precision of the matrices that are returned.
    """
    gram.diagonal().add_(s)
    L = cholesky(gram)
    L_inverse = invert_lower_triangular(L)
    H, log_det = L_inverse @ C, 2 * L.diagonal().log().sum()
    rounded, B = L_inverse.to(dtype), L_inverse.to(dtype).T @ H.to(dtype)
    return FeatureSpaceFactors(
        s, log_det if L.is_cuda else log_det.item(), energy(L_inverse), energy(H), rounded, B
    )  # fmt: skip


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


def evidence_gradients(
    target: Target, X: Float[Tensor, "N D"], frequencies: Frequencies, noise_variance: Number, plan: BlockPlan
) -> EvidenceWithGradients:
    """Return the log evidence of a view with its gradients, without autograd.

    The arguments are those of `blocked_log_evidence`; none of them requires gradients.
    """
    kept, blocks = {}, _blocks(target, X, frequencies, plan, with_grad=True)
    factors = blocks.factors(noise_variance, kept)
    quadratic = quadratic_terms(target, factors, blocks.residual_energy(factors, kept))
    grad_X, gradients = blocks.gradients(factors, kept)
    grad_s = noise_gradient(target, len(X), factors, quadratic)
    return EvidenceWithGradients(evidence_value(target, len(X), factors, quadratic), grad_X, gradients, grad_s)


def log_evidence_of_rows(
    target: Target, X: Float[Tensor, "N D"], frequencies: Frequencies, noise_variance: Number, plan: BlockPlan
) -> Number:
    """Return the log evidence of a view without gradients; the arguments are those of `blocked_log_evidence`."""
    kept, blocks = {}, _blocks(target, X, frequencies, plan, with_grad=False)
    factors = blocks.factors(noise_variance, kept)
    quadratic = quadratic_terms(target, factors, blocks.residual_energy(factors, kept))
    return evidence_value(target, len(X), factors, quadratic)


def _blocks(
    target: Target, X: Float[Tensor, "N D"], frequencies: Frequencies, plan: BlockPlan, *, with_grad: bool
) -> "_RowBlocks | StackedBlocks":
    kind = _RowBlocks if plan.exact or X.is_cuda else StackedBlocks
    return kind(target, X, frequencies, plan, with_grad=with_grad)


class _BlockedLogEvidence(torch.autograd.Function):
    """Combines the value with its analytic gradient, so that autograd does not differentiate a factorisation."""

    @staticmethod
    def forward(ctx: Any, target: Target, plan: BlockPlan, with_grad: bool, X: Tensor, *rest: Any) -> Tensor:
        frequencies, noise_variance = Frequencies(*rest[:3]), rest[3]
        s = noise_variance.double() if X.is_cuda else noise_variance.item()
        as_tensor = partial(torch.as_tensor, dtype=torch.float64, device=X.device)
        if not with_grad:
            return as_tensor(log_evidence_of_rows(target, X, frequencies, s, plan))
        value, grad_X, gradients, grad_s = evidence_gradients(target, X, frequencies, s, plan)
        grad_carrier, *grad_envelope = gradients.frequencies.split(len(frequencies.carrier))
        ctx.save_for_backward(
            grad_X, grad_carrier, grad_envelope[0] if grad_envelope else None, gradients.amplitude,
            as_tensor(grad_s).to(noise_variance),
        )  # fmt: skip
        return as_tensor(value)

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


class _RowBlocks:
    """The rows of a view, block by block, with their features.

    Features are computed for every pass over the rows, unless the plan keeps them: `kept` then maps the first row of a
    block to its features.
    """

    def __init__(
        self, target: Target, X: Float[Tensor, "N D"], frequencies: Frequencies, plan: BlockPlan, *, with_grad: bool
    ) -> None:
        self.target, self.frequencies, self.plan, self.with_grad = target, frequencies, plan, with_grad
        self.X = X.T.contiguous().T  # products with so few columns are fast only if the columns are contiguous
        self.keep = plan.keep and (with_grad or plan.exact)  # otherwise there is no second pass
        self.slices = plan.slices(len(X))

    def factors(self, s: Number, kept: dict[int, FeatureBlock]) -> FeatureSpaceFactors:
        """Return the factors of A = Phi' Phi + s I, in the first pass over the rows."""
        return factor_gram(*self.sums(kept), s, torch.float64 if self.plan.exact else self.X.dtype)

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
        with allow_tf32_matmul(Phi.device):  # both matrices consist of TF32 numbers
            return transposed_matmul(Phi, Phi), transposed_matmul(Phi, Y)

    def residual_energy(self, factors: FeatureSpaceFactors, kept: dict[int, FeatureBlock]) -> Number | None:
        """Return |Y - Phi B|^2 if everything that is divided by s is float64, otherwise None."""
        if not self.plan.exact:
            return None

        def term(rows: slice) -> tuple[Number]:
            block = self._features(rows, kept, with_grad=self.with_grad and self.keep)
            return (energy(residuals(block.Phi, self.target.Y[rows], factors.B)),)

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
