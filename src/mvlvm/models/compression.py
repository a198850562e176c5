r"""A view in fewer columns: the leading directions of it, with the energy of all.

A Gaussian view enters its evidence only through Y Y', so a rotation of its columns changes nothing. After the rotation
that puts the directions of most energy first, the last columns can be left out, if their number and their energy are
still counted: their y' K^-1 y is taken for |y|^2 / s, which is never less. So the bound can only fall, and stays one.

How many are left out is decided by the noise: all of them together have at most a tenth of the noise's energy, so the
noise variance, which takes them for noise, is at most so much too large. As the noise is learned, the cut moves.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.evidence.collapsed_blocked import Target
from mvlvm.linalg.gram import round_to_tf32, supports_tf32
from mvlvm.linalg.randomized_svd import right_singular_vectors

# What may be cut by default, as a share of the noise's energy N M s.
AUTO_SHARE = 0.1
# A view is rotated only if that saves at least this share of its columns, and cut anew only if it saves as much again.
_LEAST_SAVED = 0.2
# Directions are found from all products of columns, or rows, up to this many; from a random sketch beyond it.
_MOST_EXACT = 3000
_SKETCH = 1024
_ROWS = 8192
# Columns come in multiples of this, which products like.
_ALIGNED = 16
# What the noise is likely to be, as a share of what two directions leave over: all that is known before training.
_LIKELY_NOISE = 0.6
# Energies below this share of all are rounding.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Directions:
    """The directions of a view, by falling energy.

    Attributes:
        basis: orthonormal, one direction per column.
        left: energy that is left over after the first k directions, for every k from none to all of them.
        energy: of the view.
    """

    basis: Float[Tensor, "M R"]
    left: Float[Tensor, " R1"]
    energy: float

    def needed(self, most_cut: float) -> int | None:
        """Give how many directions leave out no more energy than this; None if those that were found do not."""
        enough = self.left <= most_cut
        return int(enough.int().argmax()) if enough.any() else None


def find_directions(Y: Float[Tensor, "N M"], dtype: torch.dtype) -> Directions:
    """Find the directions of a view.

    Args:
        Y: the view, complete.
        dtype: of products; any orthonormal basis will do, so this need not be the view's.
    """
    N, M = Y.shape
    total = energy_of(Y)
    if min(N, M) > _MOST_EXACT:
        basis, energy = right_singular_vectors(Y, _SKETCH, dtype)
    elif M <= N:
        energy, basis = torch.linalg.eigh(_gram(Y, dtype))
    else:
        energy, across = torch.linalg.eigh(_gram(Y.T, dtype))
        basis = torch.linalg.qr(Y.T @ across.flip(1).to(Y)).Q.flip(1)
    left = total - torch.cat([energy.new_zeros(1), energy.flip(0).cumsum(dim=0)])
    return Directions(basis.flip(1).to(dtype).contiguous(), left.clamp_min(_ROUNDING * total).cpu(), total)


def energy_of(Y: Float[Tensor, "N M"]) -> float:
    """Give |Y|^2, summed in float64."""
    return float(torch.stack([block.double().square().sum() for block in Y.split(_ROWS)]).sum())


def _gram(Y: Float[Tensor, "N M"], dtype: torch.dtype) -> Float[Tensor, "M M"]:
    """Give Y' Y, products in `dtype` and sums in float64."""
    total = torch.zeros((Y.shape[1], Y.shape[1]), dtype=torch.float64, device=Y.device)
    for block in Y.split(_ROWS):
        part = block.to(dtype)
        total += part.T @ part
    return total


class Compressed:
    """A view that is cut as short as its noise allows.

    Args:
        Y: the view, complete, its rows weighed.
        share: what may be cut, as a share of the noise's energy.
        dtype: of the columns that are kept.
        row_scale: the roots of the rows' weights; None is one.

    Attributes:
        target: the view as it is cut at present.
        n_kept: how many directions that are.
    """

    def __init__(
        self,
        Y: Float[Tensor, "N M"],
        *,
        share: float,
        dtype: torch.dtype,
        row_scale: Float[Tensor, " N"] | None = None,
    ) -> None:
        self._Y, self._share, self._dtype, self._row_scale = Y, share, dtype, row_scale
        self._coarse = True
        self._directions = find_directions(Y, dtype)
        needed = self._needed(_LIKELY_NOISE * float(self._directions.left[:3][-1]) / Y.numel())
        self._keep(needed)

    def round_as(self, *, coarse: bool) -> None:
        """Say whether a GPU may round columns to what TF32 can hold."""
        if coarse != self._coarse:
            self._coarse = coarse
            if supports_tf32(self.target.Y):
                self._keep(self.n_kept)

    def cut(self, noise_variance: float) -> None:
        """Cut anew, if the noise has changed so much that it is worth it."""
        needed = self._needed(noise_variance)
        if self.n_kept < needed or needed < (1 - _LEAST_SAVED) * self.n_kept:
            self._keep(needed)

    def _needed(self, noise_variance: float) -> int:
        """Give how many directions the noise asks for, or all columns where that would save little."""
        N, M = self._Y.shape
        needed, n_found = self._directions.needed(self._share * N * M * noise_variance), self._directions.basis.shape[1]
        if needed is None:
            return N if n_found == N < M else M  # as many directions as rows hold all of a wide view
        needed = min(n_found, _ALIGNED * -(-needed // _ALIGNED))
        return needed if needed <= (1 - _LEAST_SAVED) * M else M

    def _keep(self, n: int) -> None:
        """Keep so many directions; if that is all of them, the columns as they are."""
        (N, M), energy = self._Y.shape, self._directions.energy
        basis = None if n == M else self._directions.basis[:, :n].contiguous()
        # columns of zeros change nothing, and a GPU multiplies faster with them
        width = n + (-n % _ALIGNED if self._Y.is_cuda else 0)
        Y = self._Y.new_zeros((N, width), dtype=self._dtype)
        on_grid = self._coarse and supports_tf32(Y)
        for rows in range(0, N, _ROWS):
            block = self._Y[rows : rows + _ROWS].to(self._dtype)
            block = block if basis is None else block @ basis
            Y[rows : rows + _ROWS, :n] = round_to_tf32(block) if on_grid else block
        cut = 0.0 if n == M else max(0.0, energy - energy_of(Y))
        self.n_kept, self.target = n, Target(Y, M, energy, cut, self._row_scale, on_grid)
