import pytest
import torch
from torch.distributions import MultivariateNormal

from mvlvm.errors import NumericalError
from mvlvm.evidence import exact_log_evidence, log_evidence
from mvlvm.evidence.collapsed import TruncatedColumns, evidence_gradients
from mvlvm.kernels import ngsm_kernel
from mvlvm.linalg import cholesky
from mvlvm.spectral import random_features
from tests import oracles
from tests.mixtures import draw_points, normal, random_mixture
from tests.oracles import view_log_density

# F < N, F = N and F > N.
SIZES = [(12, 5), (9, 8), (8, 8), (8, 9), (5, 12)]


@pytest.fixture(params=SIZES, ids=lambda sizes: f"N={sizes[0]},F={sizes[1]}")
def problem(request, generator):
    N, F = request.param
    return normal((N, 3), generator), normal((N, F), generator), torch.tensor(0.3, dtype=torch.float64)


def test_evidence_is_the_normal_log_density_of_all_columns(problem):
    Y, Phi, s = problem
    expected = MultivariateNormal(torch.zeros(len(Y)).double(), covariance(Phi, s)).log_prob(Y.T).sum()
    torch.testing.assert_close(log_evidence(Y, Phi, s), expected, rtol=1e-8, atol=0.0)


def test_evidence_matches_the_oracle(problem):
    Y, Phi, s = problem
    expected = oracles.view_log_density(Y.numpy(), covariance(Phi, s).numpy())
    assert log_evidence(Y, Phi, s).item() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("noise_variance", [1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("noisy", [True, False], ids=["noisy view", "noise-free view"])
def test_evidence_and_noise_gradient_are_accurate_at_small_noise(noise_variance, noisy, generator):
    density = random_mixture(2, 2, generator)
    Phi = random_features(normal((400, 2), generator), draw_points(density, 25, generator), density.alpha)
    Y = Phi @ normal((Phi.shape[1], 5), generator) + noisy * normal((400, 5), generator)
    s = torch.tensor(noise_variance, dtype=torch.float64, requires_grad=True)
    value = log_evidence(Y, Phi, s)
    expected, above, below = (
        oracles.view_log_density_by_svd(Y.numpy(), Phi.numpy(), noise_variance * factor)
        for factor in (1, 1 + 1e-4, 1 - 1e-4)
    )
    assert value.item() == pytest.approx(expected, rel=1e-8)
    (grad_s,) = torch.autograd.grad(value, s)
    # the error of the central difference is about the square of its relative step
    assert grad_s.item() == pytest.approx((above - below) / (2e-4 * noise_variance), rel=1e-5)


def test_evidence_matches_exact_evidence_of_the_feature_gram(problem):
    Y, Phi, s = problem
    torch.testing.assert_close(log_evidence(Y, Phi, s), exact_log_evidence(Y, Phi @ Phi.T, s), rtol=1e-10, atol=0.0)


def test_woodbury_and_dense_factorisations_agree_in_value_and_gradients(problem):
    Y, Phi, s = problem
    covariances = [factor(Phi, s) for factor in (cholesky.factor_woodbury, cholesky.factor_dense)]
    one, other = (evidence_gradients(K, K.inverse_features(), K.solve(Y), s) for K in covariances)
    torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_the_smaller_matrix_is_factored(problem, monkeypatch):
    sizes = []
    original = cholesky.factor
    monkeypatch.setattr(cholesky, "factor", lambda A: sizes.append(len(A)) or original(A))
    log_evidence(*problem)
    assert sizes == [min(problem[1].shape)]


def test_gradient_matches_finite_differences(problem):
    assert torch.autograd.gradcheck(log_evidence, [value.clone().requires_grad_() for value in problem])


def test_gradient_with_truncated_columns_matches_finite_differences(problem):
    """Truncated columns enter the evidence, and its gradient with respect to the noise, on both sides of F = N."""
    Y, Phi, s = problem
    assert torch.autograd.gradcheck(
        lambda s: log_evidence(Y, Phi, s, TruncatedColumns(4, 7.0)), [s.clone().requires_grad_()]
    )


def test_gradient_obeys_the_chain_rule(problem):
    def squared(*inputs):
        return (log_evidence(*inputs) / 10).square()

    assert torch.autograd.gradcheck(squared, [value.clone().requires_grad_() for value in problem])


def test_gradient_matches_autograd_through_the_exact_evidence(problem):
    inputs = [value.clone().requires_grad_() for value in problem]
    Y, Phi, s = inputs
    fast = torch.autograd.grad(log_evidence(Y, Phi, s), inputs)
    slow = torch.autograd.grad(exact_log_evidence(Y, Phi @ Phi.T, s), inputs)
    torch.testing.assert_close(fast, slow, rtol=1e-9, atol=1e-9)


def test_evidence_is_invariant_under_rotation_of_the_columns(problem, generator):
    Y, Phi, s = problem
    rotation = torch.linalg.qr(normal((3, 3), generator)).Q
    torch.testing.assert_close(log_evidence(Y @ rotation, Phi, s), log_evidence(Y, Phi, s), rtol=1e-12, atol=0.0)


def test_gradients_have_the_dtype_of_their_inputs(problem):
    Y, Phi, s = problem
    inputs = Y.clone().requires_grad_(), Phi.float().requires_grad_(), s.float().requires_grad_()
    value = log_evidence(*inputs)
    assert value.dtype == torch.float64
    assert [g.dtype for g in torch.autograd.grad(value, inputs)] == [torch.float64, torch.float32, torch.float32]


def test_second_derivative_raises_an_error(problem):
    Y, Phi, s = problem
    with pytest.raises(RuntimeError, match="differentiated once"):
        second_derivative(lambda Phi: log_evidence(Y, Phi, s), Phi)


def test_second_derivative_through_the_features_raises_an_error(problem):
    Y, Phi, s = problem
    with pytest.raises(RuntimeError, match="differentiated once"):
        second_derivative(lambda X: log_evidence(Y, torch.sin(X), s), Phi)


@pytest.mark.parametrize("noise_variance", [1.0, 1e-2])
def test_float32_features_change_the_evidence_by_at_most_1e_5(noise_variance, generator):
    Y, Phi, s = large_problem(noise_variance, generator)
    torch.testing.assert_close(log_evidence(Y, Phi.float(), s), log_evidence(Y, Phi, s), rtol=1e-5, atol=0.0)


def test_non_finite_features_raise_an_error(problem):
    Y, Phi, s = problem
    Phi = Phi.clone()
    Phi[0, 0] = float("nan")
    with pytest.raises(NumericalError, match="NaN or infinite"):
        log_evidence(Y, Phi, s)


def second_derivative(function, at):
    at = at.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(function(at), at, create_graph=True)
    return torch.autograd.grad(gradient.square().sum(), at)


def covariance(Phi, s):
    return Phi @ Phi.T + s * torch.eye(len(Phi), dtype=torch.float64)


def large_problem(noise_variance, generator):
    """Return a view of 10,000 rows sampled from the model, with 100 features."""
    density, X = random_mixture(2, 2, generator), normal((10_000, 2), generator)
    Phi = random_features(X, draw_points(density, 25, generator), density.alpha)
    Y = Phi @ normal((100, 20), generator) + noise_variance**0.5 * normal((10_000, 20), generator)
    return Y, Phi, torch.tensor(noise_variance, dtype=torch.float64)


def test_evidence_is_the_normal_log_density_of_all_columns_exact(generator):
    X, Y = normal((15, 2), generator), normal((15, 4), generator)
    K = ngsm_kernel(X, X, random_mixture(2, 2, generator))
    covariance = (K + 0.2 * torch.eye(15, dtype=torch.float64)).numpy()
    value = exact_log_evidence(Y, K, torch.tensor(0.2, dtype=torch.float64))
    assert value.item() == pytest.approx(view_log_density(Y.numpy(), covariance), rel=1e-10)


def test_float32_input_is_computed_in_float64(generator):
    X, Y = normal((15, 2), generator).float(), normal((15, 4), generator).float()
    K = X @ X.T  # of rank two: in float32 it would be indistinguishable from an indefinite matrix at this noise
    s = torch.tensor(1e-6)
    expected = exact_log_evidence(Y.double(), K.double(), s.double())
    assert torch.equal(exact_log_evidence(Y, K, s), expected)


def test_indefinite_kernel_matrix_raises_an_error(generator):
    K = torch.diag(torch.tensor([1.0, -2.0], dtype=torch.float64))
    with pytest.raises(NumericalError, match="not positive definite"):
        exact_log_evidence(normal((2, 1), generator), K, torch.tensor(0.1, dtype=torch.float64))
