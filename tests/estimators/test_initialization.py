from types import SimpleNamespace

import numpy as np
import pytest
import torch

import mvlvm
from mvlvm import MVARFLVM, NGMVLVM, NumericalError
from mvlvm.estimators import initialization
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.training.history import History

QUICK = {"max_iter": 5, "tol": 0.0, "n_points": 5, "random_state": 0}
STILL = QUICK | {"max_iter": 1, "learning_rate": 1e-6}
KINDS = ("pca", "spectral", "neighbors")


@pytest.fixture(scope="module")
def clusters():
    """Clusters that a plane cannot keep apart, in two views."""
    rng = np.random.default_rng(0)
    Y = np.repeat(2 * rng.normal(size=(15, 20)), 8, axis=0) + rng.normal(size=(120, 20))
    return {"a": Y[:, :12], "b": Y[:, 12:]}


@pytest.mark.parametrize("estimator", [NGMVLVM, MVARFLVM])
@pytest.mark.parametrize("init", ["spectral", "neighbors"])
def test_latents_start_at_unit_variance_and_the_same_place_again(clusters, estimator, init):
    first, again = (estimator(init=init, n_components=3, **STILL).fit(clusters) for _ in range(2))
    np.testing.assert_allclose(first.embedding_.var(axis=0), 1, rtol=1e-3)
    np.testing.assert_array_equal(first.embedding_, again.embedding_)
    assert first.init_ == init


def test_fits_say_where_they_started(clusters, fitted):
    assert fitted.init_ == "pca"
    assert NGMVLVM(init=np.random.default_rng(0).normal(size=(120, 2)), **QUICK).fit(clusters).init_ == "array"


@pytest.mark.parametrize("init", ["spectral", "neighbors", "auto"])
def test_a_start_leaves_room_for_gaps_private_dimensions_and_rows_of_no_weight(clusters, init):
    views = {name: Y.copy() for name, Y in clusters.items()}
    views["a"][3, 2], views["b"][7:9] = np.nan, np.nan
    weight = np.ones(120)
    weight[20:30] = 0
    est = NGMVLVM(init=init, n_private={"a": 1}, n_draws_predict=1, **QUICK).fit(views, sample_weight=weight)
    assert est.embedding_.shape == (120, 2)
    assert est.private_embedding_["a"].shape == (120, 1)
    assert np.isfinite(est.embedding_).all()


@pytest.mark.parametrize("init", ["spectral", "neighbors", "auto"])
def test_counts_and_labels_have_a_start(init):
    rng = np.random.default_rng(0)
    kind = np.repeat(["low", "high"], 20)
    counts = rng.poisson(np.where(kind == "low", 2.0, 9.0)[:, None] * np.ones(6))
    likelihood = {"counts": "poisson", "kind": "categorical"}
    est = NGMVLVM(init=init, likelihood=likelihood, **QUICK).fit({"counts": counts, "kind": kind})
    assert np.isfinite(est.elbo_)


@pytest.mark.parametrize("init", ["spectral", "neighbors"])
def test_few_rows_will_do(init):
    est = NGMVLVM(init=init, **QUICK).fit(np.random.default_rng(0).normal(size=(4, 6)))
    assert np.isfinite(est.embedding_).all()


@pytest.fixture
def tried(monkeypatch):
    """Note the mean bound at the end of every trial and of the training after them."""
    seen = []
    original = initialization.train_model

    def noted(model, *rest):
        start = model.latent.mean.detach().clone()
        state = original(model, *rest)
        seen.append((start, state.history))
        return state

    monkeypatch.setattr(initialization, "train_model", noted)
    return seen


def test_the_initialisation_with_the_best_bound_is_chosen(clusters, tried, monkeypatch):
    monkeypatch.setattr(initialization, "TRIAL_STEPS", 30)
    est = NGMVLVM(init="auto", **QUICK | {"max_iter": 50}).fit(clusters)
    bounds = [np.mean(history.bound[-20:]) for _, history in tried]
    assert [len(history.bound) for _, history in tried] == [30, 30, 30]
    assert est.init_ == KINDS[int(np.argmax(bounds))] == "neighbors"
    starts = [NGMVLVM(init=kind, **STILL).fit(clusters).embedding_ for kind in KINDS]
    for (start, _), expected in zip(tried, starts, strict=True):
        np.testing.assert_allclose(start, expected, atol=1e-5)


@pytest.mark.parametrize("winner", KINDS)
def test_whichever_initialisation_has_the_best_bound_is_chosen(clusters, monkeypatch, winner):
    # the first steps of a trial do not count: all starts but the winner begin high
    courses = iter([1e6] * 30 + [-1.0] * 20 if kind != winner else [-1e6] * 30 + [-0.5] * 20 for kind in KINDS)
    monkeypatch.setattr(initialization, "train_model", lambda *_: SimpleNamespace(history=History(bound=next(courses))))
    assert NGMVLVM(init="auto", **QUICK).fit(clusters).init_ == winner


def test_a_fit_with_a_chosen_initialisation_equals_the_fit_with_this_initialisation(clusters):
    chosen = NGMVLVM(init="auto", **QUICK).fit(clusters)
    named = NGMVLVM(init=chosen.init_, **QUICK).fit(clusters)
    np.testing.assert_array_equal(chosen.embedding_, named.embedding_)
    np.testing.assert_array_equal(chosen.history_["elbo"], named.history_["elbo"])
    assert chosen.n_iter_ == QUICK["max_iter"]


def test_imputed_entries_are_not_carried_from_trial_to_trial(clusters):
    views = {"a": np.where(np.random.default_rng(0).random((120, 12)) < 0.1, np.nan, clusters["a"])}
    chosen = NGMVLVM(init="auto", **QUICK).fit(views)
    named = NGMVLVM(init=chosen.init_, **QUICK).fit(views)
    np.testing.assert_array_equal(chosen.embedding_, named.embedding_)


def test_verbose_prints_which_initialisation_was_chosen_and_why(clusters, capsys):
    est = NGMVLVM(init="auto", verbose=1, **QUICK).fit(clusters)
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Initialisation: "))
    assert line.startswith(f"Initialisation: {est.init_} (bound in nats per entry after 5 steps: pca ")
    NGMVLVM(init="auto", **QUICK).fit(clusters)
    assert capsys.readouterr().out == ""


def test_an_interrupt_ends_the_trials_and_keeps_the_best_so_far(clusters, monkeypatch):
    calls = iter(range(1000))

    def interrupted(*args, **kwargs):
        if next(calls) == 7:  # in the second trial
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    original = MultiViewLVM.elbo
    monkeypatch.setattr(MultiViewLVM, "elbo", interrupted)
    est = NGMVLVM(init="auto", **QUICK).fit(clusters)
    assert est.init_ in ("pca", "spectral")
    assert est.n_iter_ == 5


def test_an_initialisation_that_fails_numerically_is_not_chosen(clusters, monkeypatch):
    original = initialization.train_model
    outcomes = iter([True, True, False])

    def sometimes(*args):
        if next(outcomes):
            raise NumericalError("broken for a test")
        return original(*args)

    monkeypatch.setattr(initialization, "train_model", sometimes)
    assert NGMVLVM(init="auto", **QUICK).fit(clusters).init_ == "neighbors"


@pytest.mark.parametrize("init", ["umap", "PCA", None])
def test_an_unknown_start_is_answered_with_the_known_ones(clusters, init):
    message = r"init must be 'pca', 'spectral', 'neighbors', 'auto' or an array of shape \(120, 2\). Got "
    with pytest.raises(ValueError, match=message + repr(init)):
        NGMVLVM(init=init, **QUICK).fit(clusters)


def test_a_saved_model_knows_its_start(clusters, tmp_path):
    est = NGMVLVM(init="auto", **QUICK).fit(clusters)
    est.save(tmp_path / "model.safetensors")
    loaded = mvlvm.load(tmp_path / "model.safetensors")
    assert (loaded.init, loaded.init_) == ("auto", est.init_)


def test_no_global_generator_is_touched(clusters):
    torch_before, numpy_before = torch.random.get_rng_state(), np.random.get_state()[1].copy()
    NGMVLVM(init="auto", **QUICK).fit(clusters)
    assert torch.equal(torch.random.get_rng_state(), torch_before)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_before)


def test_counts_are_initialised_by_components_of_their_logarithms():
    """Latents of counts begin at the principal components of log(1 + Y), of unit variance."""
    rng = np.random.default_rng(0)
    Y = rng.poisson(np.exp(rng.normal(size=(40, 2)) @ rng.normal(size=(2, 6)) + 1.0)).astype(float)
    settings = {"max_iter": 1, "tol": 0.0, "learning_rate": 1e-12, "n_points": 2, "dtype": "float64"}
    est = NGMVLVM(likelihood="poisson", random_state=0, **settings).fit(Y)
    logarithms = np.log1p(Y)
    components = np.linalg.svd(logarithms - logarithms.mean(axis=0), full_matrices=False)[0][:, :2]
    np.testing.assert_allclose(np.abs(components.T @ est.embedding_) / 40**0.5, np.eye(2), atol=1e-6)
