r"""Compression of complete Gaussian views to their leading principal directions.

A Gaussian view enters its evidence only through Y Y', so a rotation of its columns changes nothing.
After the rotation to principal directions the last columns can be dropped, if their number and their energy are still
counted: their y' K^-1 y is replaced by |y|^2 / s, which is never smaller. So the bound can only decrease, and remains a
bound. How many directions are dropped depends on the noise: together they have at most a tenth of the noise's energy
N M s, so the noise variance, which has to account for them, is at most that much too large. The truncation follows the
noise variance as it is learned.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.evidence.feature_space import Target
from mvlvm.linalg.gram import round_to_tf32, supports_tf32
from mvlvm.linalg.randomized_svd import right_singular_vectors
from mvlvm.row_blocks import row_sum

# Energy that may be dropped by default, as a share of the noise's energy N M s.
AUTO_SHARE = 0.1
# A view is rotated only if that saves at least this share of its columns, and truncated further only if it saves as
# much again.
_MIN_SAVED = 0.2
# Up to this many columns, or rows, directions come from the full Gram matrix; from a random sketch beyond it.
_MAX_EXACT = 3000
_SKETCH = 1024
_BLOCK_ROWS = 8192
# Numbers of columns are multiples of this, for which matrix products are fast.
_ALIGNMENT = 16
# Before training, the noise is taken to be this share of what two directions leave over.
_EXPECTED_NOISE_SHARE = 0.6
# Energies below this share of the total are rounding errors.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Directions:
    """Principal directions of a view in order of decreasing energy.

    Attributes:
        basis: orthonormal, one direction per column.
        residual: energy that the first k directions leave over, for k = 0, ..., R.
        energy: |Y|^2 of the view.
    """

    basis: Float[Tensor, "M R"]
    residual: Float[Tensor, " R1"]
    energy: float

    def n_needed(self, max_residual: float) -> int | None:
        """Return the smallest number of directions that leave over at most this energy; None if all R leave more."""
        enough = self.residual <= max_residual
        return int(enough.int().argmax()) if enough.any() else None


def principal_directions(Y: Float[Tensor, "N M"], dtype: torch.dtype) -> Directions:
    """Compute the principal directions of a complete view.

    Args:
        Y: the view.
        dtype: precision of the products; any orthonormal basis serves, so this need not be the view's.
    """
    N, M = Y.shape
    total = squared_norm(Y)
    if min(N, M) > _MAX_EXACT:
        basis, energy = right_singular_vectors(Y, _SKETCH, dtype)
    elif M <= N:
        energy, basis = torch.linalg.eigh(_gram(Y, dtype))
    else:
        energy, across = torch.linalg.eigh(_gram(Y.T, dtype))
        basis = torch.linalg.qr(Y.T @ across.flip(1).to(Y)).Q.flip(1)
    residual = total - torch.cat([energy.new_zeros(1), energy.flip(0).cumsum(dim=0)])
    return Directions(basis.flip(1).to(dtype).contiguous(), residual.clamp_min(_ROUNDING * total).cpu(), total)


def squared_norm(Y: Float[Tensor, "N M"]) -> float:
    """Return |Y|^2, summed in float64."""
    return float(row_sum(_blocks(Y), lambda rows: (Y[rows].double().square().sum(),))[0])


def _gram(Y: Float[Tensor, "N M"], dtype: torch.dtype) -> Float[Tensor, "M M"]:
    """Return Y' Y, with products in `dtype` and sums over blocks in float64."""

    def term(rows: slice) -> tuple[Float[Tensor, "M M"]]:
        part = Y[rows].to(dtype)
        return ((part.T @ part).double(),)

    return row_sum(_blocks(Y), term)[0]


def _blocks(Y: Float[Tensor, "N M"]) -> list[slice]:
    return [slice(first, first + _BLOCK_ROWS) for first in range(0, len(Y), _BLOCK_ROWS)]


@dataclass(frozen=True)
class Compression:
    """A complete view that can be truncated as far as its noise allows.

    Attributes:
        Y: the view, its rows scaled by the square roots of their sample weights.
        directions: its principal directions.
        max_energy_share: energy that may be dropped, as a share of the noise's.
        dtype: precision of the columns that are kept.
        row_scale: square roots of the sample weights; None stands for ones.
    """

    Y: Float[Tensor, "N M"]
    directions: Directions
    max_energy_share: float
    dtype: torch.dtype
    row_scale: Float[Tensor, " N"] | None = None

    def expected_n_kept(self) -> int:
        """Return the number of directions to keep before the noise is known."""
        return self._n_needed(_EXPECTED_NOISE_SHARE * float(self.directions.residual[:3][-1]) / self.Y.numel())

    def updated_n_kept(self, n_kept: int, noise_variance: float) -> int:
        """Return the number of directions to keep at this noise: the current one unless a change is worthwhile."""
        needed = self._n_needed(noise_variance)
        return needed if n_kept < needed or needed < (1 - _MIN_SAVED) * n_kept else n_kept

    def _n_needed(self, noise_variance: float) -> int:
        """Return the number of directions that the noise requires, or all columns where that would save little."""
        (N, M), n_found = self.Y.shape, self.directions.basis.shape[1]
        needed = self.directions.n_needed(self.max_energy_share * N * M * noise_variance)
        if needed is None:
            return N if n_found == N < M else M  # as many directions as rows span a wide view
        needed = min(n_found, _ALIGNMENT * -(-needed // _ALIGNMENT))
        return needed if needed <= (1 - _MIN_SAVED) * M else M

    def truncate(self, n_kept: int, *, coarse: bool) -> Target:
        """Project the view onto its leading directions; all M of them stand for the columns as they are.

        Args:
            n_kept: number of directions.
            coarse: whether a GPU may round the columns to TF32.
        """
        (N, M), energy = self.Y.shape, self.directions.energy
        basis = None if n_kept == M else self.directions.basis[:, :n_kept].contiguous()
        # columns of zeros change nothing, and a GPU multiplies faster with them
        width = n_kept + (-n_kept % _ALIGNMENT if self.Y.is_cuda else 0)
        Y = self.Y.new_zeros((width, N), dtype=self.dtype).T  # column by column, as the features are stored
        rounded = coarse and supports_tf32(Y)
        for rows in _blocks(self.Y):
            block = self.Y[rows].to(self.dtype)
            block = block if basis is None else block @ basis
            Y[rows, :n_kept] = round_to_tf32(block) if rounded else block
        dropped = 0.0 if n_kept == M else max(0.0, energy - squared_norm(Y))
        return Target(Y, M, energy, dropped, self.row_scale, rounded)
