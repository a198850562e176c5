import numpy as np
import pytest
import torch

from mvlvm.errors import NumericalError
from mvlvm.linalg.cholesky import (
    DenseCovariance,
    WoodburyCovariance,
    add_to_diagonal,
    cholesky,
    factor,
    factor_covariance,
    factor_dense,
    factor_woodbury,
    invert_lower_triangular,
)
from tests.mixtures import normal
from tests.oracles import printed_woodbury_inverse


def test_positive_definite_matrix_is_factored_without_jitter(generator):
    A = positive_definite(6, generator)
    assert torch.equal(cholesky(A), torch.linalg.cholesky(A))


def test_singular_matrix_is_factored_with_the_smallest_sufficient_jitter(generator):
    root = normal((8, 2), generator)
    A = root @ root.T
    assert torch.linalg.cholesky_ex(A).info > 0, "this test requires a matrix that needs jitter"
    L = cholesky(A)
    assert (L @ L.T - A).abs().max() < 1e-10 * A.diagonal().mean()


def test_jitter_does_not_exceed_its_limit():
    A = torch.diag(torch.tensor([1.0, 1.0, -1e-7], dtype=torch.float64))
    added = (cholesky(A) @ cholesky(A).T - A).diagonal()
    torch.testing.assert_close(added, torch.full((3,), 1e-6 * A.diagonal().mean()).double(), rtol=1e-6, atol=0.0)


@pytest.mark.parametrize("smallest", [-1.0, -1e-5])
def test_indefinite_matrix_raises_an_error_with_advice(smallest):
    A = torch.diag(torch.tensor([1.0, 1.0, smallest], dtype=torch.float64))
    with pytest.raises(NumericalError, match=r"3 x 3 covariance is not positive definite.*Lower learning_rate"):
        cholesky(A)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("index", [(1, 1), (2, 0)])
def test_non_finite_matrix_raises_an_error_with_advice(bad, index, generator):
    A = positive_definite(3, generator)
    A[index] = A[index[::-1]] = bad
    with pytest.raises(NumericalError, match=r"3 x 3 covariance contains NaN or infinite values.*Lower learning_rate"):
        cholesky(A)


def test_factor_computes_log_determinant_solution_and_inverse(generator):
    A, C = positive_definite(6, generator), normal((6, 3), generator)
    torch.testing.assert_close(factor(A).log_det, torch.linalg.slogdet(A).logabsdet, rtol=1e-12, atol=0.0)
    torch.testing.assert_close(factor(A).solve(C), torch.linalg.solve(A, C), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(factor(A).inverse(), torch.linalg.inv(A), rtol=1e-10, atol=1e-12)


def positive_definite(n, generator):
    root = normal((n, 2 * n), generator)
    return root @ root.T


@pytest.mark.parametrize(("F", "n_blocks"), [(1, None), (7, None), (12, 1), (12, 2), (12, 4), (64, 8)])
def test_product_of_a_triangular_matrix_and_its_inverse_is_the_identity(F, n_blocks, generator):
    L = normal((F, F), generator).tril() + 3 * torch.eye(F, dtype=torch.float64)
    inverse = invert_lower_triangular(L, n_blocks)
    torch.testing.assert_close(inverse @ L, torch.eye(F, dtype=torch.float64), rtol=0.0, atol=1e-9)
    assert torch.equal(inverse, inverse.tril())


def test_add_to_diagonal_does_not_modify_its_argument(generator):
    A, s = normal((4, 4), generator), torch.tensor(0.3, dtype=torch.float64)
    before = A.clone()
    assert torch.equal(add_to_diagonal(A, s), before + 0.3 * torch.eye(4, dtype=torch.float64))
    assert torch.equal(A, before)


def test_add_to_diagonal_is_differentiable_with_respect_to_the_added_number(generator):
    A, s = normal((4, 4), generator), torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: add_to_diagonal(A, s), (s,))


def test_woodbury_identities_hold(generator):
    """The identities of K = Phi Phi' + s I in the docstring of `linalg/cholesky.py`."""
    K, Phi, s = low_rank(generator)
    woodbury = factor_woodbury(Phi, s)
    (N, F), K_inverse, A_inverse = Phi.shape, torch.linalg.inv(K), torch.linalg.inv(Phi.T @ Phi + s * eye(4))
    torch.testing.assert_close(woodbury.A.log_det + (N - F) * s.log(), torch.logdet(K), rtol=1e-12, atol=0.0)
    torch.testing.assert_close((eye(N) - Phi @ A_inverse @ Phi.T) / s, K_inverse, rtol=0.0, atol=1e-12)
    torch.testing.assert_close(Phi @ A_inverse, K_inverse @ Phi, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("factor_by", [factor_woodbury, factor_dense])
def test_both_factorisations_match_the_dense_inverse(factor_by, generator):
    K, Phi, s = low_rank(generator)
    covariance, Y, K_inverse = factor_by(Phi, s), normal((12, 3), generator), torch.linalg.inv(K)
    torch.testing.assert_close(covariance.log_det, torch.logdet(K), rtol=1e-12, atol=0.0)
    torch.testing.assert_close(covariance.inverse_trace, K_inverse.trace(), rtol=1e-12, atol=0.0)
    torch.testing.assert_close(covariance.inverse_features(), K_inverse @ Phi, rtol=0.0, atol=1e-12)
    solution = covariance.solve(Y)
    torch.testing.assert_close(solution.R, K_inverse @ Y, rtol=0.0, atol=1e-12)
    torch.testing.assert_close(solution.Phi_R, Phi.T @ K_inverse @ Y, rtol=0.0, atol=1e-12)
    torch.testing.assert_close(solution.quadratic, (Y * (K_inverse @ Y)).sum(dim=0), rtol=1e-12, atol=0.0)


def test_the_smaller_matrix_is_factored(generator):
    s = torch.tensor(0.5, dtype=torch.float64)
    assert isinstance(factor_covariance(normal((5, 4), generator), s), WoodburyCovariance)
    assert isinstance(factor_covariance(normal((5, 5), generator), s), DenseCovariance)


def test_printed_woodbury_inverse_is_wrong(generator):
    K, Phi, s = low_rank(generator)
    printed = printed_woodbury_inverse(Phi.numpy(), s.item())
    assert np.abs(printed - np.linalg.inv(K.numpy())).max() > 0.01


def eye(size):
    return torch.eye(size, dtype=torch.float64)


def low_rank(generator):
    Phi, s = normal((12, 4), generator), torch.tensor(0.5, dtype=torch.float64)
    return Phi @ Phi.T + s * torch.eye(12, dtype=torch.float64), Phi, s
