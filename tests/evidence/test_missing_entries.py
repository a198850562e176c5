import math
from itertools import pairwise

import pytest
import torch
from torch.distributions import MultivariateNormal

from mvlvm.evidence import log_evidence
from mvlvm.evidence.missing_entries import observed_evidence_bound
from tests.mixtures import normal, uniform

# F < N, F = N and F > N.
SIZES = [(12, 5), (8, 8), (6, 9)]


def draw_problem(N, F, M, fraction, generator, noise_variance=0.3):
    """Return a view sampled from the model, the mask of its missing entries, features and noise variance."""
    Phi, s = normal((N, F), generator) / F**0.5, torch.tensor(noise_variance, dtype=torch.float64)
    Y = Phi @ normal((F, M), generator) + s.sqrt() * normal((N, M), generator)
    return Y, uniform(0.0, 1.0, (N, M), generator) < fraction, Phi, s


@pytest.fixture(params=SIZES, ids=lambda sizes: f"N={sizes[0]},F={sizes[1]}")
def problem(request, generator):
    return draw_problem(*request.param, 4, 0.3, generator)


def covariance(Phi, s):
    return Phi @ Phi.T + s * torch.eye(len(Phi), dtype=torch.float64)


def exact(Y, missing, Phi, s):
    """Return the log density of the observed entries, column by column, and the conditional means of the others."""
    K, total, means = covariance(Phi, s), 0.0, torch.zeros_like(Y)
    for m in range(Y.shape[1]):
        observed = ~missing[:, m]
        K_oo, y = K[observed][:, observed], Y[observed, m]
        total = total + MultivariateNormal(torch.zeros(len(K_oo)).double(), K_oo).log_prob(y)
        means[~observed, m] = K[~observed][:, observed] @ torch.linalg.solve(K_oo, y)
    return total, means


def iterate(Y, missing, Phi, s, steps=200):
    Z = Y.masked_fill(missing, 0.0)
    values = []
    for _ in range(steps):
        value, Z = observed_evidence_bound(Z, missing, Phi, s)
        values.append(value.item())
    return values, Z


def test_bound_is_below_the_evidence_of_the_observed_entries_for_any_imputation(problem, generator):
    Y, missing, Phi, s = problem
    evidence, _ = exact(*problem)
    for spread in (0.0, 1.0, 10.0):
        imputed = torch.where(missing, spread * normal(Y.shape, generator), Y)
        assert observed_evidence_bound(imputed, missing, Phi, s).value < evidence


def test_updates_increase_the_bound_and_converge_to_the_conditional_means(problem):
    Y, missing, _, _ = problem
    values, Z = iterate(*problem)
    _, means = exact(*problem)
    assert all(after >= before - 1e-9 for before, after in pairwise(values))
    torch.testing.assert_close(Z[missing], means[missing], rtol=0.0, atol=1e-7)
    assert torch.equal(Z[~missing], Y[~missing])


@pytest.mark.parametrize(("fraction", "limit"), [(0.05, 0.0005), (0.2, 0.004), (0.4, 0.025)])
def test_bound_is_tight_for_many_rows(fraction, limit, generator):
    # measured 0.0002, 0.003 and 0.02 nats per observed entry; the limits allow a quarter more for other draws
    problem = draw_problem(200, 40, 12, fraction, generator)
    evidence, _ = exact(*problem)
    difference = evidence.item() - iterate(*problem)[0][-1]
    assert 0 < difference / (~problem[1]).sum().item() < limit


def test_zero_imputation_is_far_from_the_evidence(generator):
    Y, missing, Phi, s = draw_problem(200, 40, 12, 0.2, generator)
    evidence, _ = exact(Y, missing, Phi, s)
    assert (log_evidence(Y.masked_fill(missing, 0.0), Phi, s) - evidence).abs() > 100


def test_bound_is_exact_for_one_missing_entry_per_column(generator):
    """The factorised posterior of a single entry is exact."""
    Y, _, Phi, s = draw_problem(12, 5, 3, 0.0, generator)
    missing = torch.zeros_like(Y, dtype=torch.bool)
    missing[4, 0] = missing[7, 2] = True
    evidence, _ = exact(Y, missing, Phi, s)
    assert iterate(Y, missing, Phi, s, steps=2)[0][-1] == pytest.approx(evidence.item(), rel=1e-12)


def test_bound_of_complete_data_is_the_evidence(problem):
    Y, missing, Phi, s = problem
    bound = observed_evidence_bound(Y, torch.zeros_like(missing), Phi, s)
    torch.testing.assert_close(bound.value, log_evidence(Y, Phi, s), rtol=1e-12, atol=0.0)


def test_gradient_matches_finite_differences(problem):
    """After convergence an update changes nothing, so the imputed entries are constants, as the gradient assumes."""
    _, missing, Phi, s = problem
    _, Z = iterate(*problem)
    inputs = [Phi.clone().requires_grad_(), s.clone().requires_grad_()]
    assert torch.autograd.gradcheck(lambda Phi, s: observed_evidence_bound(Z, missing, Phi, s).value, inputs)


def test_gradient_matches_autograd_through_the_dense_bound(problem):
    """Autograd through the formula in the module docstring, at the imputed entries after an update."""
    Y, missing, Phi, s = problem
    inputs = Phi.clone().requires_grad_(), s.clone().requires_grad_()
    value, Z = observed_evidence_bound(Y.masked_fill(missing, 0.0), missing, *inputs)
    P = torch.linalg.inv(covariance(*inputs))
    slow = (
        log_density(Z, P) + 0.5 * (missing.sum(dim=1) * (2 * torch.pi / P.diagonal()).log()).sum()
    )  # fmt: skip
    torch.testing.assert_close(value, slow, rtol=1e-10, atol=0.0)
    fast, expected = (torch.autograd.grad(bound, inputs) for bound in (value, slow))
    torch.testing.assert_close(fast, expected, rtol=1e-8, atol=1e-8)


def test_bound_is_finite_at_small_noise(generator):
    Y, missing, Phi, s = draw_problem(60, 20, 3, 0.3, generator, noise_variance=1e-8)
    value, Z = observed_evidence_bound(Y.masked_fill(missing, 0.0), missing, Phi.float(), s)
    assert torch.isfinite(value)
    assert torch.isfinite(Z).all()


def test_second_derivative_raises_an_error(problem):
    Y, missing, Phi, s = problem
    Phi = Phi.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(observed_evidence_bound(Y, missing, Phi, s).value, Phi, create_graph=False)
    assert gradient.shape == Phi.shape
    with pytest.raises(RuntimeError, match="observed_evidence_bound can be differentiated once"):
        torch.autograd.grad(observed_evidence_bound(Y, missing, Phi, s).value, Phi, create_graph=True)


def log_density(Z, P):
    N, M = Z.shape
    return -0.5 * (-M * torch.logdet(P) + (Z * (P @ Z)).sum() + N * M * math.log(2 * math.pi))
