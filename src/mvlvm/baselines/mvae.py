"""The multimodal variational autoencoder: experts whose opinions are multiplied."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.baselines.expert_networks import AbstractExpertAutoencoder, AbstractExperts, Tensors
from mvlvm.baselines.gaussian_experts import Normals, product_of_experts
from mvlvm.evidence.elbo import latent_kl
from mvlvm.shapes import Scalar


class ProductNetwork(AbstractExperts):
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

    def _bound(self, views: Tensors, experts: Mapping[str, Normals], generator: torch.Generator) -> Scalar:
        q = product_of_experts(list(experts.values()))
        reconstruction = self.log_density(views, q.sample(generator)).sum()
        return (reconstruction - latent_kl(q.mean, q.std)) / len(q.mean)


class MVAE(AbstractExpertAutoencoder):
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

    def _untrained(self, generator: torch.Generator) -> ProductNetwork:
        return ProductNetwork(self._widths, self.n_components, self._hidden(), generator)
