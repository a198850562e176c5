"""The shared latent and its variational posterior."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mvlvm.evidence.elbo import latent_kl
from mvlvm.parameters import Gradients, positive, positive_vjp, raw_positive, raw_positive_values
from mvlvm.shapes import Scalar


class GaussianLatent(nn.Module):
    """q(X): an independent normal distribution with diagonal covariance for every sample [eq:variational_dis].

    Sample weights are not part of the saved state: the estimator stores them.

    Args:
        mean: initial means.
        std: initial standard deviation of all entries.

    Attributes:
        sample_weight: weights of the samples in the divergence from the prior; None stands for ones.
    """

    sample_weight: Float[Tensor, " N"] | None

    def __init__(self, mean: Float[Tensor, "N D"], std: float) -> None:
        super().__init__()
        # row-major as in a saved model: the memory layout affects the last bits of results
        self.mean = nn.Parameter(mean.clone(memory_format=torch.contiguous_format))
        self.raw_std = nn.Parameter(torch.full_like(self.mean, raw_positive(std)))
        self.register_buffer("sample_weight", None, persistent=False)

    @property
    def std(self) -> Float[Tensor, "N D"]:
        """Posterior standard deviations."""
        return positive(self.raw_std)

    def set_sample_weight(self, sample_weight: Float[Tensor, " N"] | None) -> None:
        """Set the weights of the samples; None stands for ones."""
        self.sample_weight = None if sample_weight is None else sample_weight.to(self.mean.device)

    @torch.no_grad()
    def reset_to_prior(self, rows: Int[Tensor, " R"]) -> None:
        """Set the posterior of some rows to the prior, mean 0 and standard deviation 1."""
        self.mean[rows] = 0.0
        self.raw_std[rows] = raw_positive(1.0)

    @torch.no_grad()
    def set_rows(self, rows: Int[Tensor, " R"], mean: Float[Tensor, "R D"], std: Float[Tensor, "R D"]) -> None:
        """Set the posterior of some rows."""
        self.mean[rows] = mean.to(self.mean)
        self.raw_std[rows] = raw_positive_values(std.double()).to(self.mean)

    def subset(self, rows: Int[Tensor, " R"]) -> "GaussianLatent":
        """Return the posterior of some rows as a module of its own."""
        part = GaussianLatent(self.mean.detach()[rows], 1.0)
        part.raw_std = nn.Parameter(self.raw_std.detach()[rows])
        part.set_sample_weight(None if self.sample_weight is None else self.sample_weight[rows])
        return part

    def _base_draw(self, generator: torch.Generator) -> Float[Tensor, "N D"]:
        """Draw the standard normal variables of the reparameterisation trick, which do not depend on the precision."""
        return torch.randn(self.mean.shape, generator=generator, device=generator.device).to(self.mean)

    def sample(self, generator: torch.Generator) -> Float[Tensor, "N D"]:
        """Draw X = mean + std eps, X ~ q(X), with the reparameterisation trick."""
        return torch.addcmul(self.mean, self.std, self._base_draw(generator))

    def kl(self) -> Scalar:
        """Return the divergence of q(X) from the prior, term (b) of the bound [eq:evaluation_term_2]."""
        return latent_kl(self.mean, self.std, self.sample_weight)


class LatentDraw(NamedTuple):
    """A draw from q(X).

    Attributes:
        X: the latents, mean + std eps.
        eps: standard normal variables.
        std: the standard deviations.
    """

    X: Float[Tensor, "N D"]
    eps: Float[Tensor, "N D"]
    std: Float[Tensor, "N D"]


def draw_latent(latent: GaussianLatent, generator: torch.Generator) -> LatentDraw:
    """Draw X ~ q(X) as `GaussianLatent.sample` does, without autograd."""
    mean, std, eps = latent.mean.detach(), latent.std.detach(), latent._base_draw(generator)
    return LatentDraw(torch.addcmul(mean, std, eps), eps, std)


def latent_gradients(
    latent: GaussianLatent, draw: LatentDraw, grad_X: Float[Tensor, "N D"], *, kl_weight: float = 1.0
) -> Gradients:
    """Return the gradients of a function of a draw minus the weighted divergence from the prior.

    Args:
        latent: q(X).
        draw: the draw.
        grad_X: gradient of the function with respect to it.
        kl_weight: weight of the divergence.
    """
    mean, std = latent.mean.detach(), draw.std
    grad_mean, grad_std = mean, std - std.reciprocal()  # of the divergence
    if latent.sample_weight is not None:
        weight = latent.sample_weight.to(mean)[:, None]
        grad_mean, grad_std = weight * grad_mean, weight * grad_std
    of_std = torch.addcmul(grad_std.mul_(-kl_weight), grad_X, draw.eps)
    return {
        latent.mean: torch.sub(grad_X, grad_mean, alpha=kl_weight),
        latent.raw_std: positive_vjp(latent.raw_std.detach(), of_std),
    }
