"""MV-GPLVM and MV-NGPLVM: evidence and predictions compared with SciPy's normal density."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from mvlvm.baselines.gp.exact_gplvm import MIN_NOISE_VARIANCE, MVGPLVM, MVNGPLVM, ExactGP, MAPModel
from mvlvm.baselines.gp.trainable_kernels import TrainableGibbs, TrainableRBF
from mvlvm.parameters import raw_positive
from tests.baselines.gp.kernel_oracles import gibbs, rbf

VARIANCE, LENGTHSCALE, NOISE, SHRINKAGE = 1.7, np.array([0.6, 1.4]), 0.3, 0.8


@pytest.fixture(name="X")
def latents():
    return np.random.default_rng(0).normal(size=(9, 2))


def with_values(kernel):
    kernel.raw_variance.data.fill_(raw_positive(VARIANCE))
    kernel.raw_lengthscale.data.copy_(torch.tensor([raw_positive(value) for value in LENGTHSCALE]))
    if isinstance(kernel, TrainableGibbs):
        kernel.shrinkage.data.fill_(SHRINKAGE)
    return kernel


def covariance(kernel, X):
    if isinstance(kernel, TrainableGibbs):
        return gibbs(X, X, VARIANCE, LENGTHSCALE, SHRINKAGE)
    return rbf(X, X, VARIANCE, LENGTHSCALE)


@pytest.fixture(params=[TrainableRBF, TrainableGibbs])
def kernel(request):
    return with_values(request.param(2))


def log_evidence(Y, K):
    return multivariate_normal(np.zeros(len(K)), K + NOISE * np.eye(len(K))).logpdf(Y.T).sum()


def test_log_joint_matches_normal_columns_and_prior(kernel, X):
    rng = np.random.default_rng(1)
    Ys = [rng.normal(size=(9, 4)), rng.normal(size=(9, 3))]
    model = MAPModel(torch.from_numpy(X), [kernel, with_values(TrainableRBF(2))])
    for process in model.processes:
        process.raw_noise_variance.data.fill_(raw_positive(NOISE - MIN_NOISE_VARIANCE))
    prior = multivariate_normal(np.zeros(2), np.eye(2)).logpdf(X).sum()
    expected = log_evidence(Ys[0], covariance(kernel, X)) + log_evidence(Ys[1], covariance(TrainableRBF(2), X)) + prior
    found = model.log_joint([torch.from_numpy(Y) for Y in Ys])
    assert found.item() == pytest.approx(expected, rel=1e-10)
    found.backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters())


def test_predictive_density_is_ratio_of_joint_densities(kernel, X):
    Y = np.random.default_rng(2).normal(size=(9, 3))
    process = ExactGP(kernel)
    process.raw_noise_variance.data.fill_(raw_positive(NOISE - MIN_NOISE_VARIANCE))
    posterior = process.condition(torch.from_numpy(X[:-1]), torch.from_numpy(Y[:-1]))
    new = torch.from_numpy(X[-1:])
    mean, variance = (values[0].detach().numpy() for values in posterior.predict(new))
    np.testing.assert_array_equal(mean, posterior.mean(new)[0].detach().numpy())
    found = multivariate_normal(mean, np.diag(variance)).logpdf(Y[-1])
    expected = log_evidence(Y, covariance(kernel, X)) - log_evidence(Y[:-1], covariance(kernel, X[:-1]))
    assert found == pytest.approx(expected, rel=1e-9)


def test_gibbs_kernel_with_constant_lengthscale_is_squared_exponential(X):
    kernel = with_values(TrainableGibbs(2))
    kernel.shrinkage.data.zero_()
    inputs = torch.from_numpy(X)
    np.testing.assert_allclose(kernel(inputs, inputs).detach(), rbf(X, X, VARIANCE, LENGTHSCALE), rtol=1e-10)


@pytest.mark.parametrize("method", [MVGPLVM, MVNGPLVM])
def test_view_of_new_rows_is_predicted_from_other_view(method):
    rng = np.random.default_rng(3)
    t = rng.uniform(-1.5, 1.5, size=(90, 2))
    functions = [rng.normal(size=(2, 6)), rng.normal(size=(2, 5))]
    views = {
        name: np.sin(t @ weights) + 0.05 * rng.normal(size=(90, weights.shape[1]))
        for name, weights in zip(("left", "right"), functions, strict=True)
    }
    est = method(max_iter=60).fit({name: Y[:70] for name, Y in views.items()})
    predicted = est.predict({"left": views["left"][70:]}, target="right")
    unexplained = np.square(predicted - views["right"][70:]).mean() / views["right"][70:].var(axis=0).mean()
    assert unexplained < 0.25


@pytest.mark.parametrize("method", [MVGPLVM, MVNGPLVM])
def test_too_many_rows_are_rejected(method):
    with pytest.raises(ValueError, match="takes at most 5000 rows. Got 5001. .*NGMVLVM"):
        method().fit(np.random.default_rng(0).normal(size=(5001, 3)))
