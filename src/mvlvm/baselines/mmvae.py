"""The mixture-of-experts variational autoencoder: any of the views may be right."""

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.baselines.expert_networks import AbstractExpertAutoencoder, AbstractExperts, Tensors
from mvlvm.baselines.gaussian_experts import mixture_log_density, standard_normals
from mvlvm.shapes import Scalar


class MixtureNetwork(AbstractExperts):
    """q(x | views) is one of the experts of the views that are there, each with the same probability."""

    def bound(self, views: Tensors, generator: torch.Generator) -> Scalar:
        r"""Estimate the bound per row, by one draw from every expert.

        $$ \frac1V \sum_v E_{q_v} \Big[ \sum_u \log p(y^u | x) + \log p(x) - \log \frac1V \sum_u q_u(x | y^u) \Big] $$
        """
        experts = list(self.experts(views).values())
        draws = [expert.sample(generator) for expert in experts]
        bounds = [
            self.log_density(views, X) + standard_normals(X).log_density(X) - mixture_log_density(X, experts)
            for X in draws
        ]
        return torch.stack(bounds).mean()

    def place(self, views: Tensors) -> Float[Tensor, "N D"]:
        """Give the means of the mixture."""
        return torch.stack([expert.mean for expert in self.experts(views).values()]).mean(dim=0)


class MMVAE(AbstractExpertAutoencoder):
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

    def _untrained(self, generator: torch.Generator) -> MixtureNetwork:
        return MixtureNetwork(self._widths, self.n_components, self._hidden(), generator)
