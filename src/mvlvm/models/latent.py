"""The shared latent and its variational posterior."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mvlvm.evidence.elbo import latent_kl
from mvlvm.parameters import positive, raw_positive
from mvlvm.shapes import Scalar


class GaussianLatent(nn.Module):
    """q(X): one normal with a diagonal covariance per sample [eq:variational_dis].

    Which rows count how often is no part of a saved state: the estimator keeps it.

    Args:
        mean: where the means start.
        std: where every standard deviation starts.
    """

    weight: Float[Tensor, " N"] | None

    def __init__(self, mean: Float[Tensor, "N D"], std: float) -> None:
        super().__init__()
        # row by row as in a saved model: the order in memory shows in the last bits of what is computed from them
        self.mean = nn.Parameter(mean.clone(memory_format=torch.contiguous_format))
        self.raw_std = nn.Parameter(torch.full_like(self.mean, raw_positive(std)))
        self.register_buffer("weight", None, persistent=False)

    @property
    def std(self) -> Float[Tensor, "N D"]:
        """Posterior standard deviations."""
        return positive(self.raw_std)

    def weigh_rows(self, weight: Float[Tensor, " N"] | None) -> None:
        """Say how often each row counts; None is once."""
        self.weight = None if weight is None else weight.to(self.mean.device)

    @torch.no_grad()
    def rest_at_prior(self, rows: Int[Tensor, " R"]) -> None:
        """Put rows of which nothing is known where the prior has them, mean 0 and standard deviation 1."""
        self.mean[rows] = 0.0
        self.raw_std[rows] = raw_positive(1.0)

    @torch.no_grad()
    def put(self, rows: Int[Tensor, " R"], mean: Float[Tensor, "R D"], std: Float[Tensor, "R D"]) -> None:
        """Put rows somewhere."""
        self.mean[rows] = mean.to(self.mean)
        std = std.double()
        self.raw_std[rows] = (std + torch.log(-torch.expm1(-std))).to(self.mean)  # as `raw_positive`

    def of_rows(self, rows: Int[Tensor, " R"]) -> "GaussianLatent":
        """Give the posterior of some rows alone."""
        part = GaussianLatent(self.mean.detach()[rows], 1.0)
        part.raw_std = nn.Parameter(self.raw_std.detach()[rows])
        part.weigh_rows(None if self.weight is None else self.weight[rows])
        return part

    def sample(self, generator: torch.Generator) -> Float[Tensor, "N D"]:
        """Draw X ~ q(X), differentiable by its parameters; the same draw in every precision."""
        eps = torch.randn(self.mean.shape, generator=generator, device=generator.device)
        return self.mean + self.std * eps.to(self.mean)

    def kl(self) -> Scalar:
        """Give the divergence of q(X) from the prior, term (b) of the bound."""
        return latent_kl(self.mean, self.std, self.weight)
