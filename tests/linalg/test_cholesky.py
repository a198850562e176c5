import pytest
import torch

from mvlvm.errors import NumericalError
from mvlvm.linalg.cholesky import cholesky, factor
from tests.mixtures import normal


def test_positive_definite_matrix_is_factored_without_jitter(generator):
    A = positive_definite(6, generator)
    assert torch.equal(cholesky(A), torch.linalg.cholesky(A))


def test_singular_matrix_is_factored_with_as_little_jitter_as_helps(generator):
    root = normal((8, 2), generator)
    A = root @ root.T
    assert torch.linalg.cholesky_ex(A).info > 0, "the matrix must need jitter for this test to mean anything"
    L = cholesky(A)
    assert (L @ L.T - A).abs().max() < 1e-10 * A.diagonal().mean()


def test_jitter_never_exceeds_its_limit():
    A = torch.diag(torch.tensor([1.0, 1.0, -1e-7], dtype=torch.float64))
    added = (cholesky(A) @ cholesky(A).T - A).diagonal()
    torch.testing.assert_close(added, torch.full((3,), 1e-6 * A.diagonal().mean()).double(), rtol=1e-6, atol=0.0)


@pytest.mark.parametrize("smallest", [-1.0, -1e-5])
def test_indefinite_matrix_fails_with_advice(smallest):
    A = torch.diag(torch.tensor([1.0, 1.0, smallest], dtype=torch.float64))
    with pytest.raises(NumericalError, match=r"3 x 3 covariance is not positive definite.*Lower learning_rate"):
        cholesky(A)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", [(1, 1), (2, 0)])
def test_matrix_that_is_not_finite_fails_with_advice(bad, place, generator):
    A = positive_definite(3, generator)
    A[place] = A[place[::-1]] = bad
    with pytest.raises(NumericalError, match=r"3 x 3 covariance holds NaN or infinite values.*Lower learning_rate"):
        cholesky(A)


def test_a_factor_knows_the_determinant_the_solution_and_the_inverse(generator):
    A, C = positive_definite(6, generator), normal((6, 3), generator)
    torch.testing.assert_close(factor(A).log_det, torch.linalg.slogdet(A).logabsdet, rtol=1e-12, atol=0.0)
    torch.testing.assert_close(factor(A).solve(C), torch.linalg.solve(A, C), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(factor(A).inverse(), torch.linalg.inv(A), rtol=1e-10, atol=1e-12)


def positive_definite(n, generator):
    root = normal((n, 2 * n), generator)
    return root @ root.T
