r"""The log evidence of a view in terms of sums over its rows, and its gradients with respect to features and noise.

With A = Phi' Phi + s I = LL', C = Phi' Y, H = L^-1 C and B = L'^-1 H = A^-1 C,

    log N(Y | 0, K) = -1/2 [ M (log|A| + (N - F) log s) + (|Y|^2 - |H|^2) / s + N M log 2 pi ]

    d/dPhi = R B' - M Phi A^-1 = Y B' / s - Phi (B B' / s + M A^-1)      with s R = Y - Phi B
    d/ds   = 1/2 [ |R|^2 - M ((N - F) / s + tr A^-1) ]                   with s^2 |R|^2 = |Y|^2 - |H|^2 - s |B|^2

A and C are sums over rows (`collapsed_blocked.py`, `collapsed_stacked.py`). Y may have been rotated and truncated
(`models/compression.py`): M and |Y|^2 are still those of the whole view, and truncated columns have C = 0, which can
only increase their (|Y|^2 - |H|^2) / s and thus lower the evidence.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.cpu_arithmetic import Arithmetic
from mvlvm.linalg.cuda import Workspace
from mvlvm.shapes import Number
from mvlvm.spectral.blocks import FrequencyGradients


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
        arithmetic: implementation of float32 products and functions on a CPU.
        space: memory for one block, used by one evaluation at a time.
    """

    n_rows: int
    keep: bool = True
    exact: bool = True
    arithmetic: Arithmetic = field(default_factory=Arithmetic)
    space: Workspace = field(default_factory=Workspace, repr=False)

    def slices(self, n_rows: int) -> list[slice]:
        """Return the blocks of a view with this number of rows."""
        return [slice(first, min(first + self.n_rows, n_rows)) for first in range(0, n_rows, self.n_rows)]


class FeatureSpaceFactors(NamedTuple):
    """Factors of A and solutions with it, from sums over all rows.

    Numbers are float64; matrices have the precision in which gradients are computed.

    Attributes:
        s: the noise variance.
        log_det: log|A|.
        inverse_trace: tr A^-1.
        H_energy: |H|^2.
        L_inverse: L^-1.
        B: A^-1 C.
    """

    s: Number
    log_det: Number
    inverse_trace: Number
    H_energy: Number
    L_inverse: Float[Tensor, "F F"]
    B: Float[Tensor, "F r"]


class EvidenceWithGradients(NamedTuple):
    """The log evidence of a view with its gradients.

    Attributes:
        value: the log evidence.
        X: gradient with respect to the latents.
        frequencies: with respect to the frequencies of the features.
        noise_variance: with respect to s.
    """

    value: Number
    X: Float[Tensor, "N D"]
    frequencies: FrequencyGradients
    noise_variance: Number


class QuadraticTerms(NamedTuple):
    """Sums over all columns: value is y' K^-1 y, residual_energy is s^2 |R|^2."""

    value: Number
    residual_energy: Number


def energy(A: Float[Tensor, "n m"]) -> Number:
    """Return the sum of squares of a matrix in float64."""
    total = A.square().sum(dtype=torch.float64)
    return total if A.is_cuda else total.item()


def _log(value: Number) -> Number:
    return value.log() if isinstance(value, Tensor) else math.log(value)


def quadratic_terms(target: Target, factors: FeatureSpaceFactors, residual_energy: Number | None) -> QuadraticTerms:
    """Return the quadratic terms, from the residuals if these were computed."""
    B_energy = energy(factors.B)
    if residual_energy is None:
        value = (target.energy - factors.H_energy) / factors.s
        return QuadraticTerms(value, factors.s * (value - B_energy))
    residual_energy = residual_energy + target.truncated_energy
    return QuadraticTerms(residual_energy / factors.s + B_energy, residual_energy)


def evidence_value(target: Target, N: int, factors: FeatureSpaceFactors, quadratic: QuadraticTerms) -> Number:
    """Return the log evidence of N rows."""
    F, M = len(factors.B), target.n_columns
    log_det = factors.log_det + (N - F) * _log(factors.s)
    return -0.5 * (M * log_det + quadratic.value + N * M * math.log(2 * math.pi))


def noise_gradient(target: Target, N: int, factors: FeatureSpaceFactors, quadratic: QuadraticTerms) -> Number:
    """Return the gradient with respect to s, of N rows."""
    inverse_trace = (N - len(factors.B)) / factors.s + factors.inverse_trace
    return 0.5 * (quadratic.residual_energy / factors.s**2 - target.n_columns * inverse_trace)
