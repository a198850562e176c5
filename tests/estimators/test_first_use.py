"""What `fit` leaves to first use: the same results whenever, wherever and by whichever thread they are computed."""

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

import mvlvm
from mvlvm import NGMVLVM
from mvlvm.inference import predictor as predictor_module
from mvlvm.inference import tempering as tempering_module
from mvlvm.inference.tempering import LEVELS, Tempering, learn_tempering
from mvlvm.randomness import Stream, make_generator
from tests.architecture import golden
from tests.end_to_end.random_small_fits import count_errors

ON_FIRST_USE = ("elbo_", "explained_variance_", "explained_variance_per_dimension_", "relevance_")


def saved_and_loaded(tmp_path):
    def reload(est):
        est.save(tmp_path / "model")
        return mvlvm.load(tmp_path / "model")

    return reload


DUPLICATES = {
    "prepared": lambda est: est.prepare(),
    "pickled": lambda est: pickle.loads(pickle.dumps(est)),
    "copied": copy.copy,
    "deep copy": copy.deepcopy,
    "saved and loaded": None,
}
# The suite runs these; `make test-slow` runs all.
FAST = {("complete", how) for how in DUPLICATES} | {
    (case, "saved and loaded") for case in ("counts-and-labels", "zero-sample-weights")
}


def variants():
    for case in golden.CASES:
        for how in DUPLICATES:
            marks = [] if (case, how) in FAST else [pytest.mark.slow]
            yield pytest.param(case, how, marks=marks, id=f"{case}, {how}")


@pytest.fixture(scope="module")
def lazy_results():
    found = {}

    def of(case):
        if case not in found:
            found[case] = {name: golden.digest(value) for name, value in golden.results(case, "auto").items()}
        return found[case]

    return of


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.xdist_group("first use")
@pytest.mark.parametrize(("case", "how"), list(variants()))
def test_results_are_identical_however_they_are_computed(case, how, lazy_results, tmp_path):
    prepare = DUPLICATES[how] or saved_and_loaded(tmp_path)
    results = golden.results(case, "auto", prepare=prepare)
    found = {name: golden.digest(value) for name, value in results.items()}
    assert {name for name in found if found[name] != lazy_results(case)[name]} == set()


def fit(views, **parameters):
    return NGMVLVM(max_iter=5, tol=0.0, n_points=5, random_state=0, **parameters).fit(views)


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    return {"a": rng.normal(size=(40, 6)), "b": rng.poisson(3.0, size=(40, 5)).astype(float)}


def test_nothing_is_inferred_before_it_is_asked_for(views, monkeypatch):
    def fail(*_, **__):
        raise AssertionError("computed in fit")

    for name in ("learn_tempering", "infer_functions"):
        monkeypatch.setattr(predictor_module, name, fail)
    est = fit(views)
    assert est.embedding_.shape == (40, 2)
    assert set(est.fit_seconds_) == {"preparing", "training", "finishing", "predictions"}
    assert est.fit_seconds_["predictions"] == 0.0
    assert len(vars(est)) == len(vars(fit(views)))


def test_seconds_of_first_uses_are_reported_by_name(views):
    est = fit(views)
    est.predict({"a": views["a"][:2]}, target="b", conditional="latent")
    seconds = est.fit_seconds_
    assert {"weights", "tempering"} <= set(seconds)
    assert "bound" not in seconds
    assert seconds["predictions"] == pytest.approx(seconds["weights"] + seconds["tempering"])
    assert est.prepare() is est
    assert {"weights", "tempering", "training rows", "explained variance", "relevance", "bound"} < set(est.fit_seconds_)


def test_threads_that_predict_at_once_get_equal_results_that_are_computed_once(views, monkeypatch):
    calls = []

    def counted(*arguments):
        calls.append(1)
        return learn_tempering(*arguments)

    monkeypatch.setattr(predictor_module, "learn_tempering", counted)
    est, found = fit(views), []
    expected = fit(views).predict({"a": views["a"][:5]}, target="b", return_std=True)
    calls.clear()
    barrier = threading.Barrier(8)

    def predict():
        barrier.wait()
        found.append(est.predict({"a": views["a"][:5]}, target="b", return_std=True))

    threads = [threading.Thread(target=predict) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert len(found) == 8
    for result in found:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("likelihood", ["gaussian", {"a": "student-t", "b": "poisson"}])
def test_changes_of_the_data_after_the_fit_have_no_effect(views, likelihood):
    est, other = fit(views, likelihood=likelihood), fit(views, likelihood=likelihood).prepare()
    new = {"a": views["a"][:4].copy()}
    for Y in views.values():
        Y[:] = 1.0
    np.testing.assert_array_equal(est.predict(new, target="b"), other.predict(new, target="b"))
    for name in ON_FIRST_USE:
        np.testing.assert_equal(getattr(est, name), getattr(other, name))


def test_the_training_views_are_released_once_everything_is_computed(views):
    est = fit(views)
    held = [weakref.ref(data.Y) for data in est._record.explained._compute.args[1].values()]
    est.predict({"a": views["a"][:2]}, target="b")
    assert all(ref() is not None for ref in held)
    est.prepare()
    gc.collect()
    assert all(ref() is None for ref in held)


def test_predictions_at_the_candidates_are_cached_up_to_a_limit(views, monkeypatch):
    est, limited = fit(views), fit(views)
    new = {"a": views["a"][:3]}
    expected = est.predict(new, target="b")
    assert est.model_.predictor._at_candidates
    monkeypatch.setattr(predictor_module, "_MAX_CACHED_BYTES", 0)
    np.testing.assert_array_equal(limited.predict(new, target="b"), expected)
    assert not limited.model_.predictor._at_candidates


@pytest.mark.parametrize("name", [*ON_FIRST_USE, "fit_seconds_"])
def test_an_unfitted_estimator_has_none_of_these_attributes(name):
    assert not hasattr(NGMVLVM(), name)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(NGMVLVM(), name)


def test_a_loaded_estimator_does_not_know_the_time_of_its_fit(views, tmp_path):
    fit(views).save(tmp_path)
    with pytest.raises(AttributeError, match="not saved to files"):
        _ = mvlvm.load(tmp_path).fit_seconds_


def test_an_interrupt_of_the_first_use_leaves_the_estimator_as_it_was(views, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    est, new = fit(views), {"a": views["a"][:3]}
    with monkeypatch.context() as patch:
        patch.setattr(predictor_module, "learn_tempering", interrupt)
        with pytest.raises(KeyboardInterrupt):
            est.predict(new, target="b")
    np.testing.assert_array_equal(est.predict(new, target="b"), fit(views).predict(new, target="b"))


def test_a_tempering_that_cannot_be_learned_is_left_out_with_a_warning(views, monkeypatch):
    def fail(*_):
        raise RuntimeError("singular")

    est = fit(views)
    monkeypatch.setattr(predictor_module, "learn_tempering", fail)
    with pytest.warns(mvlvm.ConvergenceWarning, match="tempering of predictions could not be learned: singular"):
        mean = est.predict({"a": views["a"][:3]}, target="b")
    assert np.isfinite(mean).all()
    assert set(est.model_.predictor.tempering.values()) == {Tempering(1.0, 1.0)}


def test_a_view_of_few_rows_is_not_tempered(views):
    """In one of the folds there is no row to learn the weights of this view from."""
    order = torch.randperm(40, generator=make_generator(0, Stream.TEMPERING))
    in_first_fold = order[[0, 3]]
    views["b"][in_first_fold] = [[1.0], [4.0]]
    views["b"][np.setdiff1d(np.arange(40), in_first_fold)] = np.nan
    est = fit(views, likelihood={"a": "gaussian", "b": "poisson"})
    assert np.isfinite(est.predict({"a": views["a"][:3]}, target="b")).all()


def test_scores_that_are_not_finite_select_no_tempering():
    scores = torch.full((len(LEVELS) + 1,), torch.nan)
    assert tempering_module._smallest_near_best(scores) == 1.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_random_small_fits_raise_no_unexpected_errors():
    errors, examples = count_errors(100, seed=1)
    assert not errors, examples
