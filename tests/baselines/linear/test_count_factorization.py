"""Latent Dirichlet allocation compared with scikit-learn, and hierarchical Poisson factorisation with hpfrec."""

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.sparse import coo_array
from sklearn.decomposition import LatentDirichletAllocation

from mvlvm import baselines
from mvlvm.baselines.linear.count_factorization import GammaFactors, expected_row_factors, topic_proportions


def counts_of_two_topics(seed=0):
    """Counts of two topics: the first half of the rows uses the first columns, the second half the others."""
    draws = np.random.default_rng(seed)
    rates = np.full((30, 8), 0.5)
    rates[:15, :4] = rates[15:, 4:] = 6.0
    return draws.poisson(rates).astype(float)


def test_topic_proportions_match_scikit_learn():
    counts = counts_of_two_topics()
    counts[3] = 0.0
    model = LatentDirichletAllocation(3, max_doc_update_iter=5000, mean_change_tol=1e-9, random_state=0).fit(counts)
    shares = topic_proportions(counts, model.components_, model.doc_topic_prior_)
    # both stop at a relative change of at most 1e-6
    np.testing.assert_allclose(shares, model.transform(counts), atol=1e-4)


def test_topics_are_recovered_and_rows_keep_their_totals():
    counts = counts_of_two_topics()
    views = {"a": counts[:, :3], "b": counts[:, 3:]}
    est = baselines.get("latent Dirichlet allocation")(n_components=2, random_state=0).fit(views)
    topic = est.embedding_.argmax(1)
    assert len(set(topic[:15])) == len(set(topic[15:])) == 1
    assert topic[0] != topic[-1]
    np.testing.assert_allclose(est.embedding_.sum(1), 1)
    np.testing.assert_allclose(est.transform(views), est.embedding_)
    rebuilt = np.hstack(list(est.reconstruct().values()))
    np.testing.assert_allclose(rebuilt.sum(1), counts.sum(1))
    assert np.corrcoef(rebuilt.ravel(), counts.ravel())[0, 1] > 0.8


pytest.importorskip("hpfrec")
HPF = baselines.get("HPF")


def test_rows_with_counts_in_same_columns_share_factor():
    counts = counts_of_two_topics()
    views = {"a": counts[:, :3], "b": counts[:, 3:]}
    est = HPF(n_components=2, random_state=1).fit(views)
    factor = est.embedding_.argmax(1)
    assert len(set(factor[:15])) == len(set(factor[15:])) == 1
    assert factor[0] != factor[-1]
    assert (est.embedding_ > 0).all()


def test_reconstructed_counts_approximate_rates():
    counts = counts_of_two_topics()
    rebuilt = HPF(n_components=2, random_state=1).fit(counts).reconstruct()
    rates = np.full((30, 8), 0.5)
    rates[:15, :4] = rates[15:, 4:] = 6.0
    # closer to the rates than the counts are
    assert np.linalg.norm(rebuilt - rates) < np.linalg.norm(counts - rates)


def test_rows_without_counts_are_accepted():
    counts = counts_of_two_topics()
    counts[4] = 0.0
    embedding = HPF(n_components=2, random_state=0).fit_transform(counts)
    assert np.isfinite(embedding).all()
    assert embedding[4].sum() < embedding[np.arange(30) != 4].sum(1).min()


def test_seed_zero_is_reproducible():
    counts = counts_of_two_topics()
    first, second = (HPF(max_iter=2, random_state=0).fit_transform(counts) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_hpf_transform_matches_hpfrec():
    """hpfrec's training rows converge to the row factors given the column factors."""
    hpfrec = pytest.importorskip("hpfrec")
    counts = counts_of_two_topics()
    model = hpfrec.HPF(k=2, maxiter=2000, random_seed=1, ncores=1, use_float=False, verbose=False, reindex=False)
    model.fit(coo_array(counts))
    columns = GammaFactors(model.Lambda_shp, model.Lambda_rte)
    np.testing.assert_allclose(expected_row_factors(counts, columns, 0.3), model.Theta, rtol=1e-4)


def test_single_factor_matches_posterior_mean():
    """With fixed column factors, the counts of a row are Poisson with one rate, whose prior is a mixture of gammas."""
    counts, beta, a = np.array([[3.0, 9.0]]), np.array([[1.0], [2.5]]), 0.3
    certain = GammaFactors(1e8 * beta, np.full((2, 1), 1e8))

    def joint(theta):
        # xi ~ Gamma(0.3, rate 0.3), theta | xi ~ Gamma(a, rate xi), the rate integrated out
        activity = stats.gamma(0.3, scale=1 / 0.3)
        prior = integrate.quad(lambda xi: activity.pdf(xi) * stats.gamma.pdf(theta, a, scale=1 / xi), 0, np.inf)[0]
        return prior * stats.poisson.pmf(counts[0], theta * beta[:, 0]).prod()

    grid = np.linspace(0.5, 10, 400)
    weights = np.array([joint(theta) for theta in grid])
    expected = (grid * weights).sum() / weights.sum()
    # q treats activity and factor as independent, which shifts the mean slightly
    assert expected_row_factors(counts, certain, a)[0, 0] == pytest.approx(expected, rel=0.02)


def test_transform_is_independent_per_row_and_recovers_training_latents():
    counts = counts_of_two_topics()
    est = HPF(n_components=2, random_state=1).fit(counts)
    np.testing.assert_allclose(est.transform(counts), est.embedding_)
    np.testing.assert_allclose(est.transform(counts[7:8]), est.embedding_[7:8])
