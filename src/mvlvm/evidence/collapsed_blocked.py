r"""What is left of a view's rows once they are summed over, and the slopes of its evidence by features.

With A = Phi' Phi + s I = LL', C = Phi' Y, H = L^-1 C and B = L'^-1 H, see `evidence/collapsed_blocked.py`.

The log evidence of a view straight from its latents, a block of rows at a time, with its analytic gradient.

It is that of `evidence/collapsed.py` for F < N, without ever holding all features. With A = Phi' Phi + s I = LL',
C = Phi' Y, H = L^-1 C and B = L'^-1 H

    log N(Y | 0, K) = -1/2 [ M (log|A| + (N - F) log s) + (|Y|^2 - |H|^2) / s + N M log 2 pi ]

    by Phi:  R B' - M Phi A^-1        s R = Y - Phi B
    by s:    1/2 [ |R|^2 - M ((N - F) / s + tr A^-1) ]        s^2 |R|^2 = |Y|^2 - |H|^2 - s |B|^2

A, C and the slopes by frequencies are sums over rows, and the slopes by a row's latent need that row alone: two passes
over the blocks, with the small matrices factored between them. Y may have been rotated and cut short
(`models/compression.py`): then M and |Y|^2 are still those of the whole view, and the columns that were cut have C = 0,
which can only raise their (|Y|^2 - |H|^2) / s, and lower the evidence.

**Precision.** A is as ill-conditioned as N / s, and whatever is rounded enters divided by s. While s is not small
(`FLOAT64_NOISE_THRESHOLD`), A and C take the features' precision within a block of rows and float64 sums over blocks, and the
slopes by Phi are

    Y (B' / s) - Phi (B B' / s + M A^-1)

in the precision of the features; on a GPU, features and Y lie on the grid of TF32, on which its products are exact
(`linalg/gram.py`). When it is small, R is formed in float64, and s |R|^2 + |B|^2 takes
the place of the small difference of large numbers above.
"""

import math
from collections.abc import Iterator
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
from mvlvm.shapes import Scalar
from mvlvm.spectral.blocks import FeatureBlock, FrequencyGradients, feature_block, features_vjp
from mvlvm.spectral.features import Frequencies


class FeatureSpaceFactors(NamedTuple):
    """What is left of the rows once they are summed over: scalars in float64, matrices as slopes need them."""

    s: Scalar
    log_det: Scalar  # log|A|
    inverse_trace: Scalar  # tr A^-1
    H_energy: Scalar  # |H|^2
    L_inverse: Float[Tensor, "F F"]
    B: Float[Tensor, "F r"]


def factor_gram(
    gram: Float[Tensor, "F F"], C: Float[Tensor, "F r"], s: Scalar, dtype: torch.dtype
) -> FeatureSpaceFactors:
    """Factor A = Phi' Phi + s I, of which the lower half is given, and solve with it; matrices in precision `dtype`."""
    L = cholesky(add_to_diagonal(gram, s))
    L_inverse = invert_lower_triangular(L)
    H = L_inverse @ C
    log_det, inverse_trace = 2 * L.diagonal().log().sum(), L_inverse.square().sum()
    in_slopes = L_inverse.to(dtype)
    return FeatureSpaceFactors(s, log_det, inverse_trace, H.square().sum(), in_slopes, in_slopes.T @ H.to(dtype))


class ExactFeatureGradient:
    """R B' - M Phi A^-1, residuals R in float64."""

    def __init__(self, small: FeatureSpaceFactors, n_columns: int, dtype: torch.dtype) -> None:
        self.B, self.B_over_s = small.B, (small.B / small.s).to(dtype)
        self.minus_MA = (-n_columns * small.L_inverse.T @ small.L_inverse).to(dtype)

    def __call__(
        self, Phi: Float[Tensor, "N F"], Y: Float[Tensor, "N r"], into: Float[Tensor, "N F"]
    ) -> Float[Tensor, "N F"]:
        """Write the slopes by the features of some rows."""
        R = residuals(Phi, Y, self.B).to(Phi)
        return torch.mm(self.B_over_s, R.T, out=into.T).addmm_(self.minus_MA, Phi.T).T


class FastFeatureGradient:
    """Y (B' / s) - Phi W with W = B B' / s + M A^-1."""

    def __init__(self, small: FeatureSpaceFactors, n_columns: int, dtype: torch.dtype) -> None:
        self.B_over_s = (small.B / small.s).to(dtype)
        A_inverse = small.L_inverse.T @ small.L_inverse
        self.minus_W = torch.addmm(A_inverse, self.B_over_s, small.B.T, beta=-n_columns, alpha=-1)

    def __call__(
        self, Phi: Float[Tensor, "N F"], Y: Float[Tensor, "N r"], into: Float[Tensor, "N F"]
    ) -> Float[Tensor, "N F"]:
        """Write the slopes by the features of some rows."""
        grad_Y = split_precision_matmul(self.B_over_s, Y.T, into=into.T)
        return split_precision_matmul(self.minus_W, Phi.T, into=grad_Y, add=True).T


def residuals(Phi: Float[Tensor, "N F"], Y: Float[Tensor, "N r"], B: Float[Tensor, "F r"]) -> Float[Tensor, "N r"]:
    """Give Y - Phi B in float64."""
    return torch.addmm(Y.double(), Phi.double(), B, alpha=-1)


# Below this noise variance nothing is rounded to float32 before it is divided by s; it is looked at every fifty steps
# (`training/loop.py`), in which the noise moves by less than an order of magnitude. Above it float32 products are off
# by 6e-8 / 0.05, a millionth of the evidence; the entries of A, of which a block of 4096 rows has errors of 1e-6, by so
# little that log|A| keeps seven digits; and features and columns on the grid of TF32 are off by at most 4.9e-4 of
# themselves, each in its own direction, which is noise of less than 1e-7 of their variance beside 0.05.
FLOAT64_NOISE_THRESHOLD = 0.05
# A processor multiplies so few columns faster from the left.
_NARROW = 32


class Target(NamedTuple):
    """A view as its evidence takes it: all of its columns, or the leading directions of them.

    Attributes:
        Y: the view, rotated and cut short or not; rows already weighed.
        n_columns: M, all columns of the view.
        energy: |Y|^2 of all columns.
        cut: the part of it that Y does not have.
        row_scale: the square roots of the rows' weights, by which features are multiplied; None is one.
        on_grid: whether Y lies on the grid of TF32 already.
    """

    Y: Float[Tensor, "N r"]
    n_columns: int
    energy: float
    truncated_energy: float = 0.0
    row_scale: Float[Tensor, " N"] | None = None
    rounded_to_tf32: bool = False


@dataclass(frozen=True)
class BlockPlan:
    """How rows are worked on.

    Attributes:
        n_rows: in a block.
        keep: whether features are kept from the first pass to the second, or computed again.
        exact: whether everything that is divided by s is float64.
        space: memory for one block, used by one evidence at a time.
    """

    n_rows: int
    keep: bool = True
    exact: bool = True
    space: Workspace = field(default_factory=Workspace, repr=False)


def blocked_log_evidence(
    target: Target, X: Float[Tensor, "N D"], frequencies: Frequencies, noise_variance: Scalar, plan: BlockPlan
) -> Scalar:
    """Give the log evidence of a view in float64, differentiable once by latents, frequencies and noise.

    Costs O(N F^2 + N r F) and holds O(n_rows F) numbers, or O(N F) if features are kept. For F < N.

    Args:
        target: the view.
        X: the latents of its rows.
        frequencies: of its features.
        noise_variance: s, positive.
        plan: how rows are worked on.

    Raises:
        NumericalError: the covariance cannot be factored.
    """
    by = (X, *(part for part in frequencies if part is not None), noise_variance)
    with_grad = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in by)
    return _BlockedLogEvidence.apply(target, plan, with_grad, X, *frequencies, noise_variance)  # pyright: ignore[reportReturnType]


class _BlockedLogEvidence(torch.autograd.Function):
    """Joins the value and its analytic gradient; nothing is differentiated through a factorisation."""

    @staticmethod
    def forward(ctx: Any, target: Target, plan: BlockPlan, with_grad: bool, X: Tensor, *rest: Any) -> Tensor:
        frequencies, noise_variance = Frequencies(*rest[:3]), rest[3]
        blocks = _RowBlocks(target, X, frequencies, plan, with_grad)
        small = factor_gram(*blocks.sums(), noise_variance.double(), torch.float64 if plan.exact else X.dtype)
        misfit = _misfit(target, small, blocks.residual_energy(small))
        if with_grad:
            grad_X, grad_frequencies = blocks.slopes(small)
            grad_carrier, *grad_envelope = grad_frequencies.frequencies.split(len(frequencies.carrier))
            grad_s = _noise_gradient(target, len(X), small, misfit).to(noise_variance)
            ctx.save_for_backward(
                grad_X, grad_carrier, grad_envelope[0] if grad_envelope else None, grad_frequencies.amplitude, grad_s
            )  # fmt: skip
        return _value(target, len(X), small, misfit)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        forbid_double_backward("blocked_log_evidence")
        grad_X, *grad_frequencies, grad_s = ctx.saved_tensors
        times = gradient.to(grad_X)
        return (
            None,
            None,
            None,
            times * grad_X,
            *(None if by is None else times * by for by in grad_frequencies),
            (gradient.to(grad_s) * grad_s),
        )


class _Misfit(NamedTuple):
    """Of all columns: the sum of y' K^-1 y, and s^2 |R|^2."""

    squares: Scalar
    residual_energy: Scalar


def _misfit(target: Target, small: FeatureSpaceFactors, residual_energy: Scalar | None) -> _Misfit:
    """Put the misfit together, from the residuals where they were formed."""
    weights = small.B.square().sum(dtype=torch.float64)
    if residual_energy is None:
        squares = (target.energy - small.H_energy) / small.s
        return _Misfit(squares, small.s * (squares - weights))
    return _Misfit(
        (residual_energy + target.truncated_energy) / small.s + weights, residual_energy + target.truncated_energy
    )


def _value(target: Target, N: int, small: FeatureSpaceFactors, misfit: _Misfit) -> Scalar:
    F, M = len(small.B), target.n_columns
    log_det = small.log_det + (N - F) * small.s.log()
    return -0.5 * (M * log_det + misfit.squares + N * M * math.log(2 * math.pi))


def _noise_gradient(target: Target, N: int, small: FeatureSpaceFactors, misfit: _Misfit) -> Scalar:
    inverse_trace = (N - len(small.B)) / small.s + small.inverse_trace
    return 0.5 * (misfit.residual_energy / small.s**2 - target.n_columns * inverse_trace)


class _RowBlocks:
    """The rows of a view, block by block."""

    def __init__(
        self, target: Target, X: Float[Tensor, "N D"], frequencies: Frequencies, plan: BlockPlan, with_grad: bool
    ) -> None:
        self.target, self.frequencies, self.plan, self.with_grad = target, frequencies, plan, with_grad
        self.X = X.T.contiguous().T  # products with so few columns are fast only if these are contiguous
        self.keep = plan.keep and (with_grad or plan.exact)  # else there is no second pass
        self.kept: dict[int, FeatureBlock] = {}

    def sums(self) -> tuple[Float[Tensor, "F F"], Float[Tensor, "F r"]]:
        """Give the lower half of Phi' Phi, and C = Phi' Y."""
        of_block = self._exact_sums if self.plan.exact else self._fast_sums
        sums = (of_block(rows, block) for rows, block in self._blocks(with_grad=self.with_grad and self.keep))
        gram, C = (part.double() for part in next(sums))
        for more_gram, more_C in sums:
            gram += more_gram
            C += more_C
        return gram, C

    def _exact_sums(self, rows: slice, block: FeatureBlock) -> tuple[Float[Tensor, "F F"], Float[Tensor, "F r"]]:
        Phi = block.in_double(self.plan.space)
        return lower_gram(Phi), Phi.T @ self.target.Y[rows].double()

    def _fast_sums(self, rows: slice, block: FeatureBlock) -> tuple[Float[Tensor, "F F"], Float[Tensor, "F r"]]:
        Phi, Y = block.Phi, self._columns(rows)
        if Phi.is_cuda:
            with allow_tf32_matmul(Phi.device):  # both lie on its grid
                return transposed_matmul(Phi, Phi), transposed_matmul(Phi, Y)
        return lower_gram(Phi), (Y.T @ Phi).T if Y.shape[1] <= _NARROW else Phi.T @ Y

    def residual_energy(self, small: FeatureSpaceFactors) -> Scalar | None:
        """Give |Y - Phi B|^2 where it must be exact."""
        if not self.plan.exact:
            return None
        blocks = self._blocks(with_grad=self.with_grad and self.keep)
        of_blocks = (residuals(block.Phi, self.target.Y[rows], small.B) for rows, block in blocks)
        return torch.stack([R.square().sum() for R in of_blocks]).sum()

    def slopes(self, small: FeatureSpaceFactors) -> tuple[Float[Tensor, "N D"], FrequencyGradients]:
        """Give the slopes by latents, and by frequencies."""
        grad_X, parts = torch.empty_like(self.X), []
        by_features = (ExactFeatureGradient if self.plan.exact else FastFeatureGradient)(
            small, self.target.n_columns, self.X.dtype
        )
        for rows, block in self._blocks(with_grad=True):
            into = self.plan.space.take("slopes", block.Phi.T.shape, block.Phi)
            G = by_features(block.Phi, self.target.Y[rows] if self.plan.exact else self._columns(rows), into.T)
            grad_X[rows], part = features_vjp(block, G, self.X[rows], self.frequencies, self.plan.space)
            parts.append(part)
        summed = parts[0] if len(parts) == 1 else (torch.stack(part).sum(dim=0) for part in zip(*parts, strict=True))
        return grad_X, FrequencyGradients(*summed)

    def _columns(self, rows: slice) -> Float[Tensor, "n r"]:
        """Give some rows of Y in the precision of the features, as products are fast with."""
        Y = self.target.Y[rows].to(self.X)
        return round_to_tf32(Y) if supports_tf32(Y) and not self.target.rounded_to_tf32 else Y

    def _blocks(self, *, with_grad: bool) -> Iterator[tuple[slice, FeatureBlock]]:
        """Give the features of one block after the other: those that were kept, or computed again."""
        N = len(self.X)
        for first in range(0, N, self.plan.n_rows):
            rows = slice(first, min(first + self.plan.n_rows, N))
            block = self.kept.get(first)
            if block is None:
                scale = None if self.target.row_scale is None else self.target.row_scale[rows]
                block = feature_block(
                    self.X[rows], self.frequencies, with_grad=with_grad, row_scale=scale,
                    coarse=not self.plan.exact, space=self.plan.space, slot=first if self.keep else 0,
                )  # fmt: skip
                if self.keep:
                    self.kept[first] = block.to_keep()
            yield rows, block
