"""Gibbs sampling of a Dirichlet process mixture of Gaussians.

The model:

    w_p | z_p, mu, Sigma ~ N(mu_z, Sigma_z),    (mu_k, Sigma_k) ~ NIW(m, kappa, nu, Psi),
    z ~ CRP(alpha),                             alpha ~ Gamma(shape, rate).

References:
    Neal. Markov chain sampling methods for Dirichlet process mixture models. JCGS 2000, algorithm 3.
    Escobar, West. Bayesian density estimation and inference using mixtures. JASA 1995, section 6.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln, softmax
from scipy.stats import invwishart


class GammaPrior(NamedTuple):
    """Shape and rate of a gamma or inverse gamma distribution."""

    shape: float
    rate: float


class NormalInverseWishart(NamedTuple):
    """Sigma ~ InverseWishart(nu, Psi) and mu | Sigma ~ N(m, Sigma / kappa); one distribution, or a batch of K."""

    mean: Float[np.ndarray, "*K D"]
    kappa: Float[np.ndarray, "*K"]
    nu: Float[np.ndarray, "*K"]
    scale: Float[np.ndarray, "*K D D"]


class MixtureSample(NamedTuple):
    """State of the mixture in the chain.

    Attributes:
        labels: z, the component of every point, from 0 to K - 1, without empty components.
        means: mu.
        covariances: Sigma.
        concentration: alpha.
    """

    labels: Int[np.ndarray, " P"]
    means: Float[np.ndarray, "K D"]
    covariances: Float[np.ndarray, "K D D"]
    concentration: float


class MixturePrior(NamedTuple):
    """Priors of the components and of the concentration."""

    component: NormalInverseWishart
    concentration: GammaPrior


def standard_prior(n_dimensions: int) -> MixturePrior:
    """Return a prior whose expected component is N(0, I), the spectral density of a unit RBF kernel."""
    D = n_dimensions
    component = NormalInverseWishart(np.zeros(D), np.array(1.0), np.array(D + 2.0), np.eye(D))
    return MixturePrior(component, GammaPrior(1.0, 1.0))


def draw_mixture(
    W: Float[np.ndarray, "P D"], mixture: MixtureSample, prior: MixturePrior, rng: np.random.Generator
) -> MixtureSample:
    """Draw labels with the components integrated out, then the components, then the concentration."""
    labels = draw_labels(W, mixture.labels, mixture.concentration, prior.component, rng)
    means, covariances = draw_components(W, labels, prior.component, rng)
    n_components = len(means)
    alpha = draw_concentration(mixture.concentration, n_components, len(W), prior.concentration, rng)
    return MixtureSample(labels, means, covariances, alpha)


def draw_labels(
    W: Float[np.ndarray, "P D"],
    labels: Int[np.ndarray, " P"],
    concentration: float,
    prior: NormalInverseWishart,
    rng: np.random.Generator,
) -> Int[np.ndarray, " P"]:
    """Draw the component of every point in turn, given those of all other points."""
    labels = labels.copy()
    for p in range(len(W)):
        known, probabilities = label_probabilities(p, W, labels, concentration, prior)
        chosen = rng.choice(len(probabilities), p=probabilities)
        labels[p] = known[chosen] if chosen < len(known) else known.max(initial=-1) + 1
    return np.unique(labels, return_inverse=True)[1]


def label_probabilities(
    p: int,
    W: Float[np.ndarray, "P D"],
    labels: Int[np.ndarray, " P"],
    concentration: float,
    prior: NormalInverseWishart,
) -> tuple[Int[np.ndarray, " K"], Float[np.ndarray, " _"]]:
    """Return the labels of the other points, and the probabilities that point p has one of these labels or a new one.

    P(z_p = k | rest) is proportional to n_k t_k(w_p) for a component with n_k other points, and to alpha t_0(w_p) for a
    new one, where t_k is the predictive density given the other points of k, and t_0 that given none.
    """
    others, other_labels = np.delete(W, p, axis=0), np.delete(labels, p)
    known = np.unique(other_labels)
    # the last row, the new component, has no members: its posterior is the prior
    members = np.vstack([other_labels == known[:, None], np.zeros((1, len(others)), dtype=bool)]).astype(float)
    weights = np.append(members[:-1].sum(axis=1), concentration)
    return known, softmax(np.log(weights) + log_predictive(W[p], posterior(others, members, prior)))


def posterior(
    W: Float[np.ndarray, "P D"], members: Float[np.ndarray, "K P"], prior: NormalInverseWishart
) -> NormalInverseWishart:
    """Return the normal-inverse-Wishart posterior of every component given its points.

    Counts, sums and second moments are additive:

        kappa' = kappa + n,  nu' = nu + n,  kappa' m' = kappa m + sum w,
        Psi' + kappa' m' m'^T = Psi + kappa m m^T + sum w w^T.
    """
    counts = members.sum(axis=1)
    kappa = prior.kappa + counts
    mean = (prior.kappa * prior.mean + members @ W) / kappa[:, None]
    moments = np.einsum("kp,pi,pj->kij", members, W, W)
    before = prior.scale + prior.kappa * np.outer(prior.mean, prior.mean)
    scale = before + moments - kappa[:, None, None] * mean[:, :, None] * mean[:, None, :]
    return NormalInverseWishart(mean, kappa, prior.nu + counts, scale)


def log_predictive(w: Float[np.ndarray, " D"], known: NormalInverseWishart) -> Float[np.ndarray, " K"]:
    """Return the (K,) log predictive densities of a point: Student t with nu - D + 1 degrees of freedom.

    The location is m, the shape matrix Psi (kappa + 1) / (kappa (nu - D + 1)).
    """
    D = len(w)
    freedom = known.nu - D + 1
    shape = known.scale * ((known.kappa + 1) / (known.kappa * freedom))[:, None, None]
    deviation = w - known.mean
    distance = np.einsum("ki,ki->k", deviation, np.linalg.solve(shape, deviation[:, :, None])[:, :, 0])
    log_volume = np.linalg.slogdet(shape).logabsdet
    log_constant = gammaln((freedom + D) / 2) - gammaln(freedom / 2) - D / 2 * np.log(freedom * np.pi)
    return log_constant - log_volume / 2 - (freedom + D) / 2 * np.log1p(distance / freedom)


def draw_components(
    W: Float[np.ndarray, "P D"], labels: Int[np.ndarray, " P"], prior: NormalInverseWishart, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "K D"], Float[np.ndarray, "K D D"]]:
    """Draw the mean and covariance of every component given its points."""
    D = W.shape[1]
    members = (labels == np.arange(labels.max() + 1)[:, None]).astype(float)
    means, covariances = [], []
    for mean, kappa, nu, scale in zip(*posterior(W, members, prior), strict=True):
        covariance = np.reshape(invwishart.rvs(nu, scale, random_state=rng), (D, D))
        covariances.append(covariance)
        means.append(mean + np.linalg.cholesky(covariance / kappa) @ rng.standard_normal(D))
    return np.array(means), np.array(covariances)


def draw_concentration(
    concentration: float, n_components: int, n_points: int, prior: GammaPrior, rng: np.random.Generator
) -> float:
    """Draw alpha given the number of components, with an auxiliary eta ~ Beta(alpha + 1, P).

    Then alpha is a mixture of Gamma(shape + K, rate - log eta) and Gamma(shape + K - 1, rate - log eta), with odds
    (shape + K - 1) : P (rate - log eta).
    """
    eta = rng.beta(concentration + 1, n_points)
    rate = prior.rate - np.log(eta)
    odds = (prior.shape + n_components - 1) / (n_points * rate)
    larger = rng.random() < odds / (1 + odds)
    return float(rng.gamma(prior.shape + n_components - 1 + larger) / rate)
