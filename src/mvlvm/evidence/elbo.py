"""The evidence lower bound: the expected log evidence of each view, term (a), minus the KL divergence, term (b)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.shapes import Number, Scalar


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
    squares, log_std = torch.addcmul(std * std, mean, mean), std.log()
    if weight is not None:
        weight = weight[:, None].double()
        return 0.5 * (weight * (squares - 1)).sum() - (weight * log_std).sum()
    return 0.5 * (squares.sum() - squares.numel()) - log_std.sum()


@dataclass(frozen=True)
class Elbo:
    """The evidence lower bound, in its terms [eq:gaussian_elbo_estimate, eq:evaluation_term_2].

    Args:
        evidence: view name -> the expected log evidence of the view, the terms (a).
        latent_kl: the KL divergence of q(X) from p(X), term (b).
    """

    evidence: Mapping[str, Number]
    latent_kl: Number

    @property
    def reconstruction(self) -> Number:
        """The sum of the expected log evidences."""
        return _sum(self.evidence.values())

    @property
    def value(self) -> Number:
        """The bound: the sum of the expected log evidences minus the KL divergence, a scalar."""
        return self.reconstruction - self.latent_kl


@dataclass(frozen=True)
class Objective:
    """A training objective: the bound with weighted terms, and further terms. Only the bound itself is a bound.

    Args:
        elbo: the bound.
        view_weights: view name -> weight of its expected log evidence.
        latent_kl_weight: weight of the KL divergence.
        terms: name -> a further term to maximise.
        weights: name -> weight of the further term.
    """

    elbo: Elbo
    view_weights: Mapping[str, float]
    latent_kl_weight: float = 1.0
    terms: Mapping[str, Number] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def value(self) -> Number:
        """The objective to maximise, a scalar."""
        evidence = _sum(self.view_weights[name] * term for name, term in self.elbo.evidence.items())
        further = (self.weights[name] * term for name, term in self.terms.items())
        return _sum((evidence - self.latent_kl_weight * self.elbo.latent_kl, *further))

    def parts(self) -> dict[str, Number]:
        """Return the bound and all terms by name, without their weights, for the history of a fit."""
        elbo = self.elbo
        bound = {"elbo": elbo.value, "reconstruction": elbo.reconstruction, "latent_kl": elbo.latent_kl}
        return {**bound, **{f"evidence:{name}": term for name, term in elbo.evidence.items()}, **self.terms}


def _sum(terms: Iterable[Number]) -> Number:
    first, *others = terms
    return sum(others, first)
