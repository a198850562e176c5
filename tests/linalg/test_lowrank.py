import numpy as np
import torch

from mvlvm.linalg.lowrank import add_to_diagonal, factor_features_side, factor_samples_side
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
    A = factor_features_side(Phi, s)
    log_det_A, A_inverse = A.log_det, A.inverse()
    torch.testing.assert_close(factor_samples_side(Phi, s).log_det, torch.logdet(K), rtol=1e-12, atol=0.0)
    (N, F), K_inverse = Phi.shape, torch.linalg.inv(K)
    eye = torch.eye(N, dtype=torch.float64)
    torch.testing.assert_close(log_det_A + (N - F) * s.log(), torch.logdet(K), rtol=1e-12, atol=0.0)
    torch.testing.assert_close((eye - Phi @ A_inverse @ Phi.T) / s, K_inverse, rtol=0.0, atol=1e-12)
    torch.testing.assert_close(Phi @ A_inverse, K_inverse @ Phi, rtol=0.0, atol=1e-12)


def test_printed_woodbury_inverse_is_wrong(generator):
    K, Phi, s = low_rank(generator)
    printed = printed_woodbury_inverse(Phi.numpy(), s.item())
    assert np.abs(printed - np.linalg.inv(K.numpy())).max() > 0.01


def low_rank(generator):
    Phi, s = normal((12, 4), generator), torch.tensor(0.5, dtype=torch.float64)
    return Phi @ Phi.T + s * torch.eye(12, dtype=torch.float64), Phi, s
