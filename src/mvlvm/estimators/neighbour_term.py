r"""The neighbour term of the objective: t-SNE's objective of the latent means.

The bound hardly depends on which rows are neighbours. The term $c N T(\mu / \tau)$ with

$$ T = \sum_{ij} p_{ij} \log q_{ij}, \qquad q_{ij} \propto 1 / (1 + |x_i - x_j|^2) $$

for the affinities p of the rows in the views (`init/tsne.py`) rewards latents that preserve neighbourhoods. The unit
$\tau$ is fixed: one over the standard deviation of a t-SNE layout, so that latents of unit variance have its scale.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm.init.initializations import InitViews
from mvlvm.init.tsne import Affinities, tsne_objective
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.shapes import Scalar


class NeighbourTerm:
    """T of the shared dimensions of a model's latent means.

    Args:
        affinities: of the rows that have an entry.
        known_rows: which rows have one.
        scale: factor of the latent means, one over tau.
        n_shared: number of shared dimensions.
    """

    def __init__(self, affinities: Affinities, known_rows: Bool[Tensor, " N"], scale: float, n_shared: int) -> None:
        self.affinities, self.scale, self.n_shared = affinities, scale, n_shared
        self.known_rows = None if bool(known_rows.all()) else known_rows

    def __call__(self, model: MultiViewLVM) -> Scalar:
        """Return the term, a differentiable scalar."""
        mean = model.latent.mean[:, : self.n_shared]
        if self.known_rows is not None:
            mean = mean[self.known_rows]
        return _Objective.apply(self.scale * mean, self.affinities)  # pyright: ignore[reportReturnType]


class _Objective(torch.autograd.Function):
    """t-SNE's objective with its gradient in closed form."""

    @staticmethod
    def forward(ctx: Any, X: Float[Tensor, "N D"], affinities: Affinities) -> Scalar:
        value, gradient = tsne_objective(X.T.contiguous(), affinities)
        ctx.save_for_backward(gradient)
        return torch.tensor(value, dtype=torch.float64, device=X.device)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: Scalar) -> tuple[Float[Tensor, "N D"], None]:
        (gradient,) = ctx.saved_tensors
        return gradient.T * grads[0].to(gradient), None


def neighbour_term(views: InitViews, weight: float) -> tuple[float, NeighbourTerm]:
    """Return the weight of the term in the objective, c N, and the term.

    Args:
        views: the views that influence the latents, whose rows without an entry do not take part.
        weight: c.
    """
    graph = views.graph
    term = NeighbourTerm(graph.affinities, graph.known_rows, graph.tsne_std, views.dimensions.n_shared)
    return weight * graph.affinities.n_rows, term
