"""Normal distributions of latents, one per row, and how the opinions of several views become one.

What autoencoders of several views share: every view has an encoder and a decoder, and all have one latent.

The multimodal variational autoencoder: experts whose opinions are multiplied.

The mixture-of-experts variational autoencoder: any of the views may be right.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm.baselines.autoencoders.base import (
    DiagonalNormal,
    GaussianDecoder,
    GaussianEncoder,
    NetworkMixin,
    as_float32_tensor,
    mlp,
    standard_normal,
)
from mvlvm.baselines.mixins import PredictMixin
from mvlvm.baselines.validation import Matrices
from mvlvm.evidence.elbo import latent_kl
from mvlvm.shapes import Scalar


def product_of_experts(experts: Sequence[DiagonalNormal]) -> DiagonalNormal:
    r"""Multiply the densities of the experts and of the prior, and scale to a density.

    $$ N(x; 0, I) \prod_v N(x; \mu_v, S_v) \propto N(x; \mu, S), \qquad
       S^{-1} = I + \sum_v S_v^{-1}, \quad \mu = S \sum_v S_v^{-1} \mu_v $$
    """
    precisions = torch.stack([expert.std.pow(-2) for expert in experts])  # V N D
    means = torch.stack([expert.mean for expert in experts])
    precision = 1 + precisions.sum(dim=0)
    return DiagonalNormal((precisions * means).sum(dim=0) / precision, precision.rsqrt())


def mixture_log_density(X: Float[Tensor, "N D"], experts: Sequence[DiagonalNormal]) -> Float[Tensor, " N"]:
    r"""Give $\log \frac1V \sum_v N(x; \mu_v, S_v)$: every expert may be right, each with the same probability."""
    densities = torch.stack([expert.log_density(X) for expert in experts])  # V N
    return densities.logsumexp(dim=0) - math.log(len(experts))


Tensors = Mapping[str, Float[Tensor, "N _"]]


class AbstractMultimodalNetwork(nn.Module, ABC):
    """One expert q_v(x | y_v) and one decoder p(y_v | x) per view.

    Args:
        widths: view name -> columns.
        n_components: D.
        hidden: widths of the hidden mlp.
        generator: of the start.
    """

    def __init__(
        self, widths: Mapping[str, int], n_components: int, hidden: list[int], generator: torch.Generator
    ) -> None:
        super().__init__()
        self.places = {name: v for v, name in enumerate(widths)}  # torch's own dict refuses some names
        self.encoders = nn.ModuleList(
            GaussianEncoder(mlp([M, *hidden, 2 * n_components], generator)) for M in widths.values()
        )
        self.decoders = nn.ModuleList(
            GaussianDecoder(mlp([n_components, *hidden, M], generator)) for M in widths.values()
        )

    @abstractmethod
    def bound(self, views: Tensors, generator: torch.Generator) -> Scalar:
        """Estimate what is to be raised, per row."""

    @abstractmethod
    def place(self, views: Tensors) -> Float[Tensor, "N D"]:
        """Give the latents of rows of which any views are given."""

    def experts(self, views: Tensors) -> dict[str, DiagonalNormal]:
        """Ask the expert of every view that is given."""
        return {name: self.encoders[self.places[name]](Y) for name, Y in views.items()}

    def log_density(self, views: Tensors, X: Float[Tensor, "N D"]) -> Float[Tensor, " N"]:
        """Give the log density of the given views, summed."""
        return torch.stack([self._decoder(name).log_density(Y, X) for name, Y in views.items()]).sum(dim=0)

    def rebuild(self, X: Float[Tensor, "N D"]) -> dict[str, Float[Tensor, "N _"]]:
        """Give the mean of every view."""
        return {name: self._decoder(name)(X) for name in self.places}

    def _decoder(self, name: str) -> GaussianDecoder:
        return cast(GaussianDecoder, self.decoders[self.places[name]])


class AbstractMultimodalVAE(NetworkMixin[AbstractMultimodalNetwork], PredictMixin):
    """An autoencoder of several views."""

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        self._start(seed)
        tensors = {name: as_float32_tensor(Y) for name, Y in views.items()}
        n_rows = len(next(iter(tensors.values())))
        self._train(
            lambda rows, draws: self._network.bound({name: Y[rows] for name, Y in tensors.items()}, draws), n_rows, seed
        )
        return self._place_some(views)

    @torch.no_grad()
    def _place_some(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return self._network.place({name: as_float32_tensor(Y) for name, Y in views.items()}).double().numpy()

    @torch.no_grad()
    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return {name: Y.double().numpy() for name, Y in self._network.rebuild(as_float32_tensor(latents)).items()}


class ProductOfExpertsNetwork(AbstractMultimodalNetwork):
    """q(x | views) is the product of the prior and of the experts of the views that are there."""

    def bound(self, views: Tensors, generator: torch.Generator) -> Scalar:
        """Add up the bounds of all views together and of each view alone, so that every expert can stand for all."""
        experts = self.experts(views)
        total = self._bound(views, experts, generator)
        for name in views if len(views) > 1 else ():
            total = total + self._bound({name: views[name]}, {name: experts[name]}, generator)
        return total

    def place(self, views: Tensors) -> Float[Tensor, "N D"]:
        """Give the means of the product."""
        return product_of_experts(list(self.experts(views).values())).mean

    def _bound(self, views: Tensors, experts: Mapping[str, DiagonalNormal], generator: torch.Generator) -> Scalar:
        q = product_of_experts(list(experts.values()))
        reconstruction = self.log_density(views, q.sample(generator)).sum()
        return (reconstruction - latent_kl(q.mean, q.std)) / len(q.mean)


class MVAE(AbstractMultimodalVAE):
    r"""The multimodal variational autoencoder, a product of experts.

    $$ x_n \sim N(0, I), \qquad y^v_n | x_n \sim N(f_v(x_n), s_v I), \qquad
       q(x | y^1 \dots y^V) \propto N(x; 0, I) \prod_v N(x; \mu_v(y^v), S_v(y^v)) $$

    What is raised is the bound of all views plus the bounds of each view alone, the paper's sub-sampled terms without
    further subsets. All views' likelihoods weigh one. Every noise variance s_v is learned. A view that is missing from
    new rows is left out of the product.

    Attributes:
        embedding_: (N, D) the means of q.

    References:
        Wu, Goodman. Multimodal generative models for scalable weakly-supervised learning. NeurIPS 2018.
    """

    def _untrained(self, generator: torch.Generator) -> ProductOfExpertsNetwork:
        return ProductOfExpertsNetwork(self._widths, self.n_components, self._hidden(), generator)


class MixtureOfExpertsNetwork(AbstractMultimodalNetwork):
    """q(x | views) is one of the experts of the views that are there, each with the same probability."""

    def bound(self, views: Tensors, generator: torch.Generator) -> Scalar:
        r"""Estimate the bound per row, by one draw from every expert.

        $$ \frac1V \sum_v E_{q_v} \Big[ \sum_u \log p(y^u | x) + \log p(x) - \log \frac1V \sum_u q_u(x | y^u) \Big] $$
        """
        experts = list(self.experts(views).values())
        draws = [expert.sample(generator) for expert in experts]
        bounds = [
            self.log_density(views, X) + standard_normal(X).log_density(X) - mixture_log_density(X, experts)
            for X in draws
        ]
        return torch.stack(bounds).mean()

    def place(self, views: Tensors) -> Float[Tensor, "N D"]:
        """Give the means of the mixture."""
        return torch.stack([expert.mean for expert in self.experts(views).values()]).mean(dim=0)


class MMVAE(AbstractMultimodalVAE):
    r"""The mixture-of-experts multimodal variational autoencoder.

    $$ x_n \sim N(0, I), \qquad y^v_n | x_n \sim N(f_v(x_n), s_v I), \qquad
       q(x | y^1 \dots y^V) = \frac1V \sum_v N(x; \mu_v(y^v), S_v(y^v)) $$

    What is raised is the paper's stratified bound with one draw from every expert, without importance weights. Latents
    and noise are normal, where the paper has Laplace variables. All views' likelihoods weigh one. Every noise variance
    s_v is learned. A view that is missing from new rows is left out of the mixture.

    Attributes:
        embedding_: (N, D) the means of q.

    References:
        Shi, Siddharth, Paige, Torr. Variational mixture-of-experts autoencoders for multi-modal deep generative models.
        NeurIPS 2019.
    """

    def _untrained(self, generator: torch.Generator) -> MixtureOfExpertsNetwork:
        return MixtureOfExpertsNetwork(self._widths, self.n_components, self._hidden(), generator)
