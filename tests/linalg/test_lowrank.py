import numpy as np
import pytest
import torch

from mvlvm.linalg.lowrank import (
    FeaturesSide,
    SamplesSide,
    add_to_diagonal,
    factor_covariance,
    factor_features_side,
    factor_samples_side,
)
from tests.mixtures import normal
from tests.oracles import printed_woodbury_inverse


def test_adding_to_the_diagonal_leaves_the_argument_alone(generator):
    A, s = normal((4, 4), generator), torch.tensor(0.3, dtype=torch.float64)
    before = A.clone()
    assert torch.equal(add_to_diagonal(A, s), before + 0.3 * torch.eye(4, dtype=torch.float64))
    assert torch.equal(A, before)


def test_adding_to_the_diagonal_is_differentiable_by_what_is_added(generator):
    A, s = normal((4, 4), generator), torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: add_to_diagonal(A, s), (s,))


def test_identities_of_the_low_rank_covariance_hold(generator):
    """What the head of lowrank.py says of K = Phi Phi' + s I."""
    K, Phi, s = low_rank(generator)
    side = factor_features_side(Phi, s)
    (N, F), K_inverse, A_inverse = Phi.shape, torch.linalg.inv(K), torch.linalg.inv(Phi.T @ Phi + s * eye(4))
    torch.testing.assert_close(side.A.log_det + (N - F) * s.log(), torch.logdet(K), rtol=1e-12, atol=0.0)
    torch.testing.assert_close((eye(N) - Phi @ A_inverse @ Phi.T) / s, K_inverse, rtol=0.0, atol=1e-12)
    torch.testing.assert_close(Phi @ A_inverse, K_inverse @ Phi, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("factor_side", [factor_features_side, factor_samples_side])
def test_either_side_solves_with_the_covariance(factor_side, generator):
    K, Phi, s = low_rank(generator)
    side, Y, K_inverse = factor_side(Phi, s), normal((12, 3), generator), torch.linalg.inv(K)
    torch.testing.assert_close(side.log_det, torch.logdet(K), rtol=1e-12, atol=0.0)
    torch.testing.assert_close(side.inverse_trace, K_inverse.trace(), rtol=1e-12, atol=0.0)
    torch.testing.assert_close(side.inverse_features(), K_inverse @ Phi, rtol=0.0, atol=1e-12)
    solved = side.solve(Y)
    torch.testing.assert_close(solved.R, K_inverse @ Y, rtol=0.0, atol=1e-12)
    torch.testing.assert_close(solved.Phi_R, Phi.T @ K_inverse @ Y, rtol=0.0, atol=1e-12)
    torch.testing.assert_close(solved.squares, (Y * (K_inverse @ Y)).sum(dim=0), rtol=1e-12, atol=0.0)


def test_the_smaller_side_is_taken(generator):
    s = torch.tensor(0.5, dtype=torch.float64)
    assert isinstance(factor_covariance(normal((5, 4), generator), s), FeaturesSide)
    assert isinstance(factor_covariance(normal((5, 5), generator), s), SamplesSide)


def test_printed_woodbury_inverse_is_wrong(generator):
    K, Phi, s = low_rank(generator)
    printed = printed_woodbury_inverse(Phi.numpy(), s.item())
    assert np.abs(printed - np.linalg.inv(K.numpy())).max() > 0.01


def eye(size):
    return torch.eye(size, dtype=torch.float64)


def low_rank(generator):
    Phi, s = normal((12, 4), generator), torch.tensor(0.5, dtype=torch.float64)
    return Phi @ Phi.T + s * torch.eye(12, dtype=torch.float64), Phi, s
