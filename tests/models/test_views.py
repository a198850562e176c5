from dataclasses import replace

import pytest
import torch

from mvlvm import defaults
from mvlvm.errors import NumericalError
from mvlvm.evidence.weight_space import natural_gradient_step, weight_space_evidence
from mvlvm.inference.view_function import ViewFunction
from mvlvm.likelihoods import Bernoulli, Categorical, NegativeBinomial, Poisson, StudentT
from mvlvm.models.data import ViewData
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.spectral_mixture import SpectralMixture, TiedSpectralMixture
from mvlvm.models.variational_view import VariationalView
from tests.mixtures import normal
from tests.models.evidence import evaluate, infer_weights, initial_state, log_evidence
from tests.models.fixed_features import fixed_view
from tests.oracles import view_log_density

N, D, M, P = 25, 2, 3, 4
LIKELIHOODS = {
    "student-t": lambda: StudentT(0.5, 4.0),
    "bernoulli": Bernoulli,
    "poisson": Poisson,
    "negative-binomial": lambda: NegativeBinomial(torch.tensor([0.8, 5.0, 2.0])),
    "categorical": Categorical,
}
CERTAIN = 1e-12  # standard deviation of latents that are known


@pytest.fixture(params=sorted(LIKELIHOODS))
def problem(request, generator):
    """Return a view, latents, and entries drawn from the likelihood of a smooth function of the latents."""
    return draw_problem(request.param, generator)


def draw_problem(name, generator, mixture=SpectralMixture):
    view = VariationalView(
        "genes", mixture(2, D, generator), LIKELIHOODS[name](), n_points=P, generator=generator
    ).double()
    X = normal((N, D), generator)
    with torch.no_grad():
        Y = view.likelihood.sample(torch.sin(X @ normal((D, M), generator)) + 0.5, generator)
    return view, X, Y


def converged(view, data, X, steps=400):
    """Return the bound, the weights and the features after many natural-gradient steps at fixed latents."""
    bound, state = evaluate(view, data, X, torch.Generator())
    weights = state.weights
    with torch.no_grad():
        Phi = view.draw_features(torch.Generator())(data.select(X)).double()
        for _ in range(steps):
            bound, gradients = weight_space_evidence(data.entries, Phi, weights, view.likelihood)
            weights = natural_gradient_step(weights, Phi, gradients, rate=0.3)
    return bound, weights, Phi


def test_evidence_is_the_normal_log_density_given_features_and_noise(generator):
    view, X, Y = fixed_view(generator), normal((20, 2), generator), normal((20, 3), generator)
    Phi, s = view.draw_features(generator)(X), view.likelihood.noise_variance.item()
    covariance = (Phi @ Phi.T + s * torch.eye(20, dtype=torch.float64)).numpy()
    expected = view_log_density(Y.numpy(), covariance)
    assert log_evidence(view, Y, X, generator).item() == pytest.approx(expected, rel=1e-10)


def test_initial_noise_variance_is_that_of_the_argument(generator):
    assert fixed_view(generator, noise_variance=0.02).likelihood.noise_variance.item() == pytest.approx(0.02, rel=1e-6)


def test_evidence_has_a_gradient_with_respect_to_the_noise_variance(generator):
    view, X, Y = fixed_view(generator), normal((20, 2), generator), normal((20, 3), generator)
    log_evidence(view, Y, X, generator).backward()
    assert view.likelihood.raw_noise_variance.grad.abs() > 0


def test_numerical_failure_names_the_view(generator):
    view = fixed_view(generator, name="methylation")
    X = torch.full((20, 2), float("nan"), dtype=torch.float64)
    with pytest.raises(NumericalError, match=r"View 'methylation': .*NaN or infinite"):
        log_evidence(view, normal((20, 3), generator), X, generator)


def test_missing_rows_do_not_enter_the_evidence(generator):
    view, X, Y = fixed_view(generator), normal((20, 2), generator), normal((20, 3), generator)
    incomplete = Y.clone()
    incomplete[[3, 7, 19]] = float("nan")
    rows = [row for row in range(20) if row not in (3, 7, 19)]
    expected = log_evidence(view, Y[rows], X[rows], generator)
    assert log_evidence(view, incomplete, X, generator).item() == pytest.approx(expected.item(), rel=1e-12)


def test_imputed_entries_converge_to_their_conditional_means(generator):
    view, X, Y = fixed_view(generator), normal((20, 2), generator), normal((20, 3), generator)
    Y[2, 1] = Y[5, 1] = Y[5, 2] = float("nan")
    _, state = evaluate(view, ViewData.from_array(Y), X, generator, n_steps=30)
    Phi = view.draw_features(generator)(X)
    K = (Phi @ Phi.T + view.likelihood.noise_variance * torch.eye(20, dtype=torch.float64)).detach()
    for column, missing in {1: [2, 5], 2: [5]}.items():
        rows = [row for row in range(20) if row not in missing]
        expected = K[missing][:, rows] @ torch.linalg.solve(K[rows][:, rows], Y[rows, column])
        torch.testing.assert_close(state.imputed[missing, column], expected, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("mixture", [SpectralMixture, TiedSpectralMixture])
def test_features_are_the_same_at_every_call_and_follow_the_mixture(mixture, generator):
    view, X, _ = draw_problem("poisson", generator, mixture)
    first = view.draw_features(generator)(X)
    assert torch.equal(view.draw_features(torch.Generator().manual_seed(9))(X), first)
    with torch.no_grad():
        next(view.mixture.parameters()).add_(0.3)
    assert not torch.equal(view.draw_features(generator)(X), first)


def test_base_draws_are_part_of_the_saved_state(generator):
    view, X, _ = draw_problem("poisson", generator)
    other, *_ = draw_problem("poisson", torch.Generator().manual_seed(5))
    assert not torch.equal(other.draw_features(generator)(X), view.draw_features(generator)(X))
    other.load_state_dict(view.state_dict())
    assert torch.equal(other.draw_features(generator)(X), view.draw_features(generator)(X))


def test_last_feature_is_constant(generator):
    view, X, _ = draw_problem("poisson", generator)
    Phi = view.draw_features(generator)(X)
    assert Phi.shape[1] == 2 * P * 2 + 1
    assert (Phi[:, -1] == defaults.CONSTANT_FEATURE).all()


def test_every_evaluation_improves_the_weights_in_the_returned_state(problem, generator):
    view, X, Y = problem
    data = ViewData.from_array(Y)
    state = initial_state(view, data)
    assert state.weights is None
    first, after = view.log_evidence(data, state, X, generator)
    assert state.weights is None  # the state that was passed is unchanged
    assert view.log_evidence(data, state, X, generator)[0].item() == first.item()
    second, later = view.log_evidence(data, after, X, generator)
    assert second > first
    assert not torch.equal(later.weights.mean, after.weights.mean)


def test_weights_are_initialised_at_the_level_of_the_columns(generator):
    view, X, _ = draw_problem("poisson", generator)
    Y = torch.poisson(torch.tensor([0.5, 20.0, 3000.0]).double().expand(N, 3), generator=generator)
    _, state = evaluate(view, ViewData.from_array(Y), X, generator)
    with torch.no_grad():
        values = view.draw_features(generator)(X) @ state.weights.mean
        level = Y.mean(dim=0)
        # within the sampling error of the level
        assert ((values.exp().mean(dim=0) - level).abs() < 2 * (level / N).sqrt() + 0.1 * level).all()


def test_weights_after_training_are_near_the_optimum(problem, generator):
    view, X, Y = problem
    data = ViewData.from_array(Y)
    bound, weights, Phi = converged(view, data, X)
    with torch.no_grad():
        first, _ = evaluate(view, data, X, generator)
        posterior = infer_weights(view, GaussianLatent(X, CERTAIN), Y, generator)
    inferred = weights._replace(mean=posterior.mean, basis=posterior.basis, spread=posterior.spread)
    with torch.no_grad():
        value, _ = weight_space_evidence(data.entries, Phi, inferred, view.likelihood)
    # the remaining difference is a hundredth of the initial one, or of a nat
    assert bound - value < 0.01 * max(1.0, float(bound - first))


def test_weights_after_training_average_over_uncertain_latents(generator):
    """Averaging over uncertain latents flattens the function."""
    view, X, Y = draw_problem("bernoulli", generator)
    norms = []
    for std in (CERTAIN, 1.0):
        with torch.no_grad():
            posterior = infer_weights(view, GaussianLatent(X, std), Y, generator)
            norms.append(posterior.squared_jacobian_norms(X).sum().item())
    assert norms[1] < 0.5 * norms[0]


def test_missing_entries_and_rows_do_not_influence_the_bound(problem, generator):
    view, X, Y = problem
    missing = torch.zeros(N, M, dtype=torch.bool)
    missing[[3, 7]] = True
    if not isinstance(view.likelihood, Categorical):
        missing[5, 1] = missing[6, 0] = missing[9, 2] = True
    data = ViewData.from_array(Y.masked_fill(missing, torch.nan))
    if data.missing is not None:
        data = replace(data, Y=data.Y.masked_fill(data.missing, 1e3))  # the values of missing entries must not matter
    rows = [n for n in range(N) if n not in (3, 7)]
    without = ViewData.from_array(Y.masked_fill(missing, torch.nan)[rows])
    other_X = X.clone()
    other_X[[3, 7]] += 5.0
    bounds = [
        evaluate(view, observed, latents, generator, n_steps=3)[0].item()
        for latents, observed in ((X, data), (other_X, data), (X[rows], without))
    ]
    assert bounds[0] == bounds[1] == bounds[2]
    assert log_evidence(view, Y, X, generator).item() != bounds[0]


def test_weights_of_a_column_without_entries_keep_their_prior(generator):
    view, X, Y = draw_problem("poisson", generator)
    Y[:, 1] = torch.nan
    with torch.no_grad():
        posterior = infer_weights(view, GaussianLatent(X, CERTAIN), Y, generator)
    torch.testing.assert_close(posterior.spread[:, 1], torch.ones_like(posterior.spread[:, 1]), rtol=1e-3, atol=0.0)


def test_every_parameter_and_the_latents_have_a_gradient(problem, generator):
    view, X, Y = problem
    X.requires_grad_()
    log_evidence(view, Y, X, generator).backward()
    for name, parameter in [*view.named_parameters(), ("X", X)]:
        assert parameter.grad.abs().max() > 0, name


def test_gradients_are_those_of_the_bound_at_the_weights_after_the_step(problem, generator):
    view, X, Y = problem
    step = 1e-5
    X.requires_grad_()
    value, state = evaluate(view, ViewData.from_array(Y), X, generator)
    value.backward()

    @torch.no_grad()
    def bound_at(latents):
        Phi = view.draw_features(generator)(latents)
        return weight_space_evidence(Y, Phi, state.weights, view.likelihood)[0].item()

    assert bound_at(X) == pytest.approx(value.item(), rel=1e-12)
    for index in ((0, 0), (4, 1)):
        offset = torch.zeros_like(X)
        offset[index] = step
        ahead, behind = (bound_at(X + sign * offset) for sign in (1, -1))
        assert X.grad[index].item() == pytest.approx((ahead - behind) / (2 * step), rel=1e-4, abs=1e-4)


def test_float32_features_are_accurate_enough(generator):
    view, X, Y = draw_problem("negative-binomial", generator)
    exact = log_evidence(view, Y, X, generator).item()
    bound = log_evidence(view.float(), Y, X.float(), generator)
    assert bound.dtype == torch.float64
    assert bound.item() == pytest.approx(exact, rel=1e-4)


def test_numerical_failure_in_weight_space_names_the_view(generator):
    view, X, Y = draw_problem("poisson", generator)
    with pytest.raises(NumericalError, match=r"View 'genes': .*NaN or infinite.*Lower learning_rate"):
        log_evidence(view, Y, X * torch.nan, generator)


def test_fitted_function_recovers_the_function_that_generated_the_data(generator):
    view, *_ = draw_problem("poisson", generator)
    X = normal((300, D), generator)
    f = torch.sin(X @ normal((D, M), generator)) + 1.0
    Y = torch.poisson(f.exp(), generator=generator)
    with torch.no_grad():
        posterior = infer_weights(view, GaussianLatent(X, CERTAIN), Y, generator)
        function = ViewFunction((posterior,), view.likelihood)
        entries = function.entries(X, torch.zeros_like(X))
    assert (entries - f.exp()).square().mean() < 0.2 * (f.exp() - f.exp().mean(dim=0)).square().mean()


def test_sample_weights_are_equivalent_to_copies_of_rows(generator):
    view, X, Y = draw_problem("bernoulli", generator)
    sample_weight = torch.randint(1, 4, (N,), generator=generator)
    repeated = [values.repeat_interleave(sample_weight, dim=0) for values in (X, Y)]
    weighted, copied = (
        evaluate(view, data, latents, generator, n_steps=60)[0].item()
        for latents, data in (
            (X, ViewData.from_array(Y, sample_weight.double())),
            (repeated[0], ViewData.from_array(repeated[1])),
        )
    )
    assert weighted == pytest.approx(copied, rel=1e-8)
    assert log_evidence(view, Y, X, generator).item() > weighted + 1


def test_features_of_the_remaining_dimensions_do_not_change(generator):
    view, X, _ = draw_problem("bernoulli", generator)
    before = view.draw_features(generator)(X * torch.tensor([1.0, 0.0]))
    view.keep_dimensions(torch.tensor([True, False]))
    torch.testing.assert_close(view.draw_features(generator)(X[:, :1]), before, rtol=1e-12, atol=1e-12)
