r"""t-SNE: the objective of a layout and its gradient, and layouts that maximise it.

With affinities p of pairs of rows, which sum to one, and $q_{ij} = w_{ij} / Z$, $w_{ij} = 1 / (1 + |x_i - x_j|^2)$, the
objective of a layout x is

$$ T = \sum_{ij} p_{ij} \log q_{ij} = \sum_{ij} p_{ij} \log w_{ij} - \log Z $$

which is the negative KL divergence of q from p, up to a constant. Its gradient is

$$ \partial T / \partial x_i = 4 \sum_j (w_{ij}^2 / Z - p_{ij} w_{ij}) (x_i - x_j) $$

Affinities are those of t-SNE (van der Maaten and Hinton, 2008): Gaussian kernels of the distances to the nearest
neighbours, with a bandwidth per row that fixes the perplexity, symmetrised.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from torch import Tensor

from mvlvm.init.knn_graph import edge_weights, nearest_neighbours
from mvlvm.init.tsne_repulsion import (
    Repulsion,
    charges_of,
    interpolated_repulsion,
    kernel_blocks,
    weighted_differences,
)

PERPLEXITY = 30.0
# Neighbours per row, in units of the perplexity, and by default.
_NEIGHBOURS_PER_PERPLEXITY = 3
MAX_NEIGHBOURS = round(_NEIGHBOURS_PER_PERPLEXITY * PERPLEXITY)
# Up to this number of rows, forces between all pairs are computed; beyond, repulsion is interpolated.
MAX_ROWS_EXACT = 5000
# The interpolation exists for layouts of up to two dimensions.
MAX_DIM_INTERPOLATED = 2
# Early exaggeration of the affinities, and both phases: number of iterations, exaggeration, momentum.
_EXAGGERATION = 12.0
_EARLY, _LATE = (250, _EXAGGERATION, 0.5), (500, 1.0, 0.8)
# The initial standard deviation of the first dimension, and the least learning rate.
_INITIAL_STD = 1e-4
_MIN_LEARNING_RATE = 200.0
# Gains of the delta-bar-delta rule: increments, decrements and the least value.
_GAIN_STEP, _GAIN_DECAY, _MIN_GAIN = 0.2, 0.8, 0.01


@dataclass(frozen=True)
class Affinities:
    """Symmetric affinities of pairs of rows, which sum to one; every pair is stored in both directions.

    Attributes:
        source: the first row of every pair, sorted.
        target: the second row.
        weight: the affinity.
        n_rows: the number of rows N.
    """

    source: Int[Tensor, " E"]
    target: Int[Tensor, " E"]
    weight: Float[Tensor, " E"]
    n_rows: int

    @cached_property
    def matrix(self) -> Float[Tensor, "N N"]:
        """The affinities of all pairs of rows."""
        matrix = self.weight.new_zeros((self.n_rows, self.n_rows))
        return matrix.index_put((self.source, self.target), self.weight)

    @cached_property
    def row_starts(self) -> Int[Tensor, " B"]:
        """The position of the first pair of every row, and the number of pairs."""
        return torch.searchsorted(self.source, torch.arange(self.n_rows + 1, device=self.source.device))

    def row_products(self, values: Float[Tensor, " E"], X: Float[Tensor, "D N"]) -> Float[Tensor, "D N"]:
        """Return the product of the sparse matrix that has some values at the pairs with a matrix."""
        if X.device.type != "cpu":
            return torch.zeros_like(X).index_add_(1, self.source, values * X[:, self.target])
        parts = (values.numpy(), self.target.numpy(), self.row_starts.numpy())
        return torch.as_tensor(csr_array(parts, shape=(self.n_rows, self.n_rows)) @ X.T.contiguous().numpy()).T

    def kernel(self, X: Float[Tensor, "D N"]) -> Float[Tensor, " E"]:
        """Return w of all pairs."""
        squared = torch.zeros_like(self.weight, dtype=X.dtype)
        for x in X:
            squared += (x[self.target] - x[self.source]).square_()
        return squared.add_(1.0).reciprocal_()


def tsne_affinities(Z: Float[Tensor, "N d"], generator: torch.Generator, perplexity: float = PERPLEXITY) -> Affinities:
    """Return the affinities of rows.

    Args:
        Z: the rows, at least two.
        generator: draws the random projections of the neighbour search, if there are many rows.
        perplexity: effective number of neighbours; at most a third of the other rows.
    """
    N = len(Z)
    perplexity = min(perplexity, max(1.0, (N - 1) / _NEIGHBOURS_PER_PERPLEXITY))
    k = min(N - 1, round(_NEIGHBOURS_PER_PERPLEXITY * perplexity))
    near = nearest_neighbours(Z, k, generator)
    weight = edge_weights(near, perplexity).cpu().double().numpy() / (2 * N)
    indices = np.repeat(np.arange(N), k), near.indices.cpu().numpy().ravel()
    directed = csr_array((weight.ravel(), indices), shape=(N, N))
    pairs = (directed + directed.T).tocoo()
    order = np.lexsort((pairs.col, pairs.row))
    source, target, weights = (torch.as_tensor(part[order], device=Z.device) for part in (*pairs.coords, pairs.data))
    return Affinities(source.long(), target.long(), weights.float(), N)


def tsne_objective(X: Float[Tensor, "D N"], affinities: Affinities) -> tuple[float, Float[Tensor, "D N"]]:
    """Return the objective T of a layout, and its gradient.

    All pairs are computed if there are few rows, or more than two dimensions; repulsion is interpolated otherwise.

    Args:
        X: the layout.
        affinities: of the rows.
    """
    normalizer, gradient = _normalizer_and_gradient(X, affinities, 1.0)
    attraction = (affinities.weight.to(X) * affinities.kernel(X).log()).sum(dtype=torch.float64)
    return float(attraction - normalizer.log()), gradient


def tsne_layout(affinities: Affinities, initial: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
    """Return a layout that maximises the objective by gradient ascent with momentum, as t-SNE is usually computed.

    Args:
        affinities: of the rows.
        initial: the initial layout, in any units.
    """
    X = initial.float().T.contiguous()
    X = X * (_INITIAL_STD / X[0].std().clamp_min(torch.finfo(X.dtype).tiny))
    N = len(initial)
    rate = min(N, max(_MIN_LEARNING_RATE, N / _EXAGGERATION) / 4)
    velocity, gains = torch.zeros_like(X), torch.ones_like(X)
    for n_iter, exaggeration, momentum in (_EARLY, _LATE):
        for _ in range(n_iter):
            _, gradient = _normalizer_and_gradient(X, affinities, exaggeration)
            grow = velocity * gradient >= 0
            gains = torch.where(grow, gains + _GAIN_STEP, gains * _GAIN_DECAY).clamp_min_(_MIN_GAIN)
            velocity = momentum * velocity + rate * gains * gradient
            X = X + velocity
            X -= X.mean(dim=1, keepdim=True)
    return X.T


def _normalizer_and_gradient(
    X: Float[Tensor, "D N"], affinities: Affinities, exaggeration: float
) -> tuple[Float[Tensor, ""], Float[Tensor, "D N"]]:
    """Return Z, and the gradient of the objective with affinities multiplied by a factor."""
    if is_exact(X):
        repulsion, attraction = exact_forces(X, affinities.matrix.to(X))
    else:
        repulsion, attraction = interpolated_repulsion(X), sparse_attraction(X, affinities)
    normalizer = repulsion.normalizer.clamp_min(torch.finfo(X.dtype).tiny)
    return normalizer, 4 * (repulsion.force / normalizer.to(X) - exaggeration * attraction)


def is_exact(X: Float[Tensor, "D N"]) -> bool:
    """Return whether the forces between all pairs of rows are computed."""
    return X.shape[1] <= MAX_ROWS_EXACT or len(X) > MAX_DIM_INTERPOLATED


def exact_forces(X: Float[Tensor, "D N"], P: Float[Tensor, "N N"]) -> tuple[Repulsion, Float[Tensor, "D N"]]:
    """Return the repulsion, and the attraction sum_j p_ij w_ij (x_i - x_j), in one pass over all pairs."""
    charges, normalizer = charges_of(X), X.new_zeros((), dtype=torch.float64)
    repulsive, attractive = torch.zeros_like(charges), torch.zeros_like(charges)
    for rows, w in kernel_blocks(X):
        normalizer += w.sum()
        attractive.addmm_(charges[:, rows], P[rows] * w)
        repulsive.addmm_(charges[:, rows], w.square_())
    repulsion = Repulsion(weighted_differences(X, repulsive), normalizer - X.shape[1])
    return repulsion, weighted_differences(X, attractive)


def sparse_attraction(X: Float[Tensor, "D N"], affinities: Affinities) -> Float[Tensor, "D N"]:
    """Return the attraction sum_j p_ij w_ij (x_i - x_j), over the pairs of positive affinity."""
    strength = affinities.kernel(X).mul_(affinities.weight.to(X))
    return weighted_differences(X, affinities.row_products(strength, charges_of(X)))
