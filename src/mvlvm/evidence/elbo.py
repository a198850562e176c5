"""The divergence of the latent posterior from its prior, term (b) of the bound.

The evidence lower bound, in its parts.
"""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from mvlvm.shapes import Scalar


def latent_kl(
    mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"], weight: Float[Tensor, " N"] | None = None
) -> Scalar:
    r"""Give the divergence of q(X) from the standard normal prior [eq:evaluation_term_2].

    $$ \tfrac12 \sum_n \big( \operatorname{tr} S_n + \mu_n^\top \mu_n - \log|S_n| - D \big),
       \qquad S_n = \operatorname{diag}(\mathrm{std}_n^2) $$

    Summed over samples, not averaged: the bound weighs it by one.

    Args:
        mean: posterior means $\mu_n$.
        std: posterior standard deviations, positive.
        weight: how often each sample counts; None is once.
    """
    mean, std = mean.double(), std.double()
    if weight is None:
        return 0.5 * (std**2 + mean**2 - 1).sum() - std.log().sum()
    return (weight[:, None].double() * (0.5 * (std**2 + mean**2 - 1) - std.log())).sum()


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
        """Name the bound and its terms, for the history of a fit."""
        return {"elbo": self.value, "reconstruction": self.reconstruction.sum(), "latent_kl": self.latent_kl}


@dataclass(frozen=True)
class WeightedElbo:
    """An objective: the bound with its terms weighed. With weights other than one it is no bound itself.

    Args:
        elbo: the bound.
        view_weights: of the views' evidences.
        latent_kl_weight: of the divergence.
    """

    elbo: Elbo
    view_weights: Float[Tensor, " V"]
    latent_kl_weight: float

    @property
    def value(self) -> Scalar:
        """The number to raise."""
        return (self.view_weights * self.elbo.reconstruction).sum() - self.latent_kl_weight * self.elbo.latent_kl

    def parts(self) -> dict[str, Tensor]:
        """Give the bound and its terms, unweighted."""
        return self.elbo.parts()
