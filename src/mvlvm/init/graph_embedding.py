"""Laplacian eigenmaps: latents that vary as little as they can along the edges of a neighbour graph.

A layout of a neighbour graph: rows that are alike drawn together, all others pushed apart.

Rows i and j of the layout are taken for neighbours with the probability q = 1 / (1 + |x_i - x_j|^2). The layout raises
the cross-entropy

    sum over edges w_ij log q_ij  +  c  sum over all pairs  g_i log(1 - q_ij) / N

where w are the weights of the graph and g_i those of a row's edges together. The second sum is estimated by a few other
rows for every row, drawn anew in each round. The idea is that of t-SNE and UMAP.

Where the latent means start if rows that are alike are to lie together: starts from a graph of neighbours.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from scipy.linalg import eigh
from torch import Tensor

from mvlvm.errors import ViewError
from mvlvm.init.hot_deck import hot_deck_impute
from mvlvm.init.knn_graph import MAX_COMPONENTS, KNNGraph, knn_graph, nearest_neighbours_among
from mvlvm.init.pca import normalise_views, principal_scores, whiten
from mvlvm.linalg.randomized_svd import ConcatenatedMatrix

# With more rows than this, these many are drawn to be mapped, and the others are put between the nearest of them. The
# eigenvalues of a large graph crowd together, and iterations that are to tell them apart find something else.
_MAX_ROWS_DENSE = 2000
_N_NEAREST = 5


def laplacian_eigenmap(Z: Float[Tensor, "N d"], n_components: int, generator: torch.Generator) -> Float[Tensor, "N D"]:
    """Give the eigenvectors of the neighbour graph's normalised Laplacian that follow the constant one.

    Args:
        Z: the rows.
        n_components: D.
        generator: of the rows that are mapped, if there are many.

    Raises:
        ViewError: there are not more rows than components.
    """
    if len(Z) <= n_components:
        raise ViewError(
            f"n_components={n_components} is too large for the spectral start of {len(Z)} rows. "
            f"Give n_components <= {len(Z) - 1}, or pass an array as init."
        )
    if len(Z) <= _MAX_ROWS_DENSE:
        return graph_eigenmap(knn_graph(Z, generator), n_components).to(Z)
    mapped = torch.randperm(len(Z), generator=generator)[:_MAX_ROWS_DENSE].to(Z.device)
    places = graph_eigenmap(knn_graph(Z[mapped], generator), n_components).to(Z)
    near = nearest_neighbours_among(Z, Z[mapped], _N_NEAREST)
    weight = 1 / near.squared_distances.clamp_min(torch.finfo(Z.dtype).tiny).sqrt()
    weight = weight / weight.sum(dim=1, keepdim=True)
    return torch.einsum("nk,nkd->nd", weight, places[near.indices])


def graph_eigenmap(graph: KNNGraph, n_components: int) -> Float[Tensor, "N D"]:
    r"""Map a connected graph.

    With its weights A and their sums G on the diagonal, the map is $G^{-1/2} v$ for the leading eigenvectors v of
    $G^{-1/2} A G^{-1/2}$ but the first, for which it would be constant.
    """
    A = graph.matrix().toarray()
    scale = 1 / np.sqrt(A.sum(axis=1))
    N = graph.n_rows
    _, vectors = eigh(scale[:, None] * A * scale, subset_by_index=(N - 1 - n_components, N - 2))
    return torch.tensor(scale[:, None] * vectors[:, ::-1])


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


def graph_layout(graph: KNNGraph, first: Float[Tensor, "N D"], generator: torch.Generator) -> Float[Tensor, "N D"]:
    """Lay the rows of a graph out, along the principal axes of their layout.

    Args:
        graph: which rows are neighbours.
        first: where the layout begins, at unit variance.
        generator: of the rows that push.
    """
    X = _FIRST_WIDTH * first.float().cpu().T.contiguous()
    mean, square = torch.zeros_like(X), torch.zeros_like(X)
    rounds = _ROUNDS if graph.n_rows <= _MANY else _ROUNDS_MANY
    degree = torch.zeros(graph.n_rows).index_add_(0, graph.source, graph.weight)
    for step in range(rounds):
        force = _pull(X, graph) + _push(X, degree, generator)
        mean.lerp_(force, 1 - _BETAS[0])
        square.lerp_(force.square(), 1 - _BETAS[1])
        up = (mean / (1 - _BETAS[0] ** (step + 1))) / ((square / (1 - _BETAS[1] ** (step + 1))).sqrt() + 1e-6)
        X += _RATE * (1 - step / rounds) * up
    layout = X.T.double()
    layout = layout - layout.mean(dim=0)
    return layout @ torch.linalg.svd(layout, full_matrices=False).Vh.T


def _pull(X: Float[Tensor, "D N"], graph: KNNGraph) -> Float[Tensor, "D N"]:
    """Give the gradient of the first sum; an edge is there in both directions, and pulls both its ends."""
    apart = X[:, graph.target] - X[:, graph.source]
    strength = graph.weight / (1 + apart.square().sum(dim=0))
    return torch.zeros_like(X).index_add_(1, graph.source, 4 * strength * apart)


def _push(X: Float[Tensor, "D N"], degree: Float[Tensor, " N"], generator: torch.Generator) -> Float[Tensor, "D N"]:
    """Estimate the gradient of the second sum; every row is pushed by others, drawn for it alone."""
    force, N = torch.zeros_like(X), X.shape[1]
    for _ in range(_N_DRAWN):
        other = torch.randint(N, (N,), generator=generator)
        apart = X - X[:, other]
        squared = apart.square().sum(dim=0)
        force += (2 / ((_NEAREST + squared) * (1 + squared)) * apart).clamp_(-_STRONGEST, _STRONGEST)
    return _REPULSION / _N_DRAWN * degree * force


def graph_init(
    kinds: Sequence[str], Ys: Sequence[Float[Tensor, "N _"]], n_components: int, generator: torch.Generator
) -> dict[str, Float[Tensor, "N D"]]:
    """Give starts that keep neighbours together, each component scaled to unit variance.

    NearestNeighbours are those in all views side by side, each divided by its norm, so that all weigh the same. A row that
    lacks a view is compared by those both have. Rows without an entry in any view are no one's neighbours, and start at
    zero.

    Args:
        kinds: which starts, "spectral" or "neighbors".
        Ys: centred views; NaN is missing.
        n_components: D.
        generator: of all draws; on the CPU, so that they are the same on every device.

    Raises:
        ViewError: the views together have fewer than D directions, or too few rows.
    """
    present = ~torch.stack([Y.isnan().all(dim=1) for Y in Ys], dim=1)
    known = present.any(dim=1)
    filled = normalise_views(Ys, n_components)
    if not present.all():
        filled = hot_deck_impute(filled, present)
    if not known.all():
        filled = ConcatenatedMatrix([Y[known] for Y in filled.parts], filled.factors)
    scores = principal_scores(filled, n_components, at_most=max(MAX_COMPONENTS, n_components))
    Z = scores.float()
    # a layout that begins at the eigenmap is not torn where a curve is bent, and has the better bound
    layouts = {"spectral": laplacian_eigenmap(Z, n_components, generator)}
    if "neighbors" in kinds:
        first = whiten(layouts["spectral"].to(scores), filled)
        layouts["neighbors"] = graph_layout(knn_graph(Z, generator), first, generator)
    starts = {kind: scores.new_zeros((len(known), n_components)) for kind in kinds}
    for kind in kinds:
        starts[kind][known] = whiten(layouts[kind].to(scores), filled)
    return starts
