"""Conditionals of the mixture compared with SciPy, or with full enumeration."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from mvlvm.baselines.rflvm.dirichlet_mixture import (
    GammaPrior,
    NormalInverseWishart,
    draw_components,
    draw_concentration,
    draw_labels,
    label_probabilities,
    log_predictive,
    posterior,
)

STANDARD_ERRORS = 4.0
PRIOR = NormalInverseWishart(np.array([0.5, -1.0]), np.array(1.5), np.array(5.0), np.array([[2.0, 0.3], [0.3, 1.0]]))
W = np.array([[0.1, 0.4], [0.3, -0.2], [2.0, 1.5], [-1.0, 0.7]])


def textbook_posterior(points):
    """Return the parameters as in Murphy, Machine learning, section 4.6.3."""
    n, centre = len(points), points.mean(axis=0)
    away = centre - PRIOR.mean
    scatter = sum(np.outer(w - centre, w - centre) for w in points)
    kappa = PRIOR.kappa + n
    scale = PRIOR.scale + scatter + PRIOR.kappa * n / kappa * np.outer(away, away)
    return (PRIOR.kappa * PRIOR.mean + n * centre) / kappa, kappa, PRIOR.nu + n, scale


def log_marginal(points):
    """Return log p(points of one component) in closed form, with multivariate gamma functions."""
    if not len(points):
        return 0.0
    n, D = points.shape
    _, kappa, nu, scale = textbook_posterior(points)
    gammas = special.multigammaln(nu / 2, D) - special.multigammaln(PRIOR.nu / 2, D)
    volumes = PRIOR.nu / 2 * np.linalg.slogdet(PRIOR.scale)[1] - nu / 2 * np.linalg.slogdet(scale)[1]
    return gammas + volumes + D / 2 * np.log(PRIOR.kappa / kappa) - n * D / 2 * np.log(np.pi)


def log_joint(labels, alpha):
    """Return log p(z, W | alpha): the Chinese restaurant prior alpha^K prod (n_k - 1)! and the component marginals."""
    total = 0.0
    for k in np.unique(labels):
        points = W[labels == k]
        total += np.log(alpha) + special.gammaln(len(points)) + log_marginal(points)
    return total


def test_component_posterior_matches_textbook():
    members = np.array([[1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]])
    found = posterior(W, members, PRIOR)
    for k, rows in enumerate(members.astype(bool)):
        for ours, theirs in zip(found, textbook_posterior(W[rows]), strict=True):
            np.testing.assert_allclose(ours[k], theirs, rtol=1e-12)


def test_posterior_without_points_is_prior():
    found = posterior(W, np.zeros((1, 4)), PRIOR)
    for ours, prior in zip(found, PRIOR, strict=True):
        np.testing.assert_allclose(ours[0], prior, rtol=1e-12)


def test_predictive_density_is_student_t():
    w = np.array([0.7, 0.9])
    known = posterior(W, np.array([[1.0, 1.0, 1.0, 0.0]]), PRIOR)
    mean, kappa, nu, scale = textbook_posterior(W[:3])
    expected = stats.multivariate_t.logpdf(w, mean, scale * (kappa + 1) / (kappa * (nu - 1)), df=nu - 1)
    np.testing.assert_allclose(log_predictive(w, known), [expected], rtol=1e-12)


@pytest.mark.parametrize("labels", [[0, 0, 1, 2], [0, 0, 0, 0], [3, 1, 1, 2]])
@pytest.mark.parametrize("p", range(4))
def test_label_probabilities_are_ratios_of_joint_densities(labels, p):
    labels, alpha = np.array(labels), 0.8
    known, probabilities = label_probabilities(p, W, labels, alpha, PRIOR)
    cases = []
    for label in [*known, 99]:
        tried = labels.copy()
        tried[p] = label
        cases.append(log_joint(tried, alpha))
    assert set(known) == set(np.delete(labels, p))
    np.testing.assert_allclose(probabilities.sum(), 1, rtol=1e-12)
    np.testing.assert_allclose(probabilities, special.softmax(cases), rtol=1e-9)


def test_frequencies_of_partitions_match_posterior():
    rng, alpha, n_draws = np.random.default_rng(0), 0.8, 1500
    partitions = sorted({canonical(z) for z in np.ndindex(4, 4, 4, 4)})
    assert len(partitions) == 15
    exact = {z: log_joint(np.array(z), alpha) for z in partitions}
    share = dict(zip(exact, special.softmax(list(exact.values())), strict=True))
    labels = np.zeros(4, dtype=int)
    together = []
    for _ in range(n_draws):
        labels = draw_labels(W, labels, alpha, PRIOR, rng)
        assert set(labels) == set(range(labels.max() + 1))
        together.append([labels[0] == labels[1], labels[2] == labels[3], labels.max() == 0])
    expected = [sum(p for z, p in share.items() if holds(z)) for holds in
                (lambda z: z[0] == z[1], lambda z: z[2] == z[3], lambda z: max(z) == 0)]  # fmt: skip
    batches = np.reshape(together, (50, -1, 3)).mean(axis=1)  # nearly independent batches of 30 sweeps
    errors = batches.std(axis=0) / np.sqrt(len(batches))
    assert np.abs((batches.mean(axis=0) - expected) / errors).max() < STANDARD_ERRORS


def canonical(labels):
    """Relabel components in order of first occurrence."""
    seen = {}
    return tuple(seen.setdefault(label, len(seen)) for label in labels)


def test_component_samples_have_posterior_moments():
    rng, n_draws = np.random.default_rng(0), 2000
    labels = np.array([0, 0, 1, 0])
    draws = [draw_components(W, labels, PRIOR, rng) for _ in range(n_draws)]
    mean, kappa, nu, scale = textbook_posterior(W[labels == 0])
    assert draws[0][0].shape == (2, 2)
    means, covariances = (np.array([draw[part][0] for draw in draws]) for part in (0, 1))
    precisions = np.linalg.inv(covariances)  # Wishart, with all moments
    whitened = np.einsum("ni,nij,nj->n", means - mean, precisions, means - mean) * kappa
    for found, expected in ((precisions, nu * np.linalg.inv(scale)), (means, mean), (whitened, 2.0)):
        errors = found.std(axis=0) / np.sqrt(n_draws)
        assert np.abs((found.mean(axis=0) - expected) / errors).max() < STANDARD_ERRORS


def test_concentration_samples_have_posterior_mean():
    # p(alpha | K, P) is proportional to Gamma(alpha) alpha^K Gamma(alpha) / Gamma(alpha + P), by quadrature
    prior, n_components, n_points, n_draws = GammaPrior(2.0, 1.5), 3, 10, 20_000

    def density(alpha):
        log_crp = n_components * np.log(alpha) + special.gammaln(alpha) - special.gammaln(alpha + n_points)
        return np.exp(log_crp) * stats.gamma.pdf(alpha, prior.shape, scale=1 / prior.rate)

    total = integrate.quad(density, 0, 30)[0]
    expected = integrate.quad(lambda alpha: np.log(alpha) * density(alpha), 0, 30)[0] / total
    rng, alpha, found = np.random.default_rng(0), 1.0, []
    for _ in range(n_draws):
        alpha = draw_concentration(alpha, n_components, n_points, prior, rng)
        found.append(np.log(alpha))
    batches = np.reshape(found, (100, -1)).mean(axis=1)
    assert abs(batches.mean() - expected) < STANDARD_ERRORS * batches.std() / np.sqrt(len(batches))
