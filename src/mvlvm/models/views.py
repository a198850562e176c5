"""View modules: they hold the parameters of one view and compute its log evidence without side effects.

The kinds of views are in `gaussian_views.py` and `variational_view.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from mvlvm.errors import NumericalError
from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.models.data import ViewData
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.spectral_mixture import AbstractMixture, FeatureMap
from mvlvm.models.state import CompleteState, StateSettings, ViewState
from mvlvm.models.weight_posterior import AbstractWeightPosterior
from mvlvm.parameters import Gradients
from mvlvm.row_blocks import row_blocks
from mvlvm.shapes import Number, Scalar


class ViewEvaluation(NamedTuple):
    """The log evidence of a view given latents, or a bound on it, with its gradients.

    Attributes:
        value: the log evidence.
        X: gradient with respect to the latents of all samples.
        parameters: gradients with respect to the parameters of the view.
        state: the state after this step.
    """

    value: Number
    X: Float[Tensor, "N D"]
    parameters: Gradients
    state: ViewState


class AbstractView(nn.Module, ABC):
    """One view of the model.

    Args:
        name: of the view, for error messages.
        mixture: its spectral density.
        likelihood: p(y | f).
        n_points: spectral points per mixture, P.

    Attributes:
        redraws: whether every feature map has fresh spectral points.
    """

    redraws: ClassVar[bool] = True

    def __init__(self, name: str, mixture: AbstractMixture, likelihood: AbstractLikelihood, *, n_points: int) -> None:
        super().__init__()
        self.name = name
        self.mixture = mixture
        self.likelihood = likelihood
        self.n_points = n_points

    @abstractmethod
    def draw_features(self, generator: torch.Generator, n_points: int | None = None) -> FeatureMap:
        """Return a feature map, with fresh spectral points unless the view keeps its own.

        Args:
            generator: source of the points.
            n_points: their number per mixture; None stands for all, P.
        """

    @abstractmethod
    def init_state(self, data: ViewData, settings: StateSettings) -> ViewState:
        """Return the state before training."""

    @abstractmethod
    def refresh(self, state: Any, n_steps: int) -> ViewState:
        """Return the state for the next steps, with what is decided only now and then decided anew.

        Args:
            state: the current state, of the kind that `init_state` returns.
            n_steps: number of training steps so far.
        """

    @abstractmethod
    def log_evidence(
        self, data: ViewData, state: Any, X: Float[Tensor, "N D"], generator: torch.Generator
    ) -> tuple[Scalar, ViewState]:
        """Estimate or bound the log evidence of the observations given latents. No side effects.

        Args:
            data: the observations.
            state: the current state, of the kind that `init_state` returns.
            X: latents of all samples.
            generator: source of the spectral points.

        Returns:
            The log evidence, and the state after this step.
        """

    @abstractmethod
    def evaluate(
        self, data: ViewData, state: Any, X: Float[Tensor, "N D"], generator: torch.Generator
    ) -> ViewEvaluation:
        """Return `log_evidence` with its gradients, for training. No side effects.

        `evaluate_by_autograd` is an implementation for any view.
        """

    @abstractmethod
    def infer_weights(
        self, latent: GaussianLatent, data: ViewData, state: Any, *, n_latent_draws: int, generator: torch.Generator
    ) -> AbstractWeightPosterior:
        """Return the posterior of the weights for one feature map, averaged over q(X).

        Args:
            latent: posterior of all samples.
            data: observations of this view, which may be other rows than those of training.
            state: the state after training; views whose posterior has a closed form do not need it.
            n_latent_draws: number of draws of the latents.
            generator: source of all draws.
        """

    def keep_dimensions(self, kept: Bool[Tensor, " D"]) -> None:
        """Remove all other latent dimensions."""
        self.mixture.keep(kept)

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Name the view in numerical errors."""
        try:
            yield
        except NumericalError as error:
            raise NumericalError(f"View '{self.name}': {error}") from error


@dataclass(frozen=True)
class ModelView:
    """One view of a model: its module with everything that belongs to it.

    Attributes:
        module: the parameters.
        data: the observations.
        state: what changes during training besides the parameters; None for a compressed view after training.
        weight: of its evidence in the objective; a view of weight zero does not influence the latents.
    """

    module: AbstractView
    data: ViewData
    state: ViewState | None = None
    weight: float = 1.0

    @property
    def n_entries(self) -> int:
        """The number of observed entries; a label counts as one."""
        return count_entries(self.module.likelihood, self.data)

    def initialised(self, settings: StateSettings) -> "ModelView":
        """Return the view with the state before training."""
        return replace(self, state=self.module.init_state(self.data, settings))

    def released(self) -> "ModelView":
        """Return the view without what only training needs: the compressed view and scratch memory."""
        return replace(self, state=None) if isinstance(self.state, CompleteState) else self

    def infer_weights(
        self, latent: GaussianLatent, *, n_latent_draws: int, generator: torch.Generator
    ) -> AbstractWeightPosterior:
        """Return the posterior of the weights for one feature map, averaged over q(X)."""
        arguments = (latent, self.data, self.state)
        return self.module.infer_weights(*arguments, n_latent_draws=n_latent_draws, generator=generator)


def count_entries(likelihood: AbstractLikelihood, data: ViewData) -> int:
    """Return the number of observed entries of a view; a label counts as one."""
    return sum(likelihood.count_entries(data.entries_of(block)) for block in row_blocks(*data.Y.shape))


def evaluate_by_autograd(
    view: AbstractView, data: ViewData, state: Any, X: Float[Tensor, "N D"], generator: torch.Generator
) -> ViewEvaluation:
    """Return the log evidence of a view with the gradients that autograd computes."""
    parameters = list(view.parameters())
    with torch.enable_grad():
        leaf = X.detach().requires_grad_()
        value, after = view.log_evidence(data, state, leaf, generator)
    grad_X, *found = torch.autograd.grad(value, [leaf, *parameters], allow_unused=True)
    gradients = {p: gradient for p, gradient in zip(parameters, found, strict=True) if gradient is not None}
    return ViewEvaluation(value.detach(), grad_X, gradients, after)
