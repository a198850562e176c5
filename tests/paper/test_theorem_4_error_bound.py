import functools
import math

import pytest
import torch

from mvlvm.kernels import ngsm_kernel
from mvlvm.spectral import gram_error_at_points, gram_error_probability, points_for_gram_error, random_features
from tests import oracles
from tests.mixtures import draw_points, normal, random_mixture

N_POINTS = 200
N_SIMULATIONS = 500
LEVELS = (0.5, 0.1, 0.01)


@pytest.fixture(params=[(2, 1), (4, 2), (8, 2)], ids=lambda sizes: f"N={sizes[0]},D={sizes[1]}")
def problem(request, generator):
    N, D = request.param
    return make_problem(N, D, generator)


def make_problem(N, D, generator):
    density, X = random_mixture(2, D, generator), normal((N, D), generator)
    return density, X, ngsm_kernel(X, X, density)


def test_bound_holds_in_simulation(problem, generator):
    density, _, K = problem
    bound = functools.partial(gram_error_probability, K=K, alpha=density.alpha, n_points=N_POINTS)
    assert_bound_holds(bound, simulate_errors(problem, N_POINTS, generator))


def test_simulation_detects_an_exponent_that_is_fifty_times_too_large(generator):
    problem = make_problem(2, 1, generator)
    density, _, K = problem

    def too_sharp(error):
        return len(K) * (oracles.printed_error_bound(error, K.numpy(), density.alpha.numpy(), N_POINTS) / len(K)) ** 50

    with pytest.raises(AssertionError, match="exceeds"):
        assert_bound_holds(too_sharp, simulate_errors(problem, N_POINTS, generator))


@pytest.mark.parametrize("level", [0.5, 0.1])
def test_number_of_points_meets_the_requested_error_in_simulation(problem, generator, level):
    density, _, K = problem
    error = 0.5 * torch.linalg.matrix_norm(K, ord=2).item()
    n_points = points_for_gram_error(error, K, density.alpha, level)
    frequency = (simulate_errors(problem, n_points, generator) >= error).double().mean().item()
    assert frequency <= level + sampling_margin(level)


@pytest.mark.parametrize("level", LEVELS)
def test_number_of_points_is_the_smallest(problem, level):
    density, _, K = problem
    n_points = points_for_gram_error(0.3, K, density.alpha, level)
    assert gram_error_probability(0.3, K, density.alpha, n_points) <= level
    assert gram_error_probability(0.3, K, density.alpha, n_points - 1) > level


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n_points", [3, 200, 20_000])
def test_error_at_points_has_the_requested_probability(problem, n_points, level):
    density, _, K = problem
    error = gram_error_at_points(n_points, K, density.alpha, level)
    printed = oracles.printed_error_bound(error, K.numpy(), density.alpha.numpy(), n_points)
    assert printed == pytest.approx(level, rel=1e-9)


@pytest.mark.parametrize("error", [1.0, 2.0, 4.0])
def test_bound_is_the_printed_one_limited_to_one(problem, error):
    density, _, K = problem
    printed = oracles.printed_error_bound(error, K.numpy(), density.alpha.numpy(), 300)
    assert gram_error_probability(error, K, density.alpha, 300) == pytest.approx(min(1, printed), rel=1e-12)


def test_bound_decreases_with_the_error_and_with_the_number_of_points(problem):
    density, _, K = problem
    by_error = [gram_error_probability(error, K, density.alpha, 1000) for error in (1.0, 1.5, 2.0, 3.0)]
    by_points = [gram_error_probability(2.0, K, density.alpha, P) for P in (500, 1000, 2000, 4000)]
    assert 1 > by_error[0] > by_error[1] > by_error[2] > by_error[3]
    assert 1 > by_points[0] > by_points[1] > by_points[2] > by_points[3]


def assert_bound_holds(bound, errors):
    """Assert that the errors at which the bound is 0.5, 0.1 and 0.01 are not exceeded more often than that."""
    for level in LEVELS:
        frequency = (errors >= error_at(bound, level)).double().mean().item()
        assert frequency <= level + sampling_margin(level), f"{frequency} exceeds {level}"


def sampling_margin(level):
    return 4 * math.sqrt(level * (1 - level) / N_SIMULATIONS)


def error_at(bound, level):
    low, high = 0.0, 1e3
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if bound(middle) > level else (low, middle)
    return high


def simulate_errors(problem, n_points, generator):
    density, X, K = problem
    errors = []
    for _ in range(N_SIMULATIONS):
        Phi = random_features(X, draw_points(density, n_points, generator), density.alpha)
        errors.append(torch.linalg.matrix_norm(Phi @ Phi.T - K, ord=2))
    return torch.stack(errors)
