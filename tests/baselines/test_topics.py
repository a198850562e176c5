"""Latent Dirichlet allocation: shares of topics as scikit-learn finds them, and counts that add up."""

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation

from mvlvm import baselines
from mvlvm.baselines.topics import topic_shares


def counts_of_two_topics(seed=0):
    """Rows of which the first half are about the first columns, and the others about the rest."""
    draws = np.random.default_rng(seed)
    rates = np.full((30, 8), 0.5)
    rates[:15, :4] = rates[15:, 4:] = 6.0
    return draws.poisson(rates).astype(float)


def test_shares_are_those_of_scikit_learn():
    counts = counts_of_two_topics()
    counts[3] = 0.0
    model = LatentDirichletAllocation(3, max_doc_update_iter=5000, mean_change_tol=1e-9, random_state=0).fit(counts)
    shares = topic_shares(counts, model.components_, model.doc_topic_prior_)
    # both stop once parameters move by a millionth of themselves or less
    np.testing.assert_allclose(shares, model.transform(counts), atol=1e-4)


def test_topics_are_found_and_rows_keep_their_totals():
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
