""" """

from functools import partial

import pytest
import torch

from mvlvm import defaults
from mvlvm.errors import NumericalError
from mvlvm.evidence.weight_space import natural_gradient_step, weight_space_evidence
from mvlvm.likelihoods import Bernoulli, Categorical, NegativeBinomial, Poisson, StudentT
from mvlvm.models.data import ObservedView
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.spectral_mixture import SpectralMixture, TiedSpectralMixture
from mvlvm.models.views import WeightView
from mvlvm.models.weight_posterior import ViewFunction
from tests.mixtures import normal
from tests.models.fixed_features import fixed_view
from tests.oracles import view_log_density


def test_evidence_is_the_normal_log_density_under_the_views_features_and_noise(generator):
    view, X, Y = fixed_view(generator), normal((20, 2), generator), normal((20, 3), generator)
    Phi, s = view.draw_features(generator)(X), view.noise_variance.item()
    covariance = (Phi @ Phi.T + s * torch.eye(20, dtype=torch.float64)).numpy()
    expected = view_log_density(Y.numpy(), covariance)
    assert view.log_evidence(ObservedView(Y), X, generator).item() == pytest.approx(expected, rel=1e-10)


def test_noise_starts_where_it_was_told_to(generator):
    assert fixed_view(generator, noise_variance=0.02).noise_variance.item() == pytest.approx(0.02, rel=1e-6)


def test_noise_is_learned_from_the_evidence(generator):
    view, X, Y = fixed_view(generator), normal((20, 2), generator), normal((20, 3), generator)
    view.log_evidence(ObservedView(Y), X, generator).backward()
    assert view.likelihood.raw_noise_variance.grad.abs() > 0


def test_numerical_failure_names_the_view(generator):
    view = fixed_view(generator, name="methylation")
    X = torch.full((20, 2), float("nan"), dtype=torch.float64)
    with pytest.raises(NumericalError, match=r"View 'methylation': .*NaN or infinite"):
        view.log_evidence(ObservedView(normal((20, 3), generator)), X, generator)


def test_rows_without_a_view_do_not_enter_its_evidence(generator):
    view, X, Y = fixed_view(generator), normal((20, 2), generator), normal((20, 3), generator)
    with_gaps = Y.clone()
    with_gaps[[3, 7, 19]] = float("nan")
    rows = [row for row in range(20) if row not in (3, 7, 19)]
    expected = view.log_evidence(ObservedView(Y[rows]), X[rows], generator)
    assert view.log_evidence(ObservedView(with_gaps), X, generator).item() == pytest.approx(expected.item(), rel=1e-12)


def test_guesses_for_hidden_entries_move_towards_their_conditional_means(generator):
    view, X, Y = fixed_view(generator), normal((20, 2), generator), normal((20, 3), generator)
    Y[2, 1] = Y[5, 1] = Y[5, 2] = float("nan")
    seen = ObservedView(Y)
    for _ in range(30):
        view.log_evidence(seen, X, generator)
    Phi = view.draw_features(generator)(X)
    K = (Phi @ Phi.T + view.noise_variance * torch.eye(20, dtype=torch.float64)).detach()
    for column, gaps in {1: [2, 5], 2: [5]}.items():
        rows = [row for row in range(20) if row not in gaps]
        expected = K[gaps][:, rows] @ torch.linalg.solve(K[rows][:, rows], Y[rows, column])
        torch.testing.assert_close(seen.Y[gaps, column], expected, rtol=0.0, atol=1e-8)


N, D, M, P = 25, 2, 3, 4
DRAWN = {
    "student-t": lambda: StudentT(0.5, 4.0),
    "bernoulli": Bernoulli,
    "poisson": Poisson,
    "negative-binomial": lambda: NegativeBinomial(torch.tensor([0.8, 5.0, 2.0])),
    "categorical": Categorical,
}
CERTAIN = 1e-12


@pytest.fixture(params=sorted(DRAWN))
def problem(request, generator):
    """A view, latents, and entries that were drawn around a smooth function of them."""
    return draw(request.param, generator)


def draw(name, generator, mixture=SpectralMixture):
    view = WeightView("genes", mixture(2, D, generator), DRAWN[name](), n_points=P, generator=generator).double()
    X = normal((N, D), generator)
    with torch.no_grad():
        Y = view.likelihood.sample(torch.sin(X @ normal((D, M), generator)) + 0.5, generator)
    return view, X, Y


@pytest.mark.parametrize("mixture", [SpectralMixture, TiedSpectralMixture])
def test_features_are_the_same_at_every_call_and_follow_the_mixture(mixture, generator):
    view, X, _ = draw("poisson", generator, mixture)
    first = view.draw_features(generator)(X)
    assert torch.equal(view.draw_features(torch.Generator().manual_seed(9))(X), first)
    with torch.no_grad():
        next(view.mixture.parameters()).add_(0.3)
    assert not torch.equal(view.draw_features(generator)(X), first)


def test_base_draws_are_part_of_what_is_saved(generator):
    view, X, _ = draw("poisson", generator)
    other, *_ = draw("poisson", torch.Generator().manual_seed(5))
    assert not torch.equal(other.draw_features(generator)(X), view.draw_features(generator)(X))
    other.load_state_dict(view.state_dict())
    assert torch.equal(other.draw_features(generator)(X), view.draw_features(generator)(X))


def test_last_feature_is_constant(generator):
    view, X, _ = draw("poisson", generator)
    Phi = view.draw_features(generator)(X)
    assert Phi.shape[1] == 2 * P * 2 + 1
    assert (Phi[:, -1] == defaults.CONSTANT_FEATURE).all()


def test_weights_move_where_gradients_are_taken_and_nowhere_else(problem, generator):
    view, X, Y = problem
    seen = ObservedView(Y)
    assert view.weights is None
    with torch.no_grad():
        first = view.log_evidence(seen, X, generator)
        assert view.log_evidence(seen, X, generator) == first
    assert view.weights is None
    assert view.log_evidence(seen, X, generator).item() == first.item()
    weights = view.weights
    with torch.no_grad():
        second = view.log_evidence(seen, X, generator)
    assert second > first
    assert view.weights is weights
    assert view.log_evidence(seen, X, generator).item() == second.item()
    assert not torch.equal(view.weights.mean, weights.mean)


def test_a_view_starts_from_the_level_of_its_columns(generator):
    view, X, _ = draw("poisson", generator)
    Y = torch.poisson(torch.tensor([0.5, 20.0, 3000.0]).double().expand(N, 3), generator=generator)
    view.log_evidence(ObservedView(Y), X, generator)
    with torch.no_grad():
        start = view.draw_features(generator)(X) @ view.weights.mean
        level = Y.mean(dim=0)
        # no farther from it than the level itself is known
        assert ((start.exp().mean(dim=0) - level).abs() < 2 * (level / N).sqrt() + 0.1 * level).all()


def long_run(view, seen, X, steps=400):
    """Where natural steps at known latents end."""
    bound = view.log_evidence(seen, X, torch.Generator())
    weights, view.weights = view.weights, None
    with torch.no_grad():
        Phi = view.draw_features(torch.Generator())(seen.of(X)).double()
        expected = partial(view.likelihood.expected_log_density, seen.entries)
        for _ in range(steps):
            bound, slopes = weight_space_evidence(Phi, weights, expected, view.likelihood)
            weights = natural_gradient_step(weights, Phi, slopes, rate=0.3)
    return bound, weights, Phi


def test_weights_settle_at_the_optimum(problem, generator):
    view, X, Y = problem
    seen = ObservedView(Y)
    bound, weights, Phi = long_run(view, seen, X)
    with torch.no_grad():
        first = view.log_evidence(seen, X, generator)
        posterior = view.infer_weights(GaussianLatent(X, CERTAIN), seen, n_latent_draws=1, generator=generator)
    settled = weights._replace(mean=posterior.mean, basis=posterior.basis, spread=posterior.spread)
    expected = partial(view.likelihood.expected_log_density, seen.entries)
    with torch.no_grad():
        reached, _ = weight_space_evidence(Phi, settled, expected, view.likelihood)
    # what is left to climb is a hundredth of what there was, or of a nat
    assert bound - reached < 0.01 * max(1.0, float(bound - first))


def test_weights_after_training_average_over_uncertain_latents(generator):
    """Latents that are known badly make a function that is flatter."""
    view, X, Y = draw("bernoulli", generator)
    slopes = []
    for std in (CERTAIN, 1.0):
        with torch.no_grad():
            latent, seen = GaussianLatent(X, std), ObservedView(Y)
            posterior = view.infer_weights(latent, seen, n_latent_draws=1, generator=generator)
            slopes.append(posterior.squared_jacobian_norms(X).sum().item())
    assert slopes[1] < 0.5 * slopes[0]


def test_hidden_values_and_rows_without_the_view_change_nothing(problem, generator):
    view, X, Y = problem
    gaps = torch.zeros(N, M, dtype=torch.bool)
    gaps[[3, 7]] = True
    if not isinstance(view.likelihood, Categorical):
        gaps[5, 1] = gaps[6, 0] = gaps[9, 2] = True
    seen = ObservedView(Y.masked_fill(gaps, torch.nan))
    seen.guess(torch.where(seen.entries.isnan(), 1e3, seen.Y))  # what stands in a gap must not matter
    rows = [n for n in range(N) if n not in (3, 7)]
    without = ObservedView(Y.masked_fill(gaps, torch.nan)[rows])
    other_X = X.clone()
    other_X[[3, 7]] += 5.0
    bounds = []
    for latents, what in ((X, seen), (other_X, seen), (X[rows], without)):
        view.weights = None
        for _ in range(3):
            bound = view.log_evidence(what, latents, generator)
        bounds.append(bound.item())
    assert bounds[0] == bounds[1] == bounds[2]
    view.weights = None
    assert view.log_evidence(ObservedView(Y), X, generator).item() != bounds[0]


def test_hidden_entries_add_no_density(generator):
    view, X, Y = draw("poisson", generator)
    Y[:, 1] = torch.nan
    posterior = None
    with torch.no_grad():
        posterior = view.infer_weights(
            GaussianLatent(X, CERTAIN), ObservedView(Y), n_latent_draws=1, generator=generator
        )
    # of a column that nobody has seen the weights keep to their prior
    torch.testing.assert_close(posterior.spread[:, 1], torch.ones_like(posterior.spread[:, 1]), rtol=1e-3, atol=0.0)


def test_everything_that_can_be_learned_has_a_gradient(problem, generator):
    view, X, Y = problem
    X.requires_grad_()
    view.log_evidence(ObservedView(Y), X, generator).backward()
    for name, parameter in [*view.named_parameters(), ("X", X)]:
        assert parameter.grad.abs().max() > 0, name


def test_gradients_are_those_of_the_bound_at_the_weights_after_the_step(problem, generator):
    view, X, Y = problem
    step, expected = 1e-5, partial(view.likelihood.expected_log_density, Y)
    X.requires_grad_()
    value = view.log_evidence(ObservedView(Y), X, generator)
    value.backward()

    @torch.no_grad()
    def at_these_weights(latents):
        Phi = view.draw_features(generator)(latents)
        return weight_space_evidence(Phi, view.weights, expected, view.likelihood)[0].item()

    assert at_these_weights(X) == pytest.approx(value.item(), rel=1e-12)
    for place in ((0, 0), (4, 1)):
        one = torch.zeros_like(X)
        one[place] = step
        ahead, behind = (at_these_weights(X + sign * one) for sign in (1, -1))
        assert X.grad[place].item() == pytest.approx((ahead - behind) / (2 * step), rel=1e-4, abs=1e-4)


def test_features_in_float32_will_do(generator):
    view, X, Y = draw("negative-binomial", generator)
    exact = view.log_evidence(ObservedView(Y), X, generator).item()
    view.weights = None
    rough = view.float()
    bound = rough.log_evidence(ObservedView(Y), X.float(), generator)
    assert bound.dtype == torch.float64
    assert bound.item() == pytest.approx(exact, rel=1e-4)


def test_numerical_failure_names_the_view_weight_view(generator):
    view, X, Y = draw("poisson", generator)
    with pytest.raises(NumericalError, match=r"View 'genes': .*NaN or infinite.*Lower learning_rate"):
        view.log_evidence(ObservedView(Y), X * torch.nan, generator)


def test_fitted_function_finds_the_smooth_one_that_made_the_data(generator):
    view, *_ = draw("poisson", generator)
    X = normal((300, D), generator)
    f = torch.sin(X @ normal((D, M), generator)) + 1.0
    Y = torch.poisson(f.exp(), generator=generator)
    with torch.no_grad():
        posterior = view.infer_weights(
            GaussianLatent(X, CERTAIN), ObservedView(Y), n_latent_draws=1, generator=generator
        )
        function = ViewFunction((posterior,), view.likelihood)
        entries = function.entries(X, torch.zeros_like(X))
    assert (entries - f.exp()).square().mean() < 0.2 * (f.exp() - f.exp().mean(dim=0)).square().mean()


def test_rows_of_weight_two_are_like_two_rows(generator):
    view, X, Y = draw("bernoulli", generator)
    weight = torch.randint(1, 4, (N,), generator=generator)
    repeated = [values.repeat_interleave(weight, dim=0) for values in (X, Y)]
    bounds = []
    for latents, seen in ((X, ObservedView(Y, weight.double())), (repeated[0], ObservedView(repeated[1]))):
        view.weights = None
        for _ in range(60):
            bound = view.log_evidence(seen, latents, generator)
        bounds.append(bound.item())
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-8)
    view.weights = None
    assert view.log_evidence(ObservedView(Y), X, generator).item() > bounds[0] + 1


def test_weights_are_forgotten_with_a_dimension(generator):
    view, X, Y = draw("bernoulli", generator)
    view.log_evidence(ObservedView(Y), X, generator)
    before = view.draw_features(generator)(X * torch.tensor([1.0, 0.0]))
    view.keep_dimensions(torch.tensor([True, False]))
    assert view.weights is None
    torch.testing.assert_close(view.draw_features(generator)(X[:, :1]), before, rtol=1e-12, atol=1e-12)
