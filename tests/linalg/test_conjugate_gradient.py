import torch

from mvlvm.linalg.conjugate_gradient import batched_conjugate_gradient
from tests.mixtures import normal


def test_each_column_is_solved_with_its_own_matrix(generator):
    roots = normal((4, 30, 6), generator)
    matrices = roots.transpose(1, 2) @ roots + 0.1 * torch.eye(6, dtype=torch.float64)
    C = normal((6, 4), generator)
    expected = torch.linalg.solve(matrices, C.T.unsqueeze(-1)).squeeze(-1).T

    def apply(B):
        return torch.einsum("mfg,gm->fm", matrices, B)

    solution = batched_conjugate_gradient(apply, C, preconditioner=torch.linalg.inv(matrices.mean(dim=0)))
    torch.testing.assert_close(solution, expected, rtol=1e-8, atol=1e-10)


def test_zero_right_hand_side_has_zero_solution(generator):
    C = normal((5, 2), generator)
    C[:, 0] = 0
    solution = batched_conjugate_gradient(lambda B: 2 * B, C, preconditioner=torch.eye(5, dtype=torch.float64))
    torch.testing.assert_close(solution, C / 2, rtol=1e-12, atol=0.0)


def test_exact_preconditioner_needs_no_iteration(generator):
    calls = []

    def apply(B):
        calls.append(1)
        return 2 * B

    batched_conjugate_gradient(apply, normal((5, 2), generator), preconditioner=torch.eye(5, dtype=torch.float64) / 2)
    assert len(calls) == 1
