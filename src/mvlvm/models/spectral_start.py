"""Laplacian eigenmaps: latents that vary as little as they can along the edges of a neighbour graph."""

import numpy as np
import torch
from jaxtyping import Float
from scipy.linalg import eigh
from torch import Tensor

from mvlvm.errors import ViewError
from mvlvm.models.nearest_rows import nearest_among
from mvlvm.models.neighbour_graph import Graph, neighbour_graph

# With more rows than this, these many are drawn to be mapped, and the others are put between the nearest of them. The
# eigenvalues of a large graph crowd together, and iterations that are to tell them apart find something else.
_MOST_MAPPED = 2000
_N_NEAREST = 5


def spectral_start(Z: Float[Tensor, "N d"], n_components: int, generator: torch.Generator) -> Float[Tensor, "N D"]:
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
    if len(Z) <= _MOST_MAPPED:
        return eigenmap(neighbour_graph(Z, generator), n_components).to(Z)
    mapped = torch.randperm(len(Z), generator=generator)[:_MOST_MAPPED].to(Z.device)
    places = eigenmap(neighbour_graph(Z[mapped], generator), n_components).to(Z)
    near = nearest_among(Z, Z[mapped], _N_NEAREST)
    weight = 1 / near.squared.clamp_min(torch.finfo(Z.dtype).tiny).sqrt()
    weight = weight / weight.sum(dim=1, keepdim=True)
    return torch.einsum("nk,nkd->nd", weight, places[near.rows])


def eigenmap(graph: Graph, n_components: int) -> Float[Tensor, "N D"]:
    r"""Map a connected graph.

    With its weights A and their sums G on the diagonal, the map is $G^{-1/2} v$ for the leading eigenvectors v of
    $G^{-1/2} A G^{-1/2}$ but the first, for which it would be constant.
    """
    A = graph.matrix().toarray()
    scale = 1 / np.sqrt(A.sum(axis=1))
    N = graph.n_rows
    _, vectors = eigh(scale[:, None] * A * scale, subset_by_index=(N - 1 - n_components, N - 2))
    return torch.tensor(scale[:, None] * vectors[:, ::-1])
