"""GPy models: the stored posterior means reproduce the predictions of GPy."""

import numpy as np
import pytest

import mvlvm
from mvlvm import baselines
from mvlvm.baselines.baseline_input import concatenate_views, split_views, view_widths
from mvlvm.baselines.gp.gpy_models import _posterior_mean

GPy = pytest.importorskip("GPy")
# a few steps suffice here
pytestmark = pytest.mark.filterwarnings("ignore::mvlvm.ConvergenceWarning")


def views_of_a_curve(seed=0, n_rows=40):
    draws = np.random.default_rng(seed)
    t = np.sort(draws.uniform(-2, 2, n_rows))
    a = np.stack([np.sin(t), np.cos(t), t], axis=1) @ draws.normal(size=(3, 6))
    b = np.stack([np.sin(2 * t), t**2], axis=1) @ draws.normal(size=(2, 4))
    return {"a": a + 0.05 * draws.normal(size=a.shape), "b": b + 0.05 * draws.normal(size=b.shape)}


def certain(GPy, X):
    return GPy.core.parameterization.variational.NormalPosterior(X, np.full(X.shape, 1e-12))


@pytest.mark.parametrize("name", ["BGPLVM", "MRD"])
def test_stored_means_match_predictions_of_gpy(name):
    views = views_of_a_curve()
    est = baselines.get(name)(n_components=2, n_inducing=8, max_iter=5, random_state=0)
    model = est._make(GPy, views, 8)
    model.optimize(max_iters=5)
    X = np.random.default_rng(1).normal(size=(7, 2))
    means = est._posterior_means(model, views)
    for i, view in enumerate(views):
        if name == "MRD":
            expected = model.predict(certain(GPy, X), Yindex=i)[0]
        else:
            expected = split_views(model.predict(X)[0], view_widths(views))[view]
        np.testing.assert_allclose(means[view].evaluate(X), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["BGPLVM", "MRD"])
def test_curve_is_reconstructed(name):
    views = views_of_a_curve()
    est = baselines.get(name)(n_components=2, n_inducing=15, max_iter=100, random_state=0).fit(views)
    for view, Y in est.reconstruct().items():
        assert 1 - np.var(Y - views[view]) / np.var(views[view]) > 0.9


def test_number_of_inducing_points_is_limited_by_rows():
    est = baselines.get("BGPLVM")(n_components=1, n_inducing=50, max_iter=2, random_state=0).fit(views_of_a_curve())
    assert est._means["a"].places.shape == (40, 1)


def test_posterior_mean_is_a_weighted_sum_of_kernels():
    Y = concatenate_views(views_of_a_curve())
    model = GPy.models.BayesianGPLVM(Y, 2, num_inducing=5)
    mean = _posterior_mean(model)
    x, by_hand = np.array([[0.3, -0.2]]), 0
    for place, weights in zip(mean.places, mean.weights, strict=True):
        squares = (((x[0] - place) / mean.lengthscales) ** 2).sum()
        by_hand = by_hand + mean.variance * np.exp(-squares / 2) * weights
    np.testing.assert_allclose(mean.evaluate(x)[0], by_hand)


def interrupt_update(monkeypatch, model, n):
    """Interrupt the n-th update of a GPy model, as Ctrl-C would."""
    update, n_updates = model.parameters_changed, 0

    def parameters_changed(self):
        nonlocal n_updates
        n_updates += 1
        if n_updates == n:
            raise KeyboardInterrupt
        update(self)

    monkeypatch.setattr(model, "parameters_changed", parameters_changed)


@pytest.mark.parametrize(("name", "model"), [("BGPLVM", "BayesianGPLVM"), ("MRD", "MRD")])
def test_interrupted_fit_keeps_the_best_parameters_so_far(name, model, monkeypatch):
    estimator, models = baselines.get(name), []
    make = estimator._make

    def make_and_keep(self, *arguments):
        models.append(make(self, *arguments))
        return models[-1]

    monkeypatch.setattr(estimator, "_make", make_and_keep)
    interrupt_update(monkeypatch, getattr(GPy.models, model), 30)
    est = estimator(n_components=2, n_inducing=8, random_state=0)
    with pytest.warns(mvlvm.ConvergenceWarning, match=rf"{name} was interrupted after \d+ of 1000 .* Call fit again"):
        est.fit(views_of_a_curve())
    (fitted,) = models
    (run,) = fitted.optimization_runs
    assert 5 < run.funct_eval < 30
    assert fitted.objective_function() == pytest.approx(run.f_opt)
    np.testing.assert_array_equal(est.embedding_, np.asarray(fitted.X.mean))
    # all quantities belong to the same parameters: computing them again changes nothing
    before = est._posterior_means(fitted, views_of_a_curve())
    fitted.optimizer_array = np.array(fitted.optimizer_array)
    for view, mean in est._posterior_means(fitted, views_of_a_curve()).items():
        np.testing.assert_allclose(mean.weights, before[view].weights, rtol=1e-6)
        np.testing.assert_array_equal(before[view].weights, est._means[view].weights)
