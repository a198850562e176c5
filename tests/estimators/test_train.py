import numpy as np
import pytest
import torch

import mvlvm
from mvlvm import NGMVLVM, ConvergenceWarning
from mvlvm.datasets import load
from mvlvm.estimators import train
from mvlvm.training.history import StopReason

QUICK = {"max_iter": 200, "tol": 0.0, "n_points": 25, "n_draws_predict": 1}


@pytest.mark.parametrize(
    ("n_factors", "seed"),
    [pytest.param(3, 0, marks=pytest.mark.slow), (5, 1), pytest.param(8, 2, marks=pytest.mark.slow)],
)
def test_number_of_kept_dimensions_is_close_to_the_number_of_factors(n_factors, seed):
    data = load("factors", n_factors=n_factors, n_samples=200, random_state=seed)
    est = NGMVLVM(n_components="auto", random_state=seed, **QUICK).fit(data)
    assert abs(est.n_components_ - n_factors) <= 1
    assert est.embedding_.shape == (200, est.n_components_)
    assert est.relevance_.shape == est.explained_variance_per_dimension_.shape == (2, est.n_components_)
    assert est.explained_variance_per_dimension_.max(axis=0).min() > 0.02


def test_number_of_kept_dimensions_is_saved(tmp_path):
    Y = np.random.default_rng(0).normal(size=(40, 3)) * np.array([10.0, 1e-3, 1e-3])
    est = NGMVLVM(n_components="auto", max_components=2, scale=None, random_state=0, **QUICK | {"max_iter": 30}).fit(Y)
    assert est.n_components_ == 1
    est.save(tmp_path)
    loaded = mvlvm.load(tmp_path)
    assert (loaded.n_components, loaded.max_components) == ("auto", 2)
    assert loaded.n_components_ == est.n_components_
    np.testing.assert_array_equal(loaded.embedding_, est.embedding_)


def test_initial_number_of_dimensions_is_limited_by_the_rank_of_the_views():
    Y = np.random.default_rng(0).normal(size=(30, 2)) @ np.ones((2, 1)) * np.arange(1, 4)
    est = NGMVLVM(n_components="auto", random_state=0, **QUICK | {"max_iter": 5}).fit(Y)
    assert est.n_components_ == 1


def test_private_dimensions_are_kept_and_the_history_contains_all_rounds(monkeypatch):
    def only_the_first(functions, latent, views):
        return torch.arange(latent.mean.shape[1]) == 0

    monkeypatch.setattr(train, "used_dimensions", only_the_first)
    data = load("shared-private", n_samples=60, n_features=8, random_state=0)
    settings = QUICK | {"max_iter": 10}
    est = NGMVLVM(n_components="auto", max_components=3, n_private={"b": 1}, random_state=0, **settings).fit(data)
    assert est.private_embedding_["b"].shape == (60, 1)
    assert est.n_components_ == 1
    assert est.n_iter_ == 20
    assert np.all(np.diff(est.history_["seconds"]) > 0)


def test_an_interrupt_ends_the_selection_of_dimensions(monkeypatch):
    def interrupted(problem, run, *_):
        run.state.history.record(0.0, {}, seconds=0.0, learning_rate=0.1)
        run.state.history.stop_reason = StopReason.INTERRUPTED

    monkeypatch.setattr(train, "run_training", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        est = NGMVLVM(n_components="auto", max_components=3, random_state=0, **QUICK).fit(
            np.random.default_rng(0).normal(size=(30, 5))
        )
    assert est.n_components_ == 3


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_components": "many"}, "n_components must be an integer of at least 1, or 'auto'. Got 'many'"),
        ({"n_components": 0}, "n_components must be an integer of at least 1. Got 0"),
        ({"n_components": "auto", "max_components": 0}, "max_components must be an integer of at least 1. Got 0"),
    ],
)
def test_invalid_numbers_of_dimensions_are_rejected(setting, message):
    with pytest.raises(ValueError, match=message):
        NGMVLVM(**setting).fit(np.random.default_rng(0).normal(size=(30, 5)))


def test_initial_number_of_dimensions_leaves_rank_for_private_dimensions():
    data = load("shared-private", n_samples=40, n_features=4, random_state=0)
    settings = QUICK | {"max_iter": 2}
    est = NGMVLVM(n_components="auto", n_private={"a": 2, "b": 1}, random_state=0, **settings).fit(data)
    assert est.private_embedding_["a"].shape == (40, 2)
    assert est.n_components_ >= 1


def test_an_initial_array_is_not_limited_by_the_rank_of_the_views():
    rng = np.random.default_rng(0)
    est = NGMVLVM(
        n_components="auto", max_components=5, init=rng.normal(size=(40, 5)), random_state=0, **QUICK | {"max_iter": 2}
    ).fit(rng.normal(size=(40, 3)))
    assert 1 <= est.n_components_ <= 5


def test_tol_is_the_increase_per_entry_and_window():
    """Training stops at step 100 if the objective per entry rose by less than `tol` between two windows of 50 steps."""
    Y = np.random.default_rng(0).normal(size=(12, 3))
    settings = {"max_iter": 202, "n_points": 2, "n_mixtures": 1, "n_draws_predict": 1, "random_state": 0}
    objective = NGMVLVM(tol=0.0, **settings).fit(Y).history_["objective"]
    increase = (objective[50:100].mean() - objective[:50].mean()) / Y.size
    assert increase > 0
    est = NGMVLVM(tol=1.001 * increase, **settings).fit(Y)
    assert est.stop_reason_ == "converged"
    assert est.n_iter_ == 100 + 101  # the learning rate then decays over half of max_iter
