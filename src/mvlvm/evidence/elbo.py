"""The evidence lower bound, in its parts."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from mvlvm.shapes import Scalar


@dataclass(frozen=True)
class Elbo:
    """The bound: one expected log evidence per view, term (a), minus the latent's divergence, term (b).

    Args:
        reconstruction: the views' expected log evidences.
        latent_kl: the divergence of q(X) from p(X).
    """

    reconstruction: Float[Tensor, " V"]
    latent_kl: Scalar

    @property
    def value(self) -> Scalar:
        """The bound itself, every term weighed by one."""
        return self.reconstruction.sum() - self.latent_kl

    def parts(self) -> dict[str, Tensor]:
        """Name the terms, for the history of a fit."""
        return {"reconstruction": self.reconstruction.sum(), "latent_kl": self.latent_kl}

    def weighted(self, view_weights: Float[Tensor, " V"], latent_kl_weight: float) -> "Elbo":
        """Give the objective with its terms weighed; with weights other than one it is no longer a bound."""
        return Elbo(view_weights * self.reconstruction, latent_kl_weight * self.latent_kl)
