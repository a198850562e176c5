import numpy as np
import pytest
import torch

from mvlvm import NGMVLVM, defaults
from mvlvm.errors import NumericalError
from mvlvm.evidence.collapsed import log_evidence
from mvlvm.evidence.collapsed_blocked import blocked_log_evidence, noise_threshold
from mvlvm.evidence.feature_space import BlockPlan, Target
from mvlvm.linalg.cpu_arithmetic import choose_arithmetic
from mvlvm.spectral.features import Frequencies
from tests import oracles
from tests.mixtures import normal

N, K, M, D = 60, 6, 4, 2
PLANS = [
    BlockPlan(n_rows, keep=keep, exact=exact)
    for n_rows in (60, 17, 1)
    for keep in (True, False)
    for exact in (True, False)
]


class Problem:
    """Latents, frequencies and noise, with gradients, and a view."""

    def __init__(self, generator, *, tied=False, weighted=False, dtype=torch.float64, noise=0.3, n=N):
        self.X = normal((n, D), generator).to(dtype).requires_grad_()
        self.carrier = normal((K, D), generator).to(dtype).requires_grad_()
        self.envelope = None if tied else normal((K, D), generator).to(dtype).requires_grad_()
        self.amplitude = (0.2 + 0.3 * normal((K,), generator).abs()).to(dtype).requires_grad_()
        self.noise = torch.tensor(noise, dtype=torch.float64, requires_grad=True)
        self.Y = normal((n, M), generator)
        self.scale = normal((n,), generator).abs().to(dtype) if weighted else None

    @property
    def frequencies(self):
        return Frequencies(self.carrier, self.envelope, self.amplitude)

    @property
    def inputs(self):
        return [t for t in (self.X, self.carrier, self.envelope, self.amplitude, self.noise) if t is not None]

    def features(self):
        envelope = self.amplitude if self.scale is None else self.amplitude * self.scale[:, None]
        if self.envelope is not None:
            envelope = envelope * torch.cos(self.X @ self.envelope.T)
        phase = self.X @ self.carrier.T
        return torch.cat([envelope * torch.cos(phase), envelope * torch.sin(phase)], dim=1)

    def target(self):
        return Target(self.Y, M, self.Y.square().sum().item(), 0.0, self.scale)


def ours(problem, plan, target=None):
    target = problem.target() if target is None else target
    return blocked_log_evidence(target, problem.X, problem.frequencies, problem.noise, plan)


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_evidence_is_the_normal_log_density_for_any_block_plan(plan, generator):
    problem = Problem(generator)
    Phi = problem.features().detach()
    covariance = (Phi @ Phi.T + problem.noise.detach() * torch.eye(N, dtype=torch.float64)).numpy()
    assert ours(problem, plan).item() == pytest.approx(
        oracles.view_log_density(problem.Y.numpy(), covariance), rel=1e-11
    )


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize(("tied", "weighted"), [(False, False), (True, False), (False, True)])
def test_gradients_match_those_through_the_features(plan, tied, weighted, generator):
    problem = Problem(generator, tied=tied, weighted=weighted)
    expected = torch.autograd.grad(log_evidence(problem.Y, problem.features(), problem.noise), problem.inputs)
    for gradient, right in zip(torch.autograd.grad(ours(problem, plan), problem.inputs), expected, strict=True):
        torch.testing.assert_close(gradient, right, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("keep", [True, False])
def test_views_that_share_a_workspace_do_not_interfere(keep, generator):
    problems, plan = [Problem(generator), Problem(generator, n=33)], BlockPlan(17, keep=keep, exact=False)
    alone = [torch.autograd.grad(ours(p, BlockPlan(17, keep=keep, exact=False)), p.inputs) for p in problems]
    values = [ours(problem, plan) for problem in problems]  # both forward passes before either backward pass
    for problem, value, expected in zip(problems, values, alone, strict=True):
        for gradient, right in zip(torch.autograd.grad(value, problem.inputs), expected, strict=True):
            assert torch.equal(gradient, right)


@pytest.mark.parametrize("exact", [True, False])
def test_gradients_match_finite_differences(exact, generator):
    problem = Problem(generator, n=20)
    plan = BlockPlan(9, exact=exact)

    def value(X, carrier, envelope, amplitude, noise):
        return blocked_log_evidence(problem.target(), X, Frequencies(carrier, envelope, amplitude), noise, plan)

    assert torch.autograd.gradcheck(value, problem.inputs, rtol=1e-5)


@pytest.mark.parametrize("noise", [1e-2, 1e-4, 1e-6, 1e-8])
def test_exact_evidence_is_accurate_at_small_noise_with_float32_features(noise, generator):
    problem = Problem(generator, dtype=torch.float32, noise=noise, n=400)
    with torch.no_grad():
        Phi = problem.features().double()
        problem.Y = Phi @ normal((2 * K, M), generator)
        value = ours(problem, BlockPlan(100, exact=True))
    expected = oracles.view_log_density_by_svd(problem.Y.numpy(), Phi.numpy(), noise)
    # both sets of features differ in their last bits, 6e-8, which a small noise variance magnifies
    residual = (6e-8) ** 2 * Phi.square().sum().item() * M / noise
    assert value.item() == pytest.approx(expected, rel=1e-6, abs=10 * residual)


@pytest.mark.parametrize("products", ["torch", "auto"])
@pytest.mark.parametrize("noise", [0.2, 0.05, 0.012, 0.005])
def test_error_of_float32_products_is_their_rounding_divided_by_the_noise(noise, products, generator):
    problem = Problem(generator, dtype=torch.float32, noise=noise, n=5000)
    with torch.no_grad():
        problem.Y = problem.features().double() @ normal((2 * K, M), generator) + noise**0.5 * normal(
            (5000, M), generator
        )
    plans = [BlockPlan(1000, exact=exact, arithmetic=choose_arithmetic(products)) for exact in (False, True)]
    fast, exact = (ours(problem, plan) for plan in plans)
    # C, L^-1 and H are rounded to 6e-8 of themselves, so |H|^2 < |Y|^2 to 6 times that, which is divided by 2 s
    assert fast.item() == pytest.approx(exact.item(), abs=3 * 6e-8 * problem.target().energy / noise)


@pytest.mark.parametrize("products", ["torch", "auto"])
@pytest.mark.parametrize("noise", [0.2, 0.05, 0.012, 0.005])
def test_error_of_float32_gradients_is_small(noise, products, generator):
    problem = Problem(generator, dtype=torch.float32, noise=noise, n=2000)
    with torch.no_grad():  # not from these features, so that the gradient is not near zero
        problem.Y = torch.sin(problem.X.double() @ normal((D, M), generator)) + 0.1 * normal((2000, M), generator)
    plans = [BlockPlan(1000, exact=exact, arithmetic=choose_arithmetic(products)) for exact in (False, True)]
    fast, exact = (torch.autograd.grad(ours(problem, plan), problem.inputs) for plan in plans)
    for gradient, right in zip(fast, exact, strict=True):
        assert (gradient - right).norm() <= 1e-4 / noise * right.norm()


def test_training_computes_in_float64_below_the_noise_threshold():
    assert noise_threshold(torch.device("cpu")) == 0.005
    assert noise_threshold(torch.device("cuda")) == 0.05


@pytest.mark.parametrize("exact", [True, False])
def test_truncated_columns_lower_the_evidence_with_matching_gradients(exact, generator):
    problem, plan = Problem(generator), BlockPlan(25, exact=exact)
    kept = problem.Y[:, :2]
    energy = problem.Y.square().sum().item()
    target = Target(kept, M, energy, energy - kept.square().sum().item())
    value = ours(problem, plan, target)
    assert value < ours(problem, plan)

    rest = problem.Y[:, 2:]
    Phi = problem.features()
    K_ = Phi @ Phi.T + problem.noise * torch.eye(N, dtype=torch.float64)
    as_noise = -0.5 * (2 * torch.logdet(2 * torch.pi * K_) + rest.square().sum() / problem.noise)
    expected = log_evidence(kept, Phi, problem.noise) + as_noise
    torch.testing.assert_close(value, expected, rtol=1e-11, atol=0.0)
    gradients = torch.autograd.grad(value, problem.inputs)
    for gradient, right in zip(gradients, torch.autograd.grad(expected, problem.inputs), strict=True):
        torch.testing.assert_close(gradient, right, rtol=1e-9, atol=1e-11)


def test_no_gradient_is_computed_without_grad_mode(generator):
    problem = Problem(generator)
    with torch.no_grad():
        assert not ours(problem, BlockPlan(60)).requires_grad


def test_second_derivative_raises_an_error(generator):
    problem = Problem(generator)
    with pytest.raises(RuntimeError, match="blocked_log_evidence can be differentiated once"):
        torch.autograd.grad(ours(problem, BlockPlan(60)), problem.X, create_graph=True)


def test_non_finite_latents_raise_an_error(generator):
    problem = Problem(generator)
    problem.X = torch.full_like(problem.X, float("nan"))
    with pytest.raises(NumericalError, match="NaN or infinite values"):
        ours(problem, BlockPlan(60))


def test_float32_fit_matches_the_bound_of_a_float64_fit_at_small_noise(monkeypatch):
    """At a noise variance of 1e-6 the Gram matrix of smooth features is indefinite in float32."""
    monkeypatch.setattr(defaults, "INITIAL_NOISE_VARIANCE", 1e-6)
    rng = np.random.default_rng(0)
    Y = np.sin(rng.normal(size=(200, 2)) @ rng.normal(size=(2, 5)))
    settings = {"max_iter": 1, "tol": 0.0, "learning_rate": 1e-12, "n_draws_predict": 1, "random_state": 0}
    single, double = (NGMVLVM(n_points=20, dtype=dtype, **settings).fit(Y) for dtype in ("auto", "float64"))
    # the relative error of the features is 6e-8, and so is that of the squares that are divided by the noise variance
    np.testing.assert_allclose(single.history_["objective"], double.history_["objective"], rtol=5e-6)
    assert single.elbo_ == pytest.approx(double.elbo_, rel=5e-6)
