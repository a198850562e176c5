"""Hierarchical Poisson factorisation finds who counts what."""

import numpy as np
import pytest

from mvlvm import baselines
from tests.baselines.test_topics import counts_of_two_topics

pytest.importorskip("hpfrec")
HPF = baselines.get("HPF")


def test_rows_that_count_the_same_columns_share_a_factor():
    counts = counts_of_two_topics()
    views = {"a": counts[:, :3], "b": counts[:, 3:]}
    est = HPF(n_components=2, random_state=1).fit(views)
    factor = est.embedding_.argmax(1)
    assert len(set(factor[:15])) == len(set(factor[15:])) == 1
    assert factor[0] != factor[-1]
    assert (est.embedding_ > 0).all()


def test_rebuilt_counts_are_the_rates_that_made_them():
    counts = counts_of_two_topics()
    rebuilt = HPF(n_components=2, random_state=1).fit(counts).reconstruct()
    rates = np.full((30, 8), 0.5)
    rates[:15, :4] = rates[15:, 4:] = 6.0
    # nearer to the rates than the counts are
    assert np.linalg.norm(rebuilt - rates) < np.linalg.norm(counts - rates)


def test_rows_without_counts_are_admitted():
    counts = counts_of_two_topics()
    counts[4] = 0.0
    embedding = HPF(n_components=2, random_state=0).fit_transform(counts)
    assert np.isfinite(embedding).all()
    assert embedding[4].sum() < embedding[np.arange(30) != 4].sum(1).min()


def test_seed_zero_is_a_seed():
    counts = counts_of_two_topics()
    first, second = (HPF(max_iter=2, random_state=0).fit_transform(counts) for _ in range(2))
    np.testing.assert_array_equal(first, second)
