"""GPyTorch's Bayesian GPLVM: stored posterior means, quality of the fit, and interrupted fits."""

import numpy as np
import pytest
import torch

import mvlvm
from mvlvm.baselines.gp import gpytorch_gplvm
from mvlvm.baselines.gp.gpytorch_gplvm import ColumnGPMeans, GPyTorchGPLVM

pytestmark = pytest.mark.xdist_group("gpytorch")
gpytorch = pytest.importorskip("gpytorch")


def views_of_a_curve(n_rows=40):
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(-2, 2, n_rows))
    a = np.stack([np.sin(t), np.cos(t), t], axis=1) @ rng.normal(size=(3, 6))
    b = np.stack([np.sin(2 * t), t**2], axis=1) @ rng.normal(size=(2, 4))
    return {"a": a + 0.05 * rng.normal(size=a.shape), "b": b + 0.05 * rng.normal(size=b.shape)}


def make_trained(n_steps=30, n_rows=40, n_columns=3):
    torch.manual_seed(0)
    X, Y = torch.randn(n_rows, 2), torch.randn(n_rows, n_columns)
    model = gpytorch_gplvm._make_gplvm(gpytorch, X, n_columns, n_inducing=6)
    GPyTorchGPLVM(n_components=2)._train(gpytorch, model, Y, 20, n_steps, 0.05)
    return model


def test_stored_means_match_predictions_of_gpytorch():
    with torch.random.fork_rng(devices=[]):
        model, X = make_trained(), torch.randn(7, 2)
    means = gpytorch_gplvm._posterior_means(model)
    model.eval()
    with torch.no_grad():
        expected = model(X).mean.T.numpy()
    assert np.abs(expected).max() > 0.1
    # GPyTorch computes in float32
    np.testing.assert_allclose(means.evaluate(X.double().numpy()), expected, atol=1e-4)


def test_posterior_mean_of_a_column_is_a_weighted_sum_of_kernels():
    rng = np.random.default_rng(0)
    means = ColumnGPMeans(rng.normal(size=(2, 3, 2)), np.array([0.5, 2.0]), np.array(1.7), rng.normal(size=(2, 3)))
    x, by_hand = np.array([0.3, -0.2]), np.zeros(2)
    for m in range(2):
        for u in range(3):
            squares = (((x - means.inducing_points[m, u]) / means.lengthscales) ** 2).sum()
            by_hand[m] += means.variance * np.exp(-squares / 2) * means.weights[m, u]
    np.testing.assert_allclose(means.evaluate(x[None])[0], by_hand)


def test_curve_is_reconstructed():
    views = views_of_a_curve()
    est = GPyTorchGPLVM(n_components=2, max_iter=400, learning_rate=0.05, random_state=0).fit(views)
    for view, Y in est.reconstruct().items():
        assert 1 - np.var(Y - views[view]) / np.var(views[view]) > 0.8


def test_interrupted_fit_keeps_the_current_result(monkeypatch):
    step, n_steps = torch.optim.Adam.step, 0

    def interrupted(self, closure=None):
        nonlocal n_steps
        n_steps += 1
        if n_steps == 6:
            raise KeyboardInterrupt
        return step(self, closure)

    monkeypatch.setattr(torch.optim.Adam, "step", interrupted)
    est = GPyTorchGPLVM(n_components=2, max_iter=50, device="cpu", random_state=0)
    with pytest.warns(mvlvm.ConvergenceWarning, match="GPyTorchGPLVM was interrupted after 5 of 50 steps.*Call fit"):
        est.fit(views_of_a_curve())
    monkeypatch.undo()
    complete = GPyTorchGPLVM(n_components=2, max_iter=5, device="cpu", random_state=0).fit(views_of_a_curve())
    np.testing.assert_array_equal(est.embedding_, complete.embedding_)


@pytest.mark.parametrize("parameter", ["n_inducing", "batch_size", "max_iter"])
def test_invalid_parameters_are_rejected(parameter):
    with pytest.raises(ValueError, match=f"{parameter} must be an integer of at least 1"):
        GPyTorchGPLVM(**{parameter: 0}).fit(np.eye(5))
    with pytest.raises(ValueError, match="device must be 'auto', 'cpu' or 'cuda'"):
        GPyTorchGPLVM(device="tpu").fit(np.eye(5))
