"""Gibbs sampling of latent variable models with random Fourier features.

The latents x_n ~ N(0, I) are shared by all views. Every view has separate spectral points w_p, drawn from a Dirichlet
process mixture of Gaussians, separate weights and a separate noise variance:

    phi(x) = P^(-1/2) [cos(W x), sin(W x)],  Y = Phi beta + noise,  beta ~ N(0, I),  s ~ InverseGamma(shape, rate).

For every view, a sweep draws the mixture given W; every w_p by a Metropolis-Hastings step that proposes from its
mixture component, with beta integrated out; beta; and s. Then it draws all x_n by elliptical slice sampling. Since W
and beta are drawn as one block, the posterior is invariant.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_solve, cholesky, solve_triangular

from mvlvm.baselines.rflvm.dirichlet_mixture import (
    GammaPrior,
    MixturePrior,
    MixtureSample,
    draw_mixture,
    standard_prior,
)

# After this many shrinkages the bracket is as narrow as the rounding error, and the row keeps its value.
_MAX_SHRINKS = 200


def elliptical_slice_step(
    X: Float[np.ndarray, "N D"],
    log_likelihood: Callable[[Float[np.ndarray, "B D"], Int[np.ndarray, " B"]], Float[np.ndarray, " B"]],
    rng: np.random.Generator,
) -> Float[np.ndarray, "N D"]:
    """Update every row once by elliptical slice sampling, vectorised over rows.

    A row x with prior N(0, I) moves on the ellipse x cos(angle) + e sin(angle), e ~ N(0, I), to a point whose
    likelihood exceeds a random fraction of that of x. A rejected angle shrinks the bracket from which the next one is
    drawn. The posterior of every row is invariant.

    Args:
        X: rows, conditionally independent of each other.
        log_likelihood: log likelihoods of values for some rows, given their row indices.
        rng: random number generator.

    Returns:
        The updated (N, D) rows.

    References:
        Murray, Adams, MacKay. Elliptical slice sampling. AISTATS 2010.
    """
    auxiliary = rng.standard_normal(X.shape)
    rows = np.arange(len(X))
    threshold = log_likelihood(X, rows) - rng.standard_exponential(len(X))
    angle = rng.uniform(0, 2 * np.pi, len(X))
    low, high = angle - 2 * np.pi, angle.copy()
    moved = X.copy()
    for _ in range(_MAX_SHRINKS):
        tried = X[rows] * np.cos(angle[rows, None]) + auxiliary[rows] * np.sin(angle[rows, None])
        enough = log_likelihood(tried, rows) > threshold[rows]
        moved[rows[enough]] = tried[enough]
        rows = rows[~enough]
        if not len(rows):
            break
        below = angle[rows] < 0
        low[rows[below]], high[rows[~below]] = angle[rows[below]], angle[rows[~below]]
        angle[rows] = rng.uniform(low[rows], high[rows])
    return moved


class ViewPrior(NamedTuple):
    """Prior of a view.

    Attributes:
        mixture: prior of the mixture of spectral points.
        noise: shape and rate of the gamma prior of the noise precision.
    """

    mixture: MixturePrior
    noise: GammaPrior


class ViewSample(NamedTuple):
    """State of a view in the chain: spectral points and their mixture, weights, and noise variance."""

    points: Float[np.ndarray, "P D"]
    mixture: MixtureSample
    weights: Float[np.ndarray, "F M"]
    noise_variance: float


def view_prior(n_dimensions: int) -> ViewPrior:
    """Return the prior of a view, for scaled data."""
    return ViewPrior(standard_prior(n_dimensions), GammaPrior(1.0, 1.0))


def initial_sample(
    n_points: int, n_dimensions: int, n_columns: int, noise_variance: float, rng: np.random.Generator
) -> ViewSample:
    """Return the initial state of a view: spectral points of one standard Gaussian, and zero weights."""
    one = MixtureSample(np.zeros(n_points, dtype=int), np.zeros((1, n_dimensions)), np.eye(n_dimensions)[None], 1.0)
    points = rng.standard_normal((n_points, n_dimensions))
    return ViewSample(points, one, np.zeros((2 * n_points, n_columns)), noise_variance)


def gibbs_sweep(
    Ys: Sequence[Float[np.ndarray, "N _"]],
    X: Float[np.ndarray, "N D"],
    draws: Sequence[ViewSample],
    prior: ViewPrior,
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, "N D"], list[ViewSample]]:
    """Draw all variables once: first those of the views, then the latents."""
    new = [draw_view(Y, X, draw, prior, rng) for Y, draw in zip(Ys, draws, strict=True)]
    return draw_latents(Ys, X, new, rng), new


def draw_view(
    Y: Float[np.ndarray, "N M"],
    X: Float[np.ndarray, "N D"],
    draw: ViewSample,
    prior: ViewPrior,
    rng: np.random.Generator,
) -> ViewSample:
    """Draw the variables of one view given the latents."""
    mixture = draw_mixture(draw.points, draw.mixture, prior.mixture, rng)
    points = draw_points(Y, X, draw.points, mixture, draw.noise_variance, rng)
    Phi = features(X, points)
    weights = draw_weights(Y, Phi, draw.noise_variance, rng)
    return ViewSample(points, mixture, weights, draw_noise(Y - Phi @ weights, prior.noise, rng))


def features(X: Float[np.ndarray, "N D"], W: Float[np.ndarray, "P D"]) -> Float[np.ndarray, "N F"]:
    """Return the (N, F) random features phi(x), F = 2 P cosines and sines, of unit norm."""
    angles = X @ W.T
    return np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(len(W))


class SufficientStatistics(NamedTuple):
    """Sufficient statistics of the evidence: Phi^T Phi, and (Phi^T Y) (Phi^T Y)^T over M columns."""

    gram: Float[np.ndarray, "F F"]
    square: Float[np.ndarray, "F F"]
    n_columns: int

    def of(self, chosen: Int[np.ndarray, " f"]) -> "SufficientStatistics":
        """Return the statistics of a subset of the features."""
        pairs = np.ix_(chosen, chosen)
        return SufficientStatistics(self.gram[pairs], self.square[pairs], self.n_columns)


def sufficient_statistics(Y: Float[np.ndarray, "N M"], Phi: Float[np.ndarray, "N F"]) -> SufficientStatistics:
    """Return the sufficient statistics of features and a view."""
    cross = Phi.T @ Y
    return SufficientStatistics(Phi.T @ Phi, cross @ cross.T, Y.shape[1])


def log_evidence(statistics: SufficientStatistics, noise_variance: float) -> float:
    """Return log p(Y | Phi, s) with the weights integrated out, up to terms that do not depend on Phi.

    With A = Phi^T Phi + s I,

        |Phi Phi^T + s I| = s^(N - F) |A|  and  (Phi Phi^T + s I)^(-1) = (I - Phi A^(-1) Phi^T) / s.
    """
    A = statistics.gram + noise_variance * np.eye(len(statistics.gram))
    L = cholesky(A, lower=True, check_finite=False)
    explained = np.trace(cho_solve((L, True), statistics.square, check_finite=False))
    return float(explained / (2 * noise_variance) - statistics.n_columns * np.log(L.diagonal()).sum())


def draw_points(
    Y: Float[np.ndarray, "N M"],
    X: Float[np.ndarray, "N D"],
    W: Float[np.ndarray, "P D"],
    mixture: MixtureSample,
    noise_variance: float,
    rng: np.random.Generator,
) -> Float[np.ndarray, "P D"]:
    """Update each spectral point by a Metropolis-Hastings step.

    A proposal from the point's mixture component is accepted with the ratio of evidences, because prior and proposal
    cancel. Proposals do not depend on the current points and are drawn for all points at once.
    """
    P, D = W.shape
    factors = np.linalg.cholesky(mixture.covariances)[mixture.labels]
    proposed = mixture.means[mixture.labels] + np.einsum("pij,pj->pi", factors, rng.standard_normal((P, D)))
    both = sufficient_statistics(Y, np.hstack([features(X, W), features(X, proposed)]))
    moved, chosen = W.copy(), np.arange(2 * P)
    current = log_evidence(both.of(chosen), noise_variance)
    for p in range(P):
        tried = chosen.copy()
        tried[[p, P + p]] += 2 * P  # the cosine and the sine of the proposal
        evidence = log_evidence(both.of(tried), noise_variance)
        if -rng.standard_exponential() < evidence - current:
            moved[p], chosen, current = proposed[p], tried, evidence
    return moved


def weight_posterior(
    Y: Float[np.ndarray, "N M"], Phi: Float[np.ndarray, "N F"], noise_variance: float
) -> tuple[Float[np.ndarray, "F M"], Float[np.ndarray, "F F"]]:
    """Return the weights' mean A^(-1) Phi^T Y and the lower L with L L^T = A; a column has covariance s A^(-1)."""
    L = cholesky(Phi.T @ Phi + noise_variance * np.eye(Phi.shape[1]), lower=True)
    return cho_solve((L, True), Phi.T @ Y), L


def draw_weights(
    Y: Float[np.ndarray, "N M"], Phi: Float[np.ndarray, "N F"], noise_variance: float, rng: np.random.Generator
) -> Float[np.ndarray, "F M"]:
    """Draw the (F, M) weights given features and noise."""
    mean, L = weight_posterior(Y, Phi, noise_variance)
    return mean + np.sqrt(noise_variance) * solve_triangular(L, rng.standard_normal(mean.shape), lower=True, trans=1)


def draw_noise(residual: Float[np.ndarray, "N M"], prior: GammaPrior, rng: np.random.Generator) -> float:
    """Draw the noise variance: InverseGamma(shape + N M / 2, rate + sum of squares / 2)."""
    rate = prior.rate + (residual**2).sum() / 2
    return float(rate / rng.gamma(prior.shape + residual.size / 2))


def draw_latents(
    Ys: Sequence[Float[np.ndarray, "N _"]],
    X: Float[np.ndarray, "N D"],
    draws: Sequence[ViewSample],
    rng: np.random.Generator,
) -> Float[np.ndarray, "N D"]:
    """Update all latents, which are conditionally independent given the variables of the views."""
    # |y - phi beta|^2 = |y|^2 - 2 phi beta y + phi beta beta^T phi^T, and |y|^2 is constant
    products = [(Y @ draw.weights.T, draw.weights @ draw.weights.T) for Y, draw in zip(Ys, draws, strict=True)]

    def log_likelihood(tried: Float[np.ndarray, "B D"], rows: Int[np.ndarray, " B"]) -> Float[np.ndarray, " B"]:
        total = np.zeros(len(tried))
        for draw, (cross, square) in zip(draws, products, strict=True):
            Phi = features(tried, draw.points)
            total += (Phi * (cross[rows] - Phi @ square / 2)).sum(axis=1) / draw.noise_variance
        return total

    return elliptical_slice_step(X, log_likelihood, rng)
