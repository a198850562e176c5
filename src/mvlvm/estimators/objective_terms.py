r"""Further terms of the training objective, beside the expected log evidence of the views and the KL divergence.

A new term is a function that makes it, listed in `TERMS`: from the views and the options of a fit to the term with its
weight, or None where the options do not ask for it. `history_` then contains it under its name.

The *neighbour term* is t-SNE's objective of the latent means. The bound hardly depends on which rows are neighbours;
the term $c N T(\mu / \tau)$ with

$$ T = \sum_{ij} p_{ij} \log q_{ij}, \qquad q_{ij} \propto 1 / (1 + |x_i - x_j|^2) $$

for the affinities p of the rows in the views (`init/tsne.py`) rewards latents that preserve neighbourhoods. The unit
$\tau$ is fixed: one over the standard deviation of a t-SNE layout, so that latents of unit variance have its scale.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool
from torch import Tensor

from mvlvm.estimators.options import FitOptions
from mvlvm.init.initializations import InitViews
from mvlvm.init.tsne import Affinities, tsne_objective
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.parameters import Gradients
from mvlvm.shapes import Number, Scalar
from mvlvm.training.steps import gradients_by_autograd


@dataclass(frozen=True)
class AbstractTerm(ABC):
    """A term of the objective.

    Attributes:
        weight: factor of the term in the objective.
        can_be_recorded: whether a GPU can record steps with the term, which must not wait for its results then.
    """

    weight: float
    can_be_recorded: ClassVar[bool] = True

    @abstractmethod
    def evaluate(self, model: MultiViewLVM) -> tuple[Number, Gradients]:
        """Return the term without its weight, and its gradients."""


@dataclass(frozen=True)
class WeightedTerm(AbstractTerm):
    """A term whose gradients autograd computes.

    Attributes:
        value: from the model to the term, a differentiable scalar to maximise.
    """

    value: Callable[[MultiViewLVM], Scalar]

    def evaluate(self, model: MultiViewLVM) -> tuple[Number, Gradients]:
        """Return the term, and its gradients."""
        value = self.value(model)
        return value, gradients_by_autograd(value, model.parameters())


@dataclass(frozen=True)
class NeighbourTerm(AbstractTerm):
    """T of the shared dimensions of a model's latent means.

    Attributes:
        affinities: of the rows that have an entry.
        known_rows: which rows have one; None stands for all.
        scale: factor of the latent means, one over tau.
        n_shared: number of shared dimensions.
    """

    affinities: Affinities
    known_rows: Bool[Tensor, " N"] | None
    scale: float
    n_shared: int
    can_be_recorded: ClassVar[bool] = False  # t-SNE reads the extent of the layout on the CPU

    def evaluate(self, model: MultiViewLVM) -> tuple[float, Gradients]:
        """Return T and its gradient with respect to the latent means."""
        mean = model.latent.mean.detach()
        rows = slice(None) if self.known_rows is None else self.known_rows
        X = self.scale * mean[rows, : self.n_shared].T
        value, of_layout = tsne_objective(X.contiguous(), self.affinities)
        gradient = torch.zeros_like(mean)
        gradient[rows, : self.n_shared] = self.scale * of_layout.T
        return value, {model.latent.mean: gradient}


def neighbour_term(views: InitViews, options: FitOptions) -> NeighbourTerm | None:
    """Return the term with the weight c N, if `neighbor_weight` is positive.

    Args:
        views: the views that influence the latents; rows without an entry do not take part.
        options: of the fit.
    """
    if not options.neighbor_weight:
        return None
    graph, known_rows = views.graph, views.graph.known_rows
    affinities, scale = graph.tsne_map.affinities, graph.tsne_map.std
    weight = options.neighbor_weight * affinities.n_rows
    return NeighbourTerm(
        weight, affinities, None if bool(known_rows.all()) else known_rows, scale, views.dimensions.n_shared
    )  # fmt: skip


# Name -> a function that makes the term.
TERMS: dict[str, Callable[[InitViews, FitOptions], AbstractTerm | None]] = {"neighbors": neighbour_term}


def objective_terms(views: InitViews, options: FitOptions) -> dict[str, AbstractTerm]:
    """Return the terms that the options ask for, by name."""
    made = {name: make(views, options) for name, make in TERMS.items()}
    return {name: term for name, term in made.items() if term is not None}
