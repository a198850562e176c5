"""Geweke's joint distribution test: the sampler preserves the joint distribution of data and unknowns.

Geweke. Getting it right: joint distribution tests of posterior simulators. JASA 2004. Samples
from the prior, with data drawn given them, must have the same distribution as those of a chain that alternates between
the sampler and new data. Chains are initialised with prior samples and independent of each other, so that no
autocorrelation has to be estimated.
"""

import numpy as np
import pytest

from mvlvm.baselines.rflvm import dirichlet_mixture, gibbs_sampler
from mvlvm.baselines.rflvm.dirichlet_mixture import GammaPrior, MixturePrior, MixtureSample, NormalInverseWishart
from mvlvm.baselines.rflvm.gibbs_sampler import ViewPrior, ViewSample, gibbs_sweep

STANDARD_ERRORS = 4.0
N, D, P, WIDTHS = 8, 1, 3, (3, 1)
COMPONENT = NormalInverseWishart(np.full(D, 0.7), np.array(0.8), np.array(6.0), 4.0 * np.eye(D))
PRIOR = ViewPrior(MixturePrior(COMPONENT, GammaPrior(3.0, 2.0)), GammaPrior(4.0, 0.3))
DRAWS_FROM_PRIOR, CHAINS, SWEEPS = 4000, 100, 10


def view_from_prior(n_columns, rng):
    alpha = rng.gamma(PRIOR.mixture.concentration.shape) / PRIOR.mixture.concentration.rate
    labels = [0]
    for p in range(1, P):
        weights = np.append(np.bincount(labels), alpha)
        labels.append(int(rng.choice(len(weights), p=weights / (p + alpha))))
    n_components = max(labels) + 1
    # in one dimension an inverse Wishart is an inverse gamma
    covariances = COMPONENT.scale[0, 0] / 2 / rng.gamma(COMPONENT.nu / 2, size=(n_components, 1, 1))
    spread = np.sqrt(covariances[:, :, 0] / COMPONENT.kappa)
    means = COMPONENT.mean + spread * rng.standard_normal((n_components, D))
    points = means[labels] + np.sqrt(covariances[labels, :, 0]) * rng.standard_normal((P, D))
    noise_variance = PRIOR.noise.rate / rng.gamma(PRIOR.noise.shape)
    mixture = MixtureSample(np.array(labels), means, covariances, float(alpha))
    return ViewSample(points, mixture, rng.standard_normal((2 * P, n_columns)), float(noise_variance))


def signal(X, view):
    angles = X @ view.points.T
    return np.hstack([np.cos(angles), np.sin(angles)]) @ view.weights / np.sqrt(P)


def misfit(X, view, Y):
    """Return the mean of y' (K + s I)^-1 y over columns: the fit of the points with the weights integrated out."""
    K = np.cos((X[:, None] - X[None]) @ view.points.T).mean(axis=2)
    return np.einsum("nm,nm->", Y, np.linalg.solve(K + view.noise_variance * np.eye(N), Y)) / Y.size


def data(X, views, rng):
    return [signal(X, view) + np.sqrt(view.noise_variance) * rng.standard_normal((N, view.weights.shape[1]))
            for view in views]  # fmt: skip


def looked_at(X, views, Ys):
    """Return test functions of all variables, which grow slowly for heavy tails."""
    first, second = views
    labels = first.mixture.labels
    return [
        X.mean(),
        (X**2).mean(),
        np.arctan(first.points).mean(),
        np.log(first.points**2).mean(),
        np.log(second.points**2).mean(),
        (first.weights**2).mean(),
        np.log(first.noise_variance),
        np.log(second.noise_variance),
        np.log(first.mixture.concentration),
        len(first.mixture.means),
        np.arctan(first.mixture.means).mean(),
        np.log(first.mixture.covariances).mean(),
        np.arctan((first.points - first.mixture.means[labels]) ** 2 / first.mixture.covariances[labels, 0]).mean(),
        np.arctan((Ys[0] - signal(X, first)) ** 2 / first.noise_variance).mean(),
        np.arctan(Ys[0] * signal(X, first)).mean(),
        np.arctan(Ys[1] * signal(X, second)).mean(),
        np.arctan(Ys[0] ** 2).mean(),
        np.log(misfit(X, first, Ys[0])),
        np.log(misfit(X, second, Ys[1])),
    ]


def from_prior(rng):
    X = rng.standard_normal((N, D))
    return X, [view_from_prior(M, rng) for M in WIDTHS]


def chain_average(rng):
    X, views = from_prior(rng)
    seen = []
    for _ in range(SWEEPS):
        Ys = data(X, views, rng)
        X, views = gibbs_sweep(Ys, X, views, PRIOR, rng)
        seen.append(looked_at(X, views, Ys))
    return np.mean(seen, axis=0)


def z_scores(seed, n_chains):
    rng = np.random.default_rng(seed)
    marginal = []
    for _ in range(DRAWS_FROM_PRIOR):
        X, views = from_prior(rng)
        marginal.append(looked_at(X, views, data(X, views, rng)))
    successive = [chain_average(rng) for _ in range(n_chains)]
    both = [np.array(marginal), np.array(successive)]
    error = np.sqrt(sum(draws.var(axis=0) / len(draws) for draws in both))
    return (both[1].mean(axis=0) - both[0].mean(axis=0)) / error


@pytest.mark.usefixtures("no_type_checks")  # they would dominate the run time
def test_sampler_preserves_joint_distribution():
    assert np.abs(z_scores(0, CHAINS)).max() < STANDARD_ERRORS


@pytest.mark.slow
@pytest.mark.usefixtures("no_type_checks")
def test_sampler_preserves_joint_distribution_in_many_chains():
    assert np.abs(z_scores(1, 10 * CHAINS)).max() < STANDARD_ERRORS


def half_the_degrees_of_freedom(residual, prior, rng):
    return float((prior.rate + (residual**2).sum() / 2) / rng.gamma(prior.shape + residual.size / 4))


def weights_of_unit_noise(Y, Phi, noise_variance, rng):
    return draw_weights(Y, Phi, 1.0, rng)


def labels_without_the_new(p, W, labels, concentration, prior):
    return label_probabilities(p, W, labels, 0.3 * concentration, prior)


def latents_of_the_first_view(Ys, X, draws, rng):
    return draw_latents(Ys[:1], X, draws[:1], rng)


def points_always_accepted(Y, X, W, mixture, noise_variance, rng):
    return draw_points(np.zeros((0, 1)), X[:0], W, mixture, noise_variance, rng)


def one_observation_more(W, members, prior):
    found = posterior(W, members, prior)
    return found._replace(nu=found.nu + 1)


def one_component_more(concentration, n_components, n_points, prior, rng):
    return draw_concentration(concentration, n_components + 1, n_points, prior, rng)


draw_weights, draw_latents, draw_points = (
    gibbs_sampler.draw_weights, gibbs_sampler.draw_latents, gibbs_sampler.draw_points
)  # fmt: skip
label_probabilities, posterior = dirichlet_mixture.label_probabilities, dirichlet_mixture.posterior
draw_concentration = dirichlet_mixture.draw_concentration

MISTAKES = {
    "draw_noise": (gibbs_sampler, half_the_degrees_of_freedom),
    "draw_weights": (gibbs_sampler, weights_of_unit_noise),
    "draw_points": (gibbs_sampler, points_always_accepted),
    "draw_latents": (gibbs_sampler, latents_of_the_first_view),
    "label_probabilities": (dirichlet_mixture, labels_without_the_new),
    "posterior": (dirichlet_mixture, one_observation_more),
    "draw_concentration": (dirichlet_mixture, one_component_more),
}


@pytest.mark.slow
@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize("name", MISTAKES)
def test_error_in_any_conditional_is_detected(monkeypatch, name):
    module, mistaken = MISTAKES[name]
    monkeypatch.setattr(module, name, mistaken)
    assert np.abs(z_scores(0, CHAINS)).max() > STANDARD_ERRORS
