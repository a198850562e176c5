import pytest
import torch

from mvlvm.errors import NumericalError
from tests.mixtures import normal
from tests.models.fixed_features import fixed_view
from tests.oracles import view_log_density


def test_evidence_is_the_normal_log_density_under_the_views_features_and_noise(generator):
    view, X, Y = fixed_view(generator), normal((20, 2), generator), normal((20, 3), generator)
    Phi, s = view.draw_features(generator)(X), view.noise_variance.item()
    covariance = (Phi @ Phi.T + s * torch.eye(20, dtype=torch.float64)).numpy()
    expected = view_log_density(Y.numpy(), covariance)
    assert view.log_evidence(Y, X, generator).item() == pytest.approx(expected, rel=1e-10)


def test_noise_starts_where_it_was_told_to(generator):
    assert fixed_view(generator, noise_variance=0.02).noise_variance.item() == pytest.approx(0.02, rel=1e-6)


def test_noise_is_learned_from_the_evidence(generator):
    view, X, Y = fixed_view(generator), normal((20, 2), generator), normal((20, 3), generator)
    view.log_evidence(Y, X, generator).backward()
    assert view.raw_noise_variance.grad.abs() > 0


def test_numerical_failure_names_the_view(generator):
    view = fixed_view(generator, name="methylation")
    X = torch.full((20, 2), float("nan"), dtype=torch.float64)
    with pytest.raises(NumericalError, match=r"View 'methylation': .*NaN or infinite"):
        view.log_evidence(normal((20, 3), generator), X, generator)
