"""The views, kernels and columns at given latents."""

import numpy as np
import pandas as pd
import pytest
import torch

from mvlvm import NGMVLVM, ViewError
from mvlvm.kernels import ngsm_kernel, sm_kernel
from mvlvm.spectral import BivariateMixture, StationaryMixture

pytestmark = pytest.mark.filterwarnings("ignore::mvlvm.ViewWarning")
QUICK = {"max_iter": 40, "tol": 0.0, "n_points": 8, "n_draws_predict": 2, "random_state": 0, "dtype": "float64"}


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 2))
    columns = ["height", "width", "depth", "constant"]
    left = np.c_[np.sin(X @ rng.normal(size=(2, 3))) * 5 + 20, np.full(70, 3.0)]
    return {
        "left": pd.DataFrame(left, columns=columns, index=[f"row{i}" for i in range(70)]),
        "right": np.cos(X @ rng.normal(size=(2, 5))) + 0.1 * rng.normal(size=(70, 5)),
    }


@pytest.fixture(scope="module")
def fitted(views):
    return NGMVLVM(kernel={"left": "ngsm", "right": "sm"}, **QUICK).fit(views)


@pytest.fixture(scope="module")
def with_private(views):
    return NGMVLVM(n_private={"right": 1}, **QUICK).fit(views)


def expected_entries(est, name, X):
    """Return the mean of a view at latents, from the weights of every draw of spectral points."""
    function, scaling = est.model_.predictor.functions[name], est.model_.views[name].scaling
    X = torch.as_tensor(X)
    f = sum(posterior.features(X).double() @ posterior.mean for posterior in function.posteriors)
    return scaling.undo((f / len(function.posteriors)).detach().numpy())


def test_views_at_latents_are_those_of_the_features(fitted):
    X = np.random.default_rng(1).normal(size=(9, 2))
    means, stds = fitted.inverse_transform(X, return_std=True)
    assert list(means["left"].columns) == ["height", "width", "depth", "constant"]
    for name in ("left", "right"):
        np.testing.assert_allclose(np.asarray(means[name]), expected_entries(fitted, name, X), rtol=1e-9)
        assert np.asarray(stds[name]).shape == np.asarray(means[name]).shape
    np.testing.assert_array_equal(means["left"]["constant"], 3.0)
    _, of_function = fitted.inverse_transform(X, return_std=True, include_noise=False)
    noise = stds["right"] ** 2 - of_function["right"] ** 2
    assert np.ptp(noise, axis=0).max() < 1e-9
    assert noise[0].mean() == pytest.approx(fitted.noise_variance_["right"])


def test_views_at_the_embedding_are_near_reconstructions(fitted, views):
    means, expected = fitted.inverse_transform(fitted.embedding_), fitted.reconstruct()
    spread = views["right"].std()
    assert np.sqrt(np.mean((means["right"] - expected["right"]) ** 2)) < 0.3 * spread


def test_private_dimensions_have_their_prior_unless_they_are_given(with_private):
    shared, complete = with_private.embedding_, with_private.factors().to_numpy()
    assert complete.shape == (70, 3)
    of_shared, of_all = (with_private.inverse_transform(X, return_std=True) for X in (shared, complete))
    np.testing.assert_allclose(of_shared[0]["left"], of_all[0]["left"])
    assert np.mean(of_shared[1]["right"] ** 2) > np.mean(of_all[1]["right"] ** 2)


@pytest.mark.parametrize(("name", "kernel", "kind"), [
    ("left", ngsm_kernel, BivariateMixture), ("right", sm_kernel, StationaryMixture)
])  # fmt: skip
def test_kernels_are_those_of_the_spectral_density(fitted, name, kernel, kind):
    rng = np.random.default_rng(2)
    X1, X2 = rng.normal(size=(4, 2)), rng.normal(size=(6, 2))
    density = fitted.spectral_density(name)
    assert isinstance(density, kind)
    expected = kernel(torch.as_tensor(X1), torch.as_tensor(X2), density).numpy()
    np.testing.assert_allclose(fitted.kernel_matrix(name, X1, X2), expected, rtol=1e-9)
    np.testing.assert_allclose(fitted.kernel_matrix(name, X2, X1), expected.T, rtol=1e-9)
    K = fitted.kernel_matrix(name)
    assert K.shape == (70, 70)
    assert np.linalg.eigvalsh(K).min() > -1e-9 * K.max()


@pytest.mark.parametrize("name", ["left", "right"])
def test_random_features_estimate_the_kernel(fitted, name):
    X = torch.as_tensor(np.random.default_rng(3).normal(size=(5, 2)))
    module, generator, n = fitted.model_.model.modules_by_view[name], torch.Generator().manual_seed(0), 400
    with torch.no_grad():
        draws = torch.stack([(Phi := module.draw_features(generator)(X)) @ Phi.T for _ in range(n)]).double()
    error = (draws.mean(dim=0).numpy() - fitted.kernel_matrix(name, X.numpy())) / (draws.std(dim=0).numpy() / n**0.5)
    assert np.abs(error).max() < 4.5


def test_column_relevance_is_that_of_finite_differences(with_private):
    est, step = with_private, 1e-5
    X = est.factors().to_numpy()
    for name in ("left", "right"):
        factor = est.model_.views[name].scaling.factor
        expected = np.zeros((len(factor), 3))
        for d in range(3):
            shifted = [X.copy(), X.copy()]
            shifted[0][:, d] += step
            shifted[1][:, d] -= step
            up, down = (expected_entries(est, name, Z) for Z in shifted)
            derivatives = (up - down) / (2 * step) / factor
            expected[:, d] = np.square(derivatives).mean(axis=0) * X[:, d].var(ddof=1)
        table = est.column_relevance(name)
        np.testing.assert_allclose(table.to_numpy(), expected / expected.sum(axis=1).max(), atol=1e-6)
        assert list(table.columns) == ["x0", "x1", "right:0"]
    assert list(est.column_relevance("left").index) == ["height", "width", "depth", "constant"]
    assert (est.column_relevance("left")["right:0"] == 0).all()


def test_factors_of_new_rows_include_private_dimensions(with_private, views):
    new = {"left": views["left"].iloc[:6], "right": views["right"][:6]}
    mean, std = with_private.factors(new, return_std=True)
    assert list(mean.columns) == ["x0", "x1", "right:0"]
    assert list(mean.index) == [f"row{i}" for i in range(6)]
    np.testing.assert_allclose(mean[["x0", "x1"]], with_private.transform(new))
    assert (std > 0).all(axis=None)
    trained, deviation = with_private.factors(return_std=True)
    np.testing.assert_array_equal(trained["right:0"], with_private.private_embedding_["right"][:, 0])
    np.testing.assert_array_equal(deviation[["x0", "x1"]], with_private.embedding_std_)


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda est: est.inverse_transform(np.zeros((2, 3))), ViewError, r"must have shape \(n, 2\).* Got \(2, 3\)"),
        (lambda est: est.inverse_transform([[0.0, np.inf]]), ViewError, "must be finite. Got 1"),
        (lambda est: est.inverse_transform("here"), ViewError, "must be an array of latents. Got str"),
        (lambda est: est.kernel_matrix("left", np.zeros(2)), ViewError, r"X1 must have shape \(n, 2\)"),
        (lambda est: est.kernel_matrix("top"), ValueError, "There is no view 'top'. The views are: left, right"),
        (lambda est: est.kernel_matrix("left", np.zeros((2, 2)), n_draws=3), ValueError, "Omit X1 and X2, or n_draws"),
        (lambda est: est.spectral_density("top"), ValueError, "There is no view"),
        (lambda est: est.column_relevance("top"), ValueError, "There is no view"),
    ],
)
def test_bad_latents_and_names_are_refused(fitted, call, error, message):
    with pytest.raises(error, match=message):
        call(fitted)
