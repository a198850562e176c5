import pytest
import torch

from mvlvm.errors import NumericalError
from mvlvm.models.observed import ObservedView
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
