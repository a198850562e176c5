r"""Leading singular vectors of large matrices by block power iteration with oversampling.

Starting from a random M x k matrix V, the iteration

    V <- qr(Z' Z V)

converges to the span of the leading right singular vectors of the N x M matrix Z. In each iteration the component of
V outside the span of the first n singular vectors shrinks by the factor $(s_{k+1} / s_n)^2$, where k > n is the number
of columns of V (Halko, Martinsson and Tropp, 2011). The draws have a fixed seed, so results are repeatable.

Two matrices occur: scaled views side by side (`ConcatenatedMatrix`, left singular vectors, for initial latents), and
a single view (`right_singular_vectors`, for its compression).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.gram import lower_gram
from mvlvm.row_blocks import row_blocks, row_sum

# Up to this size singular vectors come from the eigendecomposition of a Gram matrix, which is faster and exact.
_MAX_GRAM_SIZE = 2000
# Iterations and extra columns for the left singular vectors of initial latents, which need few digits.
_N_ITER, _N_OVERSAMPLES = 8, 10
# Two iterations are enough for a compression: any orthonormal basis is valid, a good one only leaves less energy out.
_N_ITER_RIGHT = 2
# Rows per product of the right singular vectors.
_ROWS_PER_BLOCK = 8192


def power_iteration(
    multiply: Callable[[Float[Tensor, "M k"]], Float[Tensor, "M k"]],
    V: Float[Tensor, "M k"],
    *,
    n_iter: int,
) -> Float[Tensor, "M k"]:
    """Return an orthonormal M x k basis of the approximate leading eigenspace of a symmetric operator.

    Args:
        multiply: the product of the operator, Z' Z up to a change of basis, with an M x k matrix.
        V: the initial matrix, see `random_matrix`.
        n_iter: the number of iterations, at least one.
    """
    for _ in range(n_iter):
        V = torch.linalg.qr(multiply(V)).Q
    return V


def random_matrix(n_rows: int, n_columns: int, dtype: torch.dtype, seed: int = 0) -> Float[Tensor, "M k"]:
    """Return a standard normal matrix, drawn on the CPU so that all devices get the same."""
    return torch.randn((n_rows, n_columns), generator=torch.Generator().manual_seed(seed), dtype=dtype)


def right_singular_vectors(
    Y: Float[Tensor, "N M"], n: int, dtype: torch.dtype
) -> tuple[Float[Tensor, "M n"], Float[Tensor, " n"]]:
    """Return the approximate leading right singular vectors, (M, n), and squared singular values in ascending order.

    Args:
        Y: the matrix; products are computed in blocks of rows.
        n: the number of vectors. The last ones are inaccurate, as there is no oversampling.
        dtype: the dtype of products; sums over blocks of the n x n Gram matrix are float64.
    """
    blocks = [slice(first, first + _ROWS_PER_BLOCK) for first in range(0, len(Y), _ROWS_PER_BLOCK)]

    def multiply(V: Float[Tensor, "M n"]) -> Float[Tensor, "M n"]:
        return row_sum(blocks, lambda rows: (Y[rows].to(dtype).T @ (Y[rows].to(dtype) @ V),))[0]

    def projected_gram(rows: slice) -> tuple[Float[Tensor, "n n"]]:
        projected = Y[rows].to(dtype) @ V
        return ((projected.T @ projected).double(),)

    V = power_iteration(multiply, random_matrix(Y.shape[1], n, dtype).to(Y.device), n_iter=_N_ITER_RIGHT)
    (gram,) = row_sum(blocks, projected_gram)
    squared_singular_values, rotation = torch.linalg.eigh(gram)
    return V @ rotation.to(dtype), squared_singular_values


@dataclass(frozen=True)
class ConcatenatedMatrix:
    """The N x M matrix Z = [c_1 Y_1, c_2 Y_2, ...], which is never formed.

    Attributes:
        parts: the matrices Y.
        factors: the numbers c.
    """

    parts: Sequence[Float[Tensor, "N _"]]
    factors: Sequence[float]

    def left_singular_vectors(self, n: int) -> tuple[Float[Tensor, "N n"], Float[Tensor, " n"]]:
        """Return the leading left singular vectors, (N, n), and singular values, (n,); fewer if min(N, M) < n."""
        N, M = len(self.parts[0]), sum(self._widths)
        if min(N, M) > _MAX_GRAM_SIZE:
            return self._randomized(n)
        values, vectors = torch.linalg.eigh(self._outer_gram() if N <= M else self._inner_gram())
        values, vectors = values.flip(0)[:n].clamp_min(0).sqrt(), vectors.flip(1)[:, :n]
        left = vectors if N <= M else self._times(vectors) / values.clamp_min(torch.finfo(values.dtype).tiny)
        return left, values

    def _randomized(self, n: int) -> tuple[Float[Tensor, "N n"], Float[Tensor, " n"]]:
        """Return approximate left singular vectors and values by block power iteration with oversampling."""

        def multiply(V: Float[Tensor, "M k"]) -> Float[Tensor, "M k"]:
            # orthonormalised in between, because squared singular values would cost half of the digits of float32
            return self._transposed_times(torch.linalg.qr(self._times(V)).Q)

        V = random_matrix(sum(self._widths), n + _N_OVERSAMPLES, torch.float32).to(self.parts[0])
        V = power_iteration(multiply, V, n_iter=_N_ITER)
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
        """Return the lower triangle of Z' Z, the only part that `eigh` reads."""

        def term(rows: slice) -> tuple[Float[Tensor, "M M"]]:
            pairs = zip(self.parts, self.factors, strict=True)
            return (lower_gram(torch.cat([part[rows].double() * factor for part, factor in pairs], dim=1)),)

        return row_sum(row_blocks(len(self.parts[0]), sum(self._widths)), term)[0]

    def _times(self, V: Float[Tensor, "M k"]) -> Float[Tensor, "N k"]:
        product = V.new_zeros((len(self.parts[0]), V.shape[1]))
        for part, factor, v in zip(self.parts, self.factors, V.split(self._widths), strict=True):
            product.add_(part @ v.to(part), alpha=factor)
        return product

    def _transposed_times(self, U: Float[Tensor, "N k"]) -> Float[Tensor, "M k"]:
        return torch.cat(
            [factor * (part.T @ U.to(part)) for part, factor in zip(self.parts, self.factors, strict=True)]
        )
