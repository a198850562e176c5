"""The leading directions of matrices side by side, which are never put into one."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.gram import add_lower_gram
from mvlvm.row_blocks import row_blocks

# Beyond this size a Gram matrix and its eigenvectors cost more than what is wanted of them.
_LARGEST_GRAM = 2000
# Directions are then found by multiplying random ones with the matrix and back, so many times, and so many more than
# are wanted. At every turn what is foreign in them falls by the square of the ratio of singular values, that of the
# first direction beyond the spare ones to that of the last wanted.
_N_TURNS, _N_SPARE = 8, 10


@dataclass(frozen=True)
class ConcatenatedMatrix:
    """The N x M matrix Z = [c_1 Y_1, c_2 Y_2, ...].

    Attributes:
        parts: the Y.
        factors: the c.
    """

    parts: Sequence[Float[Tensor, "N _"]]
    factors: Sequence[float]

    def left_singular_vectors(self, n: int) -> tuple[Float[Tensor, "N n"], Float[Tensor, " n"]]:
        """Give the first left singular vectors and values; n, or as many as there are."""
        N, M = len(self.parts[0]), sum(self._widths)
        if min(N, M) > _LARGEST_GRAM:
            return self._by_turns(n)
        values, vectors = torch.linalg.eigh(self._outer_gram() if N <= M else self._inner_gram())
        values, vectors = values.flip(0)[:n].clamp_min(0).sqrt(), vectors.flip(1)[:, :n]
        left = vectors if N <= M else self._times(vectors) / values.clamp_min(torch.finfo(values.dtype).tiny)
        return left, values

    def _by_turns(self, n: int) -> tuple[Float[Tensor, "N n"], Float[Tensor, " n"]]:
        """Give them to the precision that a start needs, by block power iteration from random directions."""
        draws = torch.randn((sum(self._widths), n + _N_SPARE), generator=torch.Generator().manual_seed(0))
        V = draws.to(self.parts[0])
        for _ in range(_N_TURNS):
            U = torch.linalg.qr(self._times(V)).Q
            V = torch.linalg.qr(self._transposed_times(U)).Q
        left, values, _ = torch.linalg.svd(self._times(V), full_matrices=False)
        return left[:, :n], values[:n]

    @property
    def _widths(self) -> list[int]:
        return [part.shape[1] for part in self.parts]

    def _outer_gram(self) -> Float[Tensor, "N N"]:
        gram = self.parts[0].new_zeros((len(self.parts[0]),) * 2, dtype=torch.float64)
        for part, factor in zip(self.parts, self.factors, strict=True):
            double = part.double()
            gram.addmm_(double, double.T, alpha=factor**2)
        return gram

    def _inner_gram(self) -> Float[Tensor, "M M"]:
        """Give the lower half of Z' Z, which is all that is read of it."""
        M = sum(self._widths)
        gram = self.parts[0].new_zeros((M, M), dtype=torch.float64)
        for rows in row_blocks(len(self.parts[0]), M):
            pairs = zip(self.parts, self.factors, strict=True)
            Z = torch.cat([part[rows].double() * factor for part, factor in pairs], dim=1)
            add_lower_gram(gram, Z)
        return gram

    def _times(self, V: Float[Tensor, "M k"]) -> Float[Tensor, "N k"]:
        product = V.new_zeros((len(self.parts[0]), V.shape[1]))
        for part, factor, v in zip(self.parts, self.factors, V.split(self._widths), strict=True):
            product.add_(part @ v.to(part), alpha=factor)
        return product

    def _transposed_times(self, U: Float[Tensor, "N k"]) -> Float[Tensor, "M k"]:
        return torch.cat(
            [factor * (part.T @ U.to(part)) for part, factor in zip(self.parts, self.factors, strict=True)]
        )
