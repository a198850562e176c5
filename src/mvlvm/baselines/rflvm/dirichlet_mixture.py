"""A Dirichlet process mixture of Gaussians, drawn from its posterior by Gibbs steps.

In the symbols of the literature:

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
    """Shape and rate of a Gamma distribution, or of the inverse of what has one."""

    shape: float
    rate: float


class NormalInverseWishart(NamedTuple):
    """Sigma ~ InverseWishart(nu, Psi) and mu | Sigma ~ N(m, Sigma / kappa); one of them, or one for each of K."""

    mean: Float[np.ndarray, "*K D"]
    kappa: Float[np.ndarray, "*K"]
    nu: Float[np.ndarray, "*K"]
    scale: Float[np.ndarray, "*K D D"]


class MixtureSample(NamedTuple):
    """What the mixture is at one point of the chain.

    Attributes:
        labels: z, the component of every point, from 0 to K - 1, none of them empty.
        means: mu.
        covariances: Sigma.
        concentration: alpha.
    """

    labels: Int[np.ndarray, " P"]
    means: Float[np.ndarray, "K D"]
    covariances: Float[np.ndarray, "K D D"]
    concentration: float


class MixturePrior(NamedTuple):
    """What is thought of the components, and of the concentration, before seeing points."""

    component: NormalInverseWishart
    concentration: GammaPrior


def standard_prior(n_dimensions: int) -> MixturePrior:
    """Give a prior under which a component is expected at 0 with unit covariance, as of a unit RBF kernel."""
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
    """Draw the component of one point after the other, given those of all others."""
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
    """Give the labels of the other points, and the probabilities that point p has one of them, or a new one.

    P(z_p = k | rest) is proportional to n_k t_k(w_p) for a component with n_k other points, and to alpha t_0(w_p) for a
    new one, where t_k is the predictive density given the other points of k, and t_0 that given none.
    """
    others, their_labels = np.delete(W, p, axis=0), np.delete(labels, p)
    known = np.unique(their_labels)
    # the last row has no members: its posterior is the prior
    members = np.vstack([their_labels == known[:, None], np.zeros((1, len(others)), dtype=bool)]).astype(float)
    weights = np.append(members[:-1].sum(axis=1), concentration)
    return known, softmax(np.log(weights) + log_predictive(W[p], posterior(others, members, prior)))


def posterior(
    W: Float[np.ndarray, "P D"], members: Float[np.ndarray, "K P"], prior: NormalInverseWishart
) -> NormalInverseWishart:
    """Give what is known of every component from its points.

    Counts, sums and second moments add up:

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
    """Give the log density of one more point of each component: a Student t with nu - D + 1 degrees of freedom.

    Its centre is m, its shape matrix Psi (kappa + 1) / (kappa (nu - D + 1)).
    """
    D = len(w)
    freedom = known.nu - D + 1
    shape = known.scale * ((known.kappa + 1) / (known.kappa * freedom))[:, None, None]
    away = w - known.mean
    distance = np.einsum("ki,ki->k", away, np.linalg.solve(shape, away[:, :, None])[:, :, 0])
    log_volume = np.linalg.slogdet(shape).logabsdet
    log_constant = gammaln((freedom + D) / 2) - gammaln(freedom / 2) - D / 2 * np.log(freedom * np.pi)
    return log_constant - log_volume / 2 - (freedom + D) / 2 * np.log1p(distance / freedom)


def draw_components(
    W: Float[np.ndarray, "P D"], labels: Int[np.ndarray, " P"], prior: NormalInverseWishart, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "K D"], Float[np.ndarray, "K D D"]]:
    """Draw mean and covariance of every component given its points."""
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
    """Draw alpha given how many components there are, with an auxiliary eta ~ Beta(alpha + 1, P).

    Then alpha is Gamma(shape + K, rate - log eta) with odds (shape + K - 1) : P (rate - log eta), and otherwise of a
    shape that is one less.
    """
    eta = rng.beta(concentration + 1, n_points)
    rate = prior.rate - np.log(eta)
    odds = (prior.shape + n_components - 1) / (n_points * rate)
    more = rng.random() < odds / (1 + odds)
    return float(rng.gamma(prior.shape + n_components - 1 + more) / rate)
