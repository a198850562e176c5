"""Variational autoencoders: of one view, and of several as product (MVAE) or mixture of experts (MMVAE)."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm.baselines.autoencoders.base import (
    AbstractAutoencoder,
    AbstractAutoencoderNetwork,
    DiagonalNormal,
    GaussianDecoder,
    GaussianEncoder,
    NetworkMixin,
    as_float32_tensor,
    mlp,
    standard_normal,
)
from mvlvm.baselines.base import AbstractBaseline, PredictMixin, ReconstructMixin
from mvlvm.baselines.baseline_input import Matrices
from mvlvm.evidence.elbo import latent_kl
from mvlvm.shapes import Scalar


class VariationalNetwork(AbstractAutoencoderNetwork):
    """An encoder q(x | y) and a decoder p(y | x)."""

    def __init__(self, encoder: GaussianEncoder, decoder: GaussianDecoder) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def initialize(self, Y: Float[Tensor, "N M"]) -> None:
        """Do nothing: scaled views need no data-dependent initialisation."""

    def objective(self, Y: Float[Tensor, "N M"], generator: torch.Generator) -> Scalar:
        r"""Estimate $E_q \log p(y | x) - KL(q(x | y) \| p(x))$ per row, with one sample."""
        q = self.encoder(Y)
        reconstruction = self.decoder.log_density(Y, q.sample(generator)).sum()
        return (reconstruction - latent_kl(q.mean, q.std)) / len(Y)

    def encode(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N D"]:
        """Return the (N, D) means of q."""
        return self.encoder(Y).mean

    def decode(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Return the (N, M) means of the decoder."""
        return self.decoder(X)


class VAE(AbstractAutoencoder):
    r"""The variational autoencoder, with Gaussian noise of one trainable variance.

    $$ x_n \sim N(0, I), \qquad y_n | x_n \sim N(f(x_n), s I), \qquad q(x_n | y_n) = N(\mu(y_n), S(y_n)) $$

    f, mu and the diagonal S are networks with two hidden layers. Several views are concatenated, each standardised and
    scaled to equal total variance.

    Attributes:
        embedding_: (N, D) means of q.

    References:
        Kingma, Welling. Auto-encoding variational Bayes. ICLR 2014.
    """

    def _build_network(self, generator: torch.Generator) -> VariationalNetwork:
        M, D, hidden = sum(self._widths.values()), self.n_components, self._hidden_widths()
        return VariationalNetwork(
            GaussianEncoder(mlp([M, *hidden, 2 * D], generator)), GaussianDecoder(mlp([D, *hidden, M], generator))
        )


def product_of_experts(experts: Sequence[DiagonalNormal]) -> DiagonalNormal:
    r"""Return the normalised product of the densities of the experts and the prior.

    $$ N(x; 0, I) \prod_v N(x; \mu_v, S_v) \propto N(x; \mu, S), \qquad
       S^{-1} = I + \sum_v S_v^{-1}, \quad \mu = S \sum_v S_v^{-1} \mu_v $$
    """
    precisions = torch.stack([expert.std.pow(-2) for expert in experts])  # V N D
    means = torch.stack([expert.mean for expert in experts])
    precision = 1 + precisions.sum(dim=0)
    return DiagonalNormal((precisions * means).sum(dim=0) / precision, precision.rsqrt())


def mixture_log_density(X: Float[Tensor, "N D"], experts: Sequence[DiagonalNormal]) -> Float[Tensor, " N"]:
    r"""Return the (N,) log densities $\log \frac1V \sum_v N(x; \mu_v, S_v)$ of the equally weighted mixture."""
    densities = torch.stack([expert.log_density(X) for expert in experts])  # V N
    return densities.logsumexp(dim=0) - math.log(len(experts))


Tensors = Mapping[str, Float[Tensor, "N _"]]


class AbstractMultimodalNetwork(nn.Module, ABC):
    """One expert q_v(x | y_v) and one decoder p(y_v | x) per view.

    Args:
        widths: view name -> number of columns.
        n_components: number of latent dimensions, D.
        hidden: widths of the hidden layers.
        generator: random number generator of the initialisation.
    """

    def __init__(
        self, widths: Mapping[str, int], n_components: int, hidden: list[int], generator: torch.Generator
    ) -> None:
        super().__init__()
        self.indices = {name: v for v, name in enumerate(widths)}  # nn.ModuleDict does not accept all names
        self.encoders = nn.ModuleList(
            GaussianEncoder(mlp([M, *hidden, 2 * n_components], generator)) for M in widths.values()
        )
        self.decoders = nn.ModuleList(
            GaussianDecoder(mlp([n_components, *hidden, M], generator)) for M in widths.values()
        )

    @abstractmethod
    def objective(self, views: Tensors, generator: torch.Generator) -> Scalar:
        """Estimate the objective to be maximised, per row."""

    @abstractmethod
    def encode(self, views: Tensors) -> Float[Tensor, "N D"]:
        """Return the (N, D) latents of rows, given any subset of the views."""

    def experts(self, views: Tensors) -> dict[str, DiagonalNormal]:
        """Return the posterior of every available view's expert."""
        return {name: self.encoders[self.indices[name]](Y) for name, Y in views.items()}

    def log_density(self, views: Tensors, X: Float[Tensor, "N D"]) -> Float[Tensor, " N"]:
        """Return the (N,) log densities, summed over the available views."""
        return torch.stack([self._decoder(name).log_density(Y, X) for name, Y in views.items()]).sum(dim=0)

    def decode(self, X: Float[Tensor, "N D"]) -> dict[str, Float[Tensor, "N _"]]:
        """Return the mean of every view."""
        return {name: self._decoder(name)(X) for name in self.indices}

    def _decoder(self, name: str) -> GaussianDecoder:
        return cast(GaussianDecoder, self.decoders[self.indices[name]])


class AbstractMultimodalVAE(NetworkMixin[AbstractMultimodalNetwork], PredictMixin, ReconstructMixin, AbstractBaseline):
    """Base class of autoencoders of several views."""

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        self._init_network(seed)
        tensors = {name: as_float32_tensor(Y) for name, Y in views.items()}
        n_rows = len(next(iter(tensors.values())))
        self._train(
            lambda rows, draws: self._network.objective({name: Y[rows] for name, Y in tensors.items()}, draws),
            n_rows,
            seed,
        )
        return self._transform_partial(views)

    @torch.no_grad()
    def _transform_partial(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return self._network.encode({name: as_float32_tensor(Y) for name, Y in views.items()}).double().numpy()

    @torch.no_grad()
    def _reconstruct(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return {name: Y.double().numpy() for name, Y in self._network.decode(as_float32_tensor(latents)).items()}


class ProductOfExpertsNetwork(AbstractMultimodalNetwork):
    """q(x | views) is the product of the prior and the experts of the available views."""

    def objective(self, views: Tensors, generator: torch.Generator) -> Scalar:
        """Estimate the sum of the ELBOs of all views jointly and of each view alone, which trains every expert."""
        experts = self.experts(views)
        total = self._elbo(views, experts, generator)
        for name in views if len(views) > 1 else ():
            total = total + self._elbo({name: views[name]}, {name: experts[name]}, generator)
        return total

    def encode(self, views: Tensors) -> Float[Tensor, "N D"]:
        """Return the (N, D) means of the product."""
        return product_of_experts(list(self.experts(views).values())).mean

    def _elbo(self, views: Tensors, experts: Mapping[str, DiagonalNormal], generator: torch.Generator) -> Scalar:
        q = product_of_experts(list(experts.values()))
        reconstruction = self.log_density(views, q.sample(generator)).sum()
        return (reconstruction - latent_kl(q.mean, q.std)) / len(q.mean)


class MVAE(AbstractMultimodalVAE):
    r"""The multimodal variational autoencoder, a product of experts.

    $$ x_n \sim N(0, I), \qquad y^v_n | x_n \sim N(f_v(x_n), s_v I), \qquad
       q(x | y^1 \dots y^V) \propto N(x; 0, I) \prod_v N(x; \mu_v(y^v), S_v(y^v)) $$

    The objective is the ELBO of all views plus the ELBOs of each view alone: the paper's sub-sampled terms without
    further subsets. The likelihoods of all views have weight one, and every noise variance s_v is trained. A view that
    is missing from new rows is left out of the product.

    Attributes:
        embedding_: (N, D) means of q.

    References:
        Wu, Goodman. Multimodal generative models for scalable weakly-supervised learning. NeurIPS 2018.
    """

    def _build_network(self, generator: torch.Generator) -> ProductOfExpertsNetwork:
        return ProductOfExpertsNetwork(self._widths, self.n_components, self._hidden_widths(), generator)


class MixtureOfExpertsNetwork(AbstractMultimodalNetwork):
    """q(x | views) is an equally weighted mixture of the experts of the available views."""

    def objective(self, views: Tensors, generator: torch.Generator) -> Scalar:
        r"""Estimate the ELBO per row, with one sample from every expert.

        $$ \frac1V \sum_v E_{q_v} \Big[ \sum_u \log p(y^u | x) + \log p(x) - \log \frac1V \sum_u q_u(x | y^u) \Big] $$
        """
        experts = list(self.experts(views).values())
        draws = [expert.sample(generator) for expert in experts]
        bounds = [
            self.log_density(views, X) + standard_normal(X).log_density(X) - mixture_log_density(X, experts)
            for X in draws
        ]
        return torch.stack(bounds).mean()

    def encode(self, views: Tensors) -> Float[Tensor, "N D"]:
        """Return the (N, D) means of the mixture."""
        return torch.stack([expert.mean for expert in self.experts(views).values()]).mean(dim=0)


class MMVAE(AbstractMultimodalVAE):
    r"""The mixture-of-experts multimodal variational autoencoder.

    $$ x_n \sim N(0, I), \qquad y^v_n | x_n \sim N(f_v(x_n), s_v I), \qquad
       q(x | y^1 \dots y^V) = \frac1V \sum_v N(x; \mu_v(y^v), S_v(y^v)) $$

    The objective is the paper's stratified ELBO with one sample from every expert, without importance weights. Latents
    and noise are normal, where the paper uses Laplace distributions. The likelihoods of all views have weight one, and
    every noise variance s_v is trained. A view that is missing from new rows is left out of the mixture.

    Attributes:
        embedding_: (N, D) means of q.

    References:
        Shi, Siddharth, Paige, Torr. Variational mixture-of-experts autoencoders for multi-modal deep generative models.
        NeurIPS 2019.
    """

    def _build_network(self, generator: torch.Generator) -> MixtureOfExpertsNetwork:
        return MixtureOfExpertsNetwork(self._widths, self.n_components, self._hidden_widths(), generator)
