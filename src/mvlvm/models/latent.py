"""The shared latent and its variational posterior."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mvlvm.evidence.elbo import latent_kl
from mvlvm.parameters import positive, raw_positive, raw_positive_values
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

    def sample(self, generator: torch.Generator) -> Float[Tensor, "N D"]:
        """Draw X ~ q(X) with the reparameterisation trick; the draw does not depend on the precision."""
        eps = torch.randn(self.mean.shape, generator=generator, device=generator.device)
        return self.mean + self.std * eps.to(self.mean)

    def kl(self) -> Scalar:
        """Return the divergence of q(X) from the prior, term (b) of the bound [eq:evaluation_term_2]."""
        return latent_kl(self.mean, self.std, self.sample_weight)
