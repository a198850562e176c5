import torch

from mvlvm.linalg.conjugate_gradient import batched_conjugate_gradient
from tests.mixtures import normal


def test_every_column_is_solved_with_its_own_matrix(generator):
    roots = normal((4, 30, 6), generator)
    matrices = roots.transpose(1, 2) @ roots + 0.1 * torch.eye(6, dtype=torch.float64)
    C = normal((6, 4), generator)
    expected = torch.linalg.solve(matrices, C.T.unsqueeze(-1)).squeeze(-1).T

    def apply(B):
        return torch.einsum("mfg,gm->fm", matrices, B)

    found = batched_conjugate_gradient(apply, C, preconditioner=torch.linalg.inv(matrices.mean(dim=0)))
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-10)


def test_a_column_of_zeros_stays_zero_beside_others(generator):
    C = normal((5, 2), generator)
    C[:, 0] = 0
    found = batched_conjugate_gradient(lambda B: 2 * B, C, preconditioner=torch.eye(5, dtype=torch.float64))
    torch.testing.assert_close(found, C / 2, rtol=1e-12, atol=0.0)


def test_a_perfect_guess_needs_no_step(generator):
    calls = []

    def apply(B):
        calls.append(1)
        return 2 * B

    batched_conjugate_gradient(apply, normal((5, 2), generator), preconditioner=torch.eye(5, dtype=torch.float64) / 2)
    assert len(calls) == 1
