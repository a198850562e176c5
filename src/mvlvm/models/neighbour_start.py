"""A layout of a neighbour graph: rows that are alike drawn together, all others pushed apart.

Rows i and j of the layout are taken for neighbours with the probability q = 1 / (1 + |x_i - x_j|^2). The layout raises
the cross-entropy

    sum over edges w_ij log q_ij  +  c  sum over all pairs  g_i log(1 - q_ij) / N

where w are the weights of the graph and g_i those of a row's edges together. The second sum is estimated by a few other
rows for every row, drawn anew in each round. The idea is that of t-SNE and UMAP.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.models.neighbour_graph import Graph

# How strongly rows that are no neighbours are pushed apart, and the rows drawn for that in every round.
_REPULSION = 5.0
_N_DRAWN = 10
# Rounds for few rows, and for many.
_ROUNDS = 300
_ROUNDS_MANY = 150
_MANY = 10_000
# The layout is this wide at first, in units of the distance over which rows attract each other; and steps of Adam.
_FIRST_WIDTH = 3.0
_RATE = 0.5
_BETAS = (0.8, 0.99)
# Pushing ends here: rows that lie on each other have no direction to be pushed in.
_NEAREST = 1e-2
_STRONGEST = 4.0


def neighbour_start(graph: Graph, first: Float[Tensor, "N D"], generator: torch.Generator) -> Float[Tensor, "N D"]:
    """Lay the rows of a graph out, along the principal axes of their layout.

    Args:
        graph: which rows are neighbours.
        first: where the layout begins, at unit variance.
        generator: of the rows that push.
    """
    X = _FIRST_WIDTH * first.float().cpu().T.contiguous()
    mean, square = torch.zeros_like(X), torch.zeros_like(X)
    rounds = _ROUNDS if graph.n_rows <= _MANY else _ROUNDS_MANY
    degree = torch.zeros(graph.n_rows).index_add_(0, graph.start, graph.weight)
    for step in range(rounds):
        force = _pull(X, graph) + _push(X, degree, generator)
        mean.lerp_(force, 1 - _BETAS[0])
        square.lerp_(force.square(), 1 - _BETAS[1])
        up = (mean / (1 - _BETAS[0] ** (step + 1))) / ((square / (1 - _BETAS[1] ** (step + 1))).sqrt() + 1e-6)
        X += _RATE * (1 - step / rounds) * up
    layout = X.T.double()
    layout = layout - layout.mean(dim=0)
    return layout @ torch.linalg.svd(layout, full_matrices=False).Vh.T


def _pull(X: Float[Tensor, "D N"], graph: Graph) -> Float[Tensor, "D N"]:
    """Give the gradient of the first sum; an edge is there in both directions, and pulls both its ends."""
    apart = X[:, graph.end] - X[:, graph.start]
    strength = graph.weight / (1 + apart.square().sum(dim=0))
    return torch.zeros_like(X).index_add_(1, graph.start, 4 * strength * apart)


def _push(X: Float[Tensor, "D N"], degree: Float[Tensor, " N"], generator: torch.Generator) -> Float[Tensor, "D N"]:
    """Estimate the gradient of the second sum; every row is pushed by others, drawn for it alone."""
    force, N = torch.zeros_like(X), X.shape[1]
    for _ in range(_N_DRAWN):
        other = torch.randint(N, (N,), generator=generator)
        apart = X - X[:, other]
        squared = apart.square().sum(dim=0)
        force += (2 / ((_NEAREST + squared) * (1 + squared)) * apart).clamp_(-_STRONGEST, _STRONGEST)
    return _REPULSION / _N_DRAWN * degree * force
