"""Draws of missing entries have the conditional moments of a normal distribution."""

import numpy as np

from mvlvm.inference import missing_columns
from mvlvm.inference.missing_columns import draw_missing


def rows(seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 6)) + 0.3 * rng.standard_normal((300, 6))
    return A / A.std(axis=0)


def test_draws_have_the_conditional_moments(monkeypatch):
    monkeypatch.setattr(missing_columns, "_N_PAIRS", 4000)
    A, B = rows(), rows(1)[:2]
    B[0, [1, 4]] = np.nan
    draws = np.stack(list(draw_missing(B, A)))
    S = A.T @ A / len(A) + 0.03 * np.eye(6)
    precision = np.linalg.inv(S)[np.ix_([1, 4], [1, 4])]
    observed = [0, 2, 3, 5]
    mean = S[np.ix_([1, 4], observed)] @ np.linalg.solve(S[np.ix_(observed, observed)], B[0, observed])
    np.testing.assert_allclose(draws[:, 0, [1, 4]].mean(axis=0), mean, atol=1e-10)
    # the standard error of a variance from 4000 independent draws is about 2.2 %
    np.testing.assert_allclose(np.cov(draws[:, 0, [1, 4]].T), np.linalg.inv(precision), rtol=0.1, atol=0.01)
    np.testing.assert_array_equal(draws[:, 0, observed], np.broadcast_to(B[0, observed], (len(draws), 4)))
    np.testing.assert_array_equal(draws[:, 1], np.broadcast_to(B[1], (len(draws), 6)))


def test_rows_do_not_depend_on_each_other_and_may_lack_everything():
    A, B = rows(), rows(1)[:5]
    B[1, 2], B[2, :3], B[3] = np.nan, np.nan, np.nan
    together = np.stack(list(draw_missing(B, A)))
    for i in range(5):
        np.testing.assert_allclose(np.stack(list(draw_missing(B[[i]], A)))[:, 0], together[:, i], rtol=1e-12)
    np.testing.assert_allclose(together[:, 3].mean(axis=0), 0, atol=1e-12)
    assert np.isfinite(together).all()
