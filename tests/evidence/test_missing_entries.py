import math
from itertools import pairwise

import pytest
import torch
from torch.distributions import MultivariateNormal

from mvlvm.evidence import log_evidence
from mvlvm.evidence.missing_entries import observed_evidence_bound
from tests.mixtures import normal, uniform

# Both sides of F = N, and the seam itself.
SIZES = [(12, 5), (8, 8), (6, 9)]


def draw_problem(N, F, M, share, generator, noise_variance=0.3):
    """A view drawn from its model, and the entries of it that are hidden."""
    Phi, s = normal((N, F), generator) / F**0.5, torch.tensor(noise_variance, dtype=torch.float64)
    Y = Phi @ normal((F, M), generator) + s.sqrt() * normal((N, M), generator)
    return Y, uniform(0.0, 1.0, (N, M), generator) < share, Phi, s


@pytest.fixture(params=SIZES, ids=lambda sizes: f"N={sizes[0]},F={sizes[1]}")
def problem(request, generator):
    return draw_problem(*request.param, 4, 0.3, generator)


def covariance(Phi, s):
    return Phi @ Phi.T + s * torch.eye(len(Phi), dtype=torch.float64)


def exact(Y, hidden, Phi, s):
    """The log density of the observed entries, column by column, and the conditional means of the others."""
    K, total, means = covariance(Phi, s), 0.0, torch.zeros_like(Y)
    for m in range(Y.shape[1]):
        seen = ~hidden[:, m]
        K_seen = K[seen][:, seen]
        total = total + MultivariateNormal(torch.zeros(len(K_seen)).double(), K_seen).log_prob(Y[seen, m])
        means[~seen, m] = K[~seen][:, seen] @ torch.linalg.solve(K_seen, Y[seen, m])
    return total, means


def settle(Y, hidden, Phi, s, steps=200):
    Z = Y.masked_fill(hidden, 0.0)
    values = []
    for _ in range(steps):
        value, Z = observed_evidence_bound(Z, hidden, Phi, s)
        values.append(value.item())
    return values, Z


def test_the_bound_is_below_the_evidence_of_the_observed_entries_for_any_guess(problem, generator):
    Y, hidden, Phi, s = problem
    evidence, _ = exact(*problem)
    for spread in (0.0, 1.0, 10.0):
        guessed = torch.where(hidden, spread * normal(Y.shape, generator), Y)
        assert observed_evidence_bound(guessed, hidden, Phi, s).value < evidence


def test_every_step_raises_the_bound_and_leads_to_the_conditional_means(problem):
    Y, hidden, _, _ = problem
    values, Z = settle(*problem)
    _, means = exact(*problem)
    assert all(after >= before - 1e-9 for before, after in pairwise(values))
    torch.testing.assert_close(Z[hidden], means[hidden], rtol=0.0, atol=1e-7)
    assert torch.equal(Z[~hidden], Y[~hidden])


@pytest.mark.parametrize(("share", "most"), [(0.05, 0.0005), (0.2, 0.004), (0.4, 0.025)])
def test_the_gap_is_small_where_rows_are_many(share, most, generator):
    # measured 0.0002, 0.003 and 0.02 nats per observed entry; a quarter is left for other draws
    problem = draw_problem(200, 40, 12, share, generator)
    evidence, _ = exact(*problem)
    gap = evidence.item() - settle(*problem)[0][-1]
    assert 0 < gap / (~problem[1]).sum().item() < most


def test_filling_with_zeros_is_far_from_the_evidence(generator):
    Y, hidden, Phi, s = draw_problem(200, 40, 12, 0.2, generator)
    evidence, _ = exact(Y, hidden, Phi, s)
    assert (log_evidence(Y.masked_fill(hidden, 0.0), Phi, s) - evidence).abs() > 100


def test_one_hidden_entry_in_a_column_costs_nothing(generator):
    """A factorised posterior of a single entry is no approximation."""
    Y, _, Phi, s = draw_problem(12, 5, 3, 0.0, generator)
    hidden = torch.zeros_like(Y, dtype=torch.bool)
    hidden[4, 0] = hidden[7, 2] = True
    evidence, _ = exact(Y, hidden, Phi, s)
    assert settle(Y, hidden, Phi, s, steps=2)[0][-1] == pytest.approx(evidence.item(), rel=1e-12)


def test_without_gaps_it_is_the_evidence(problem):
    Y, hidden, Phi, s = problem
    bound = observed_evidence_bound(Y, torch.zeros_like(hidden), Phi, s)
    torch.testing.assert_close(bound.value, log_evidence(Y, Phi, s), rtol=1e-12, atol=0.0)


def test_gradient_is_that_of_finite_differences(problem):
    """At settled guesses a step moves nothing, so the guesses are constants as the gradient takes them to be."""
    _, hidden, Phi, s = problem
    _, Z = settle(*problem)
    inputs = [Phi.clone().requires_grad_(), s.clone().requires_grad_()]
    assert torch.autograd.gradcheck(lambda Phi, s: observed_evidence_bound(Z, hidden, Phi, s).value, inputs)


def test_gradient_is_that_of_the_exact_bound_at_its_guesses(problem):
    """Autograd through the bound as the head of the file has it, with the guesses that a step arrives at."""
    Y, hidden, Phi, s = problem
    inputs = Phi.clone().requires_grad_(), s.clone().requires_grad_()
    value, Z = observed_evidence_bound(Y.masked_fill(hidden, 0.0), hidden, *inputs)
    P = torch.linalg.inv(covariance(*inputs))
    slow = (
        log_density(Z, P) + 0.5 * (hidden.sum(dim=1) * (2 * torch.pi / P.diagonal()).log()).sum()
    )  # fmt: skip
    torch.testing.assert_close(value, slow, rtol=1e-10, atol=0.0)
    fast, expected = (torch.autograd.grad(bound, inputs) for bound in (value, slow))
    torch.testing.assert_close(fast, expected, rtol=1e-8, atol=1e-8)


def test_small_noise_gives_no_negative_precision(generator):
    Y, hidden, Phi, s = draw_problem(60, 20, 3, 0.3, generator, noise_variance=1e-8)
    value, Z = observed_evidence_bound(Y.masked_fill(hidden, 0.0), hidden, Phi.float(), s)
    assert torch.isfinite(value)
    assert torch.isfinite(Z).all()


def test_second_differentiation_is_refused(problem):
    Y, hidden, Phi, s = problem
    Phi = Phi.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(observed_evidence_bound(Y, hidden, Phi, s).value, Phi, create_graph=False)
    assert gradient.shape == Phi.shape
    with pytest.raises(RuntimeError, match="observed_evidence_bound can be differentiated once"):
        torch.autograd.grad(observed_evidence_bound(Y, hidden, Phi, s).value, Phi, create_graph=True)


def log_density(Z, P):
    N, M = Z.shape
    return -0.5 * (-M * torch.logdet(P) + (Z * (P @ Z)).sum() + N * M * math.log(2 * math.pi))
