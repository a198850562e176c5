import itertools
import signal

import numpy as np
import pandas as pd
import pytest
import torch

import mvlvm
from mvlvm import MVARFLVM, NGMVLVM, ConvergenceWarning, NumericalError, ViewError, defaults
from mvlvm.estimators import base, train
from mvlvm.estimators import fitted as fitted_module
from mvlvm.inference import new_rows
from mvlvm.models.multiview import MultiViewLVM

QUICK = {"max_iter": 15, "tol": 0.0, "n_points": 10}
UNTRAINED = {
    "max_iter": 1, "tol": 0.0, "learning_rate": 1e-12, "n_points": 2, "n_mixtures": 1, "n_draws_predict": 1,
    "dtype": "float64",
}  # fmt: skip


@pytest.mark.parametrize("estimator", [NGMVLVM, MVARFLVM])
@pytest.mark.parametrize("dtype", ["auto", "float64"])
def test_equal_seeds_give_bit_identical_fits_and_different_seeds_do_not(small_curve, estimator, dtype):
    first, second, other = (
        estimator(random_state=seed, dtype=dtype, **QUICK).fit(small_curve.views) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.embedding_, second.embedding_)
    np.testing.assert_array_equal(first.history_["elbo"], second.history_["elbo"])
    np.testing.assert_equal(first.reconstruct(return_std=True), second.reconstruct(return_std=True))
    assert np.abs(first.embedding_ - other.embedding_).max() > 0


def test_global_generators_are_not_modified(small_curve):
    torch_before, numpy_before = torch.random.get_rng_state(), np.random.get_state()[1].copy()
    NGMVLVM(**QUICK).fit(small_curve.views).sample(2)
    assert torch.equal(torch.random.get_rng_state(), torch_before)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_before)


def test_random_state_reaches_the_conditioning_on_the_data(small_curve, monkeypatch):
    """Without random initial frequencies, two seeds differ only in the spectral points drawn for the conditioning."""
    monkeypatch.setattr(defaults, "INITIAL_MU_SPREAD", 0.0)
    first, second = (
        NGMVLVM(random_state=seed, **UNTRAINED).fit(small_curve.views).reconstruct()["rbf"] for seed in (1, 2)
    )
    # parameters differ by 1e-12 after the step; spectral points are independent
    assert np.sqrt(np.mean((first - second) ** 2)) > 0.1 * first.std()


def test_training_and_conditioning_have_different_random_streams(small_curve, monkeypatch):
    """No two generators of a fit have the same seed; otherwise their draws would be equal."""
    generators, randn = [], torch.randn

    def record(*args, generator, **kwargs):
        if not any(generator is other for other in generators):
            generators.append(generator)
        return randn(*args, generator=generator, **kwargs)

    monkeypatch.setattr(torch, "randn", record)
    NGMVLVM(random_state=3, **UNTRAINED).fit(small_curve.views["rbf"][:20]).prepare()
    seeds = [generator.initial_seed() for generator in generators]
    assert len(seeds) >= 3  # training, conditioning and the reported bound
    assert len(set(seeds)) == len(seeds)


def test_weights_are_averaged_over_draws_of_the_latents(small_curve, monkeypatch):
    """The error of the average, relative to the average over many draws, decreases with the number of draws."""
    monkeypatch.setattr(defaults, "INITIAL_LATENT_STD", 1.0)
    predicted = {}
    for n_draws in (1, 64, 512):
        monkeypatch.setattr(defaults, "N_LATENT_DRAWS", n_draws)
        predicted[n_draws] = NGMVLVM(random_state=0, **UNTRAINED).fit(small_curve.views["rbf"][:30]).reconstruct()
    one, many = (np.sqrt(np.mean((predicted[n_draws] - predicted[512]) ** 2)) for n_draws in (1, 64))
    assert 0 < many < one / 2  # an eighth is expected


def test_training_increases_the_bound_and_records_its_history(fitted, small_curve):
    assert fitted.history_["elbo"][-10:].mean() > fitted.history_["elbo"][:10].mean() + 100
    assert fitted.n_iter_ == 40
    assert fitted.stop_reason_ == "max_iter"
    np.testing.assert_allclose(
        fitted.history_["elbo"], fitted.history_["reconstruction"] - fitted.history_["latent_kl"], rtol=1e-12
    )
    assert np.all(np.diff(fitted.history_["seconds"]) > 0)
    assert fitted.view_names_ == ["rbf", "gibbs"]
    assert fitted.n_features_in_ == {"rbf": 8, "gibbs": 8}
    assert fitted.elbo_ == pytest.approx(fitted.history_["elbo"][-1], rel=0.1)


def test_mvarflvm_equals_ngmvlvm_with_the_stationary_kernel(small_curve):
    stationary = MVARFLVM(random_state=0, **QUICK).fit(small_curve.views)
    with_sm_kernel = NGMVLVM(kernel="sm", random_state=0, **QUICK).fit(small_curve.views)
    np.testing.assert_array_equal(stationary.embedding_, with_sm_kernel.embedding_)


def test_parameters_can_be_set_per_view(small_curve):
    est = NGMVLVM(
        kernel={"rbf": "sm", "gibbs": "ngsm"}, n_mixtures={"rbf": 1, "gibbs": 3},
        scale={"rbf": None, "gibbs": "column"}, **QUICK,
    ).fit(small_curve.views)  # fmt: skip
    rbf, gibbs = est.model_.model.modules_by_view.values()
    assert len(rbf.mixture.density().alpha) == 1
    assert len(gibbs.mixture.density().alpha) == 3
    assert est.scale_ == {"rbf": None, "gibbs": "column"}


def test_a_view_with_a_larger_weight_is_explained_better():
    rng = np.random.default_rng(0)
    views = {"a": rng.normal(size=(60, 5)), "b": rng.normal(size=(60, 5))}
    fits = [
        NGMVLVM(n_components=1, view_weights=weights, max_iter=200, tol=0.0, n_points=20, random_state=0).fit(views)
        for weights in ({"a": 20.0, "b": 0.05}, {"a": 0.05, "b": 20.0})
    ]
    assert fits[0].explained_variance_["a"] > fits[1].explained_variance_["a"] + 0.1
    assert fits[1].explained_variance_["b"] > fits[0].explained_variance_["b"] + 0.1


def test_a_larger_kl_weight_shrinks_the_latents_towards_the_prior(small_curve):
    small, large = (
        NGMVLVM(latent_kl_weight=weight, max_iter=150, tol=0.0, n_points=10, random_state=0).fit(small_curve.views)
        for weight in (0.1, 30.0)
    )
    assert large.history_["latent_kl"][-1] < small.history_["latent_kl"][-1]
    history = large.history_
    np.testing.assert_allclose(history["objective"], history["reconstruction"] - 30.0 * history["latent_kl"])
    np.testing.assert_allclose(history["elbo"], history["reconstruction"] - history["latent_kl"])


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing-entries"])
def test_a_fit_without_scaling_does_not_depend_on_the_unit_of_the_data(missing):
    rng = np.random.default_rng(0)
    Y = np.sin(rng.standard_normal((60, 2)) @ rng.standard_normal((2, 8))) + 0.1 * rng.standard_normal((60, 8))
    Y[3, 4] = np.nan if missing else Y[3, 4]
    one, large = (
        NGMVLVM(scale=None, random_state=0, dtype="float64", n_points=10, max_iter=60, tol=0.0).fit(factor * Y)
        for factor in (1.0, 2.0**13)
    )
    np.testing.assert_allclose(large.embedding_, one.embedding_, rtol=1e-6, atol=1e-9)
    (name,) = one.view_names_
    assert large.noise_variance_[name] == pytest.approx(2.0**26 * one.noise_variance_[name], rel=1e-6)
    np.testing.assert_allclose(large.kernel_matrix(name), 2.0**26 * one.kernel_matrix(name), rtol=1e-6)
    n_entries = np.isfinite(Y).sum()
    assert large.elbo_ == pytest.approx(one.elbo_ - n_entries * np.log(2.0**13), rel=1e-6)


def test_latents_can_be_initialised_with_an_array(small_curve):
    initial = np.random.default_rng(0).normal(size=(60, 3))
    est = NGMVLVM(n_components=3, init=initial, max_iter=1, tol=0.0, learning_rate=1e-6).fit(small_curve.views)
    np.testing.assert_allclose(est.embedding_, initial, atol=1e-4)


def test_reaching_max_iter_before_convergence_warns(small_curve):
    with pytest.warns(
        ConvergenceWarning, match="max_iter=200 before the bound converged to tol=1e-09: it last rose by"
    ):
        NGMVLVM(max_iter=200, tol=1e-9, n_points=5, random_state=0).fit(small_curve.views)


def test_a_fit_too_short_to_assess_convergence_warns(small_curve):
    with pytest.warns(ConvergenceWarning, match="the run was too short to tell"):
        NGMVLVM(max_iter=2, n_points=5).fit(small_curve.views)


def test_training_stops_at_convergence_without_a_warning(small_curve):
    est = NGMVLVM(max_iter=1000, tol=1.0, n_points=5, random_state=0).fit(small_curve.views)
    assert est.stop_reason_ == "converged"
    assert est.n_iter_ < 1000


def test_an_interrupted_fit_warns_and_keeps_a_usable_model(small_curve, monkeypatch):
    calls = iter(range(1000))

    def interrupted(*args, **kwargs):
        if next(calls) == 12:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    original = mvlvm.models.multiview.MultiViewLVM.elbo_gradients
    monkeypatch.setattr(mvlvm.models.multiview.MultiViewLVM, "elbo_gradients", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted after 12 of 500 steps"):
        est = NGMVLVM(max_iter=500, n_points=5).fit(small_curve.views)
    assert est.n_iter_ == 12
    assert np.isfinite(est.reconstruct()["rbf"]).all()


@pytest.mark.parametrize("step", [1, 7, 12])
@pytest.mark.usefixtures("default_interrupt_handler")
def test_ctrl_c_ends_the_fit_after_the_current_step(small_curve, monkeypatch, step):
    calls, original = itertools.count(1), MultiViewLVM.elbo_gradients

    def interrupted(*args, **kwargs):
        if next(calls) == step:
            signal.raise_signal(signal.SIGINT)
        return original(*args, **kwargs)

    monkeypatch.setattr(MultiViewLVM, "elbo_gradients", interrupted)
    with pytest.warns(ConvergenceWarning, match=f"interrupted after {step} of 500 steps"):
        est = NGMVLVM(max_iter=500, n_points=5).fit(small_curve.views)
    assert {len(column) for column in est.history_.values()} == {step}
    assert next(calls) == step + 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("default_interrupt_handler")
def test_ctrl_c_before_the_first_step_keeps_the_fit_before(small_curve, monkeypatch):
    def interrupt(*_):
        signal.raise_signal(signal.SIGINT)

    est = NGMVLVM(**QUICK).fit(small_curve.views)
    before = dict(vars(est))
    monkeypatch.setattr(base, "preprocess", interrupt)
    with pytest.raises(KeyboardInterrupt):
        est.fit(small_curve.views["rbf"])
    assert vars(est) == before


@pytest.mark.usefixtures("default_interrupt_handler")
def test_ctrl_c_after_training_is_reported(small_curve, monkeypatch):
    def interrupt(*args, **kwargs):
        signal.raise_signal(signal.SIGINT)
        return original(*args, **kwargs)

    original = base.record_fit
    monkeypatch.setattr(base, "record_fit", interrupt)
    with pytest.warns(ConvergenceWarning, match="interrupt after training had ended. The fit is complete"):
        assert NGMVLVM(**QUICK).fit(small_curve.views).stop_reason_ == "max_iter"


@pytest.mark.parametrize("failure", [KeyboardInterrupt, NumericalError("singular")])
def test_a_failure_to_place_rows_of_weight_zero_keeps_the_model(small_curve, monkeypatch, failure):
    def fail(*_, **__):
        raise failure

    weight = np.ones(60)
    weight[:3] = 0.0
    monkeypatch.setattr(new_rows, "find_modes", fail)
    with pytest.warns(ConvergenceWarning, match="rows of weight zero were not inferred: (singular|there was)"):
        est = NGMVLVM(**QUICK).fit(small_curve.views, sample_weight=weight)
    np.testing.assert_allclose(est.embedding_[:3], 0.0)
    np.testing.assert_allclose(est.embedding_std_[:3], 1.0, rtol=1e-6)


def test_a_model_that_diverges_in_the_last_step_is_an_error(small_curve, monkeypatch):
    def diverge(state, *_, **__):
        with torch.no_grad():
            state.parameters.vector[0] = torch.nan
        return state

    monkeypatch.setattr(train, "train", diverge)
    with pytest.raises(NumericalError, match="a parameter is not finite after the last step"):
        NGMVLVM(**QUICK).fit(small_curve.views)


def test_a_bound_that_cannot_be_computed_is_nan_with_a_warning(small_curve, monkeypatch):
    def fail(*_, **__):
        raise NumericalError("not positive definite")

    est = NGMVLVM(**QUICK).fit(small_curve.views)
    monkeypatch.setattr(fitted_module, "expected_bound", fail)
    with pytest.warns(ConvergenceWarning, match="cannot be computed: not positive definite. The model is kept"):
        assert np.isnan(est.elbo_)
    assert np.isfinite(est.reconstruct()["rbf"]).all()


def test_progress_bar_is_shown_only_if_verbose(small_curve, capsys):
    NGMVLVM(**QUICK).fit(small_curve.views)
    assert capsys.readouterr().out == ""
    NGMVLVM(verbose=1, **QUICK).fit(small_curve.views)
    assert "15/15" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer of at least 1. Got 0"),
        ({"n_components": 2.5}, "n_components must be an integer"),
        ({"n_components": 50}, "n_components=50 is too large for the PCA initialisation.*rank 16.*n_components <= 16"),
        ({"n_points": "many"}, "n_points must be an integer.*Got 'many'"),
        ({"kernel": "rbf"}, "kernel must be one of 'ngsm', 'sm'. Got 'rbf'"),
        ({"kernel": {"rbf": "sm"}}, "no value for 'gibbs'"),
        ({"likelihood": "binomial"}, "likelihood must be one of 'gaussian', 'student-t', .*'auto'. Got 'binomial'"),
        ({"scale": "rows"}, "scale must be one of 'auto', 'view', 'column', None. Got 'rows'"),
        ({"init": "umap"}, r"init must be 'pca', .*, 'auto', an array of shape \(60, 2\), .*. Got 'umap'"),
        ({"init": np.zeros((60, 3))}, r"shape \(60, 2\).*Got \(60, 3\)"),
        ({"init": np.full((60, 2), np.nan)}, "init as an array must be finite.*Got 120 entries"),
        ({"init": np.full((60, 2), 1e30)}, "within 1000 of the origin"),
        ({"init": np.full((60, 2), 1j)}, "Got something else: its type is complex128"),
        ({"init": [[0.0], [1.0, 2.0]]}, "init must be .* an array"),
        ({"tol": 10**400}, "tol must be a non-negative number"),
        ({"learning_rate": 1e38}, "learning_rate must be a positive number. Got 1e.38"),
        ({"device": np.zeros(2)}, "device must be 'auto', 'cpu' or 'cuda'"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"tol": -1.0}, "tol must be a non-negative number. Got -1.0"),
        ({"learning_rate": 0.0}, "learning_rate must be a positive number"),
        ({"learning_rate": float("nan")}, "learning_rate must be a positive number. Got nan"),
        ({"view_weights": {"rbf": 1.0, "gibbs": -2.0}}, "view_weights must be a non-negative number. Got -2.0"),
        ({"device": "tpu"}, "device must be 'auto', 'cpu' or 'cuda'. Got 'tpu'"),
        ({"dtype": "float16"}, "dtype must be one of 'auto', 'float64'. Got 'float16'"),
        ({"random_state": -1}, "random_state must be an integer from 0"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("no_type_checks")
def test_invalid_parameters_raise_informative_errors(small_curve, parameters, message):
    with pytest.raises(ValueError, match=message):
        NGMVLVM(**parameters).fit(small_curve.views)


def test_invalid_views_raise_a_view_error():
    with pytest.raises(ViewError, match="same number of rows"):
        NGMVLVM().fit({"a": np.ones((4, 2)), "b": np.ones((5, 2))})


def test_divergent_training_raises_an_error_and_leaves_the_estimator_unfitted(small_curve):
    est = NGMVLVM(learning_rate=1e6, max_iter=300, n_points=5, random_state=0)
    with pytest.raises(NumericalError, match="learning_rate"):
        est.fit(small_curve.views)
    assert "embedding_" not in vars(est)


def test_feature_names_of_a_dataframe_are_stored_and_returned():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 4)), columns=list("wxyz"))
    est = NGMVLVM(**QUICK).fit(frame)
    assert list(est.feature_names_in_) == list("wxyz")
    assert est.n_features_in_ == 4
    assert list(est.reconstruct().columns) == list("wxyz")


def test_base_class_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        base.AbstractMultiViewLVM()
