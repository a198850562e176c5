"""The evidence lower bound: the expected log evidence of each view, term (a), minus the KL divergence, term (b)."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from mvlvm.shapes import Scalar


def latent_kl(
    mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"], weight: Float[Tensor, " N"] | None = None
) -> Scalar:
    r"""Return the KL divergence of q(X) from the standard normal prior, term (b) [eq:evaluation_term_2].

    $$ \tfrac12 \sum_n \big( \operatorname{tr} S_n + \mu_n^\top \mu_n - \log|S_n| - D \big),
       \qquad S_n = \operatorname{diag}(\mathrm{std}_n^2) $$

    Summed over samples, not averaged: its weight in the bound is one.

    Args:
        mean: posterior means $\mu_n$.
        std: posterior standard deviations, positive.
        weight: sample weights; None means one.

    Returns:
        The divergence in nats, a float64 scalar.
    """
    mean, std = mean.double(), std.double()
    if weight is None:
        return 0.5 * (std**2 + mean**2 - 1).sum() - std.log().sum()
    return (weight[:, None].double() * (0.5 * (std**2 + mean**2 - 1) - std.log())).sum()


@dataclass(frozen=True)
class Elbo:
    """The evidence lower bound, in its terms [eq:gaussian_elbo_estimate, eq:evaluation_term_2].

    Args:
        reconstruction: the expected log evidence of each view, term (a).
        latent_kl: the KL divergence of q(X) from p(X), term (b).
    """

    reconstruction: Float[Tensor, " V"]
    latent_kl: Scalar

    @property
    def value(self) -> Scalar:
        """The bound: the sum of the reconstruction terms minus the KL divergence, a scalar."""
        return self.reconstruction.sum() - self.latent_kl

    def parts(self) -> dict[str, Tensor]:
        """Return the bound and its terms by name, as scalars, for the history of a fit."""
        return {"elbo": self.value, "reconstruction": self.reconstruction.sum(), "latent_kl": self.latent_kl}


@dataclass(frozen=True)
class WeightedElbo:
    """A training objective with weighted terms of the bound. With weights other than one it is not a bound itself.

    Args:
        elbo: the bound.
        view_weights: the weights of the expected log evidences.
        latent_kl_weight: the weight of the KL divergence.
    """

    elbo: Elbo
    view_weights: Float[Tensor, " V"]
    latent_kl_weight: float

    @property
    def value(self) -> Scalar:
        """The objective to maximise, a scalar."""
        return (self.view_weights * self.elbo.reconstruction).sum() - self.latent_kl_weight * self.elbo.latent_kl

    def parts(self) -> dict[str, Tensor]:
        """Return the unweighted bound and its terms by name, as scalars."""
        return self.elbo.parts()
