r"""t-SNE: the objective of a layout and its gradient, and layouts that maximise it.

With affinities p of pairs of rows, which sum to one, and $q_{ij} = w_{ij} / Z$, $w_{ij} = 1 / (1 + |x_i - x_j|^2)$, the
objective of a layout x is

$$ T = \sum_{ij} p_{ij} \log q_{ij} = \sum_{ij} p_{ij} \log w_{ij} - \log Z $$

which is the negative KL divergence of q from p, up to a constant. Its gradient is

$$ \partial T / \partial x_i = 4 \sum_j (w_{ij}^2 / Z - p_{ij} w_{ij}) (x_i - x_j) $$

Affinities are those of t-SNE (van der Maaten and Hinton, 2008): Gaussian kernels of the distances to the nearest
neighbours, with a bandwidth per row that fixes the perplexity, symmetrised.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from torch import Tensor

from mvlvm.init.knn_graph import edge_weights, nearest_neighbours
from mvlvm.init.tsne_repulsion import Repulsion, exact_repulsion, interpolated_repulsion

PERPLEXITY = 30.0
# Neighbours per row, in units of the perplexity, and by default.
_NEIGHBOURS_PER_PERPLEXITY = 3
MAX_NEIGHBOURS = round(_NEIGHBOURS_PER_PERPLEXITY * PERPLEXITY)
# Up to this number of rows, repulsion between all pairs is computed; beyond, it is interpolated.
MAX_ROWS_EXACT = 10_000
# Pairs of rows in memory at a time in the computation of attraction.
_PAIRS_PER_BLOCK = 2**17
# The interpolation exists for layouts of up to two dimensions.
MAX_DIM_INTERPOLATED = 2
_EXAGGERATION = 12.0
# The initial standard deviation of the first dimension, and the least learning rate.
_INITIAL_STD = 1e-4
_MIN_LEARNING_RATE = 200.0
# Gains of the delta-bar-delta rule: increments, decrements and the least value.
_GAIN_STEP, _GAIN_DECAY, _MIN_GAIN = 0.2, 0.8, 0.01


class Phase(NamedTuple):
    """A phase of the ascent: number of iterations, factor of the affinities, and momentum."""

    n_iter: int
    exaggeration: float
    momentum: float


_EARLY, _LATE = Phase(250, _EXAGGERATION, 0.5), Phase(500, 1.0, 0.8)
# From the number of iterations and a title to a context in which a callback takes the number of those just completed.
Progress = Callable[[int, str], AbstractContextManager[Callable[[int], None]]]


@contextmanager
def no_progress(total: int, title: str) -> Iterator[Callable[[int], None]]:
    """Show nothing."""
    yield lambda n_done: None


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

    @property
    def matrix(self) -> Float[Tensor, "N N"]:
        """The affinities of all pairs of rows."""
        matrix = self.weight.new_zeros((self.n_rows, self.n_rows))
        return matrix.index_put((self.source, self.target), self.weight)

    @cached_property
    def n_pairs(self) -> Int[Tensor, " N"]:
        """The number of pairs of every row."""
        return torch.bincount(self.source, minlength=self.n_rows)

    @cached_property
    def blocks(self) -> list[tuple[slice, slice]]:
        """Blocks of rows, and the blocks of their pairs."""
        starts = np.concatenate([[0], np.cumsum(self.n_pairs.cpu().numpy())])
        rows = np.unique(np.searchsorted(starts, np.arange(0, starts[-1], _PAIRS_PER_BLOCK)))
        bounds = [*rows.tolist(), self.n_rows]
        return [
            (slice(first, last), slice(int(starts[first]), int(starts[last])))
            for first, last in pairwise(bounds)
        ]  # fmt: skip


class Attraction(NamedTuple):
    """Attraction between the pairs of rows of positive affinity.

    Attributes:
        force: sum_j p_ij w_ij (x_i - x_j) for every row.
        value: sum_ij p_ij log w_ij.
    """

    force: Float[Tensor, "D N"]
    value: Float[Tensor, ""]


class TSNEMap(NamedTuple):
    """A layout, and the affinities that it was computed from.

    Attributes:
        affinities: of the rows.
        layout: the rows in the map.
    """

    affinities: Affinities
    layout: Float[Tensor, "N D"]

    @property
    def std(self) -> float:
        """The standard deviation of the layout, as a root mean square over its dimensions."""
        return float((self.layout - self.layout.mean(dim=0)).square().mean().sqrt())


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
    repulsion, attraction = _repulsion(X), attraction_of(X, affinities)
    value = attraction.value - _normalizer(repulsion).log()
    return float(value), _gradient(repulsion, attraction)


def tsne_layout(
    affinities: Affinities, initial: Float[Tensor, "N D"], progress: Progress = no_progress
) -> Float[Tensor, "N D"]:
    """Return a layout that maximises the objective by gradient ascent with momentum, as t-SNE is usually computed.

    Args:
        affinities: of the rows.
        initial: the initial layout, in any units.
        progress: shows the number of iterations.
    """
    with progress(_EARLY.n_iter + _LATE.n_iter, "t-SNE") as advance:
        return _ascend(affinities, initial, advance)


def _ascend(
    affinities: Affinities, initial: Float[Tensor, "N D"], advance: Callable[[int], None]
) -> Float[Tensor, "N D"]:
    X = initial.float().T.contiguous()
    X = X * (_INITIAL_STD / X[0].std().clamp_min(torch.finfo(X.dtype).tiny))
    N = len(initial)
    rate = min(N, max(_MIN_LEARNING_RATE, N / _EXAGGERATION) / 4)
    velocity, gains = torch.zeros_like(X), torch.ones_like(X)
    for n_iter, exaggeration, momentum in (_EARLY, _LATE):
        for _ in range(n_iter):
            gradient = _gradient(_repulsion(X), attraction_of(X, affinities), exaggeration)
            grow = velocity * gradient >= 0
            gains = torch.where(grow, gains + _GAIN_STEP, gains * _GAIN_DECAY).clamp_min_(_MIN_GAIN)
            velocity = momentum * velocity + rate * gains * gradient
            X = X + velocity
            X -= X.mean(dim=1, keepdim=True)
            advance(1)
    return X.T


def _gradient(repulsion: Repulsion, attraction: Attraction, exaggeration: float = 1.0) -> Float[Tensor, "D N"]:
    """Return the gradient of the objective with affinities multiplied by a factor."""
    return 4 * (repulsion.force / _normalizer(repulsion).to(repulsion.force) - exaggeration * attraction.force)


def _normalizer(repulsion: Repulsion) -> Float[Tensor, ""]:
    """Return Z, which is positive even if rows are too far apart for its precision."""
    return repulsion.normalizer.clamp_min(torch.finfo(torch.float32).tiny)


def _repulsion(X: Float[Tensor, "D N"]) -> Repulsion:
    return exact_repulsion(X) if is_exact(X) else interpolated_repulsion(X)


def is_exact(X: Float[Tensor, "D N"]) -> bool:
    """Return whether the repulsion between all pairs of rows is computed."""
    return X.shape[1] <= MAX_ROWS_EXACT or len(X) > MAX_DIM_INTERPOLATED


def attraction_of(X: Float[Tensor, "D N"], affinities: Affinities) -> Attraction:
    """Return the attraction between rows."""
    if X.device.type != "cpu":
        return _attraction_on_gpu(X, affinities)
    # numpy gathers and sums segments in a quarter of torch's time
    x, force, value = X.detach().numpy(), np.empty(X.shape, dtype=X.numpy().dtype), 0.0
    target, weight = affinities.target.numpy(), affinities.weight.to(X.dtype).numpy()
    n_pairs = affinities.n_pairs.numpy()
    for rows, pairs in affinities.blocks:
        differences = [np.repeat(part[rows], n_pairs[rows]) - part.take(target[pairs]) for part in x]
        squared = sum(difference * difference for difference in differences) + x.dtype.type(1)
        value -= float(weight[pairs] @ np.log(squared))
        strength = np.divide(weight[pairs], squared, out=squared)
        starts = np.cumsum(n_pairs[rows]) - n_pairs[rows]
        for d, difference in enumerate(differences):
            force[d, rows] = np.add.reduceat(difference * strength, starts)
    return Attraction(torch.as_tensor(force), torch.tensor(value, dtype=torch.float64))


def _attraction_on_gpu(X: Float[Tensor, "D N"], affinities: Affinities) -> Attraction:
    difference, weight = X[:, affinities.source] - X[:, affinities.target], affinities.weight.to(X)
    squared = difference.square().sum(dim=0) + 1
    force = torch.zeros_like(X).index_add_(1, affinities.source, weight / squared * difference)
    return Attraction(force, -(weight * squared.log()).sum(dtype=torch.float64))
