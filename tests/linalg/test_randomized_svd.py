import numpy as np
import pytest
import torch

from mvlvm import row_blocks
from mvlvm.linalg import randomized_svd
from mvlvm.linalg.randomized_svd import ConcatenatedMatrix, right_singular_vectors
from tests.mixtures import normal


def matrices(N, widths, generator):
    """Return matrices with well-separated leading singular values."""
    root = normal((N, 4), generator) * torch.tensor([8.0, 4.0, 2.0, 1.0])
    return [root @ normal((4, M), generator) + 0.05 * normal((N, M), generator) for M in widths]


def assert_left_singular_vectors(parts, factors):
    Z = np.hstack([c * Y.numpy() for Y, c in zip(parts, factors, strict=True)])
    U, values, _ = np.linalg.svd(Z, full_matrices=False)
    left, found = ConcatenatedMatrix(parts, factors).left_singular_vectors(3)
    np.testing.assert_allclose(found, values[:3], rtol=1e-8)
    np.testing.assert_allclose(np.abs(left.numpy().T @ U[:, :3]), np.eye(3), rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("N", [60, 9], ids=["more rows", "more columns"])
@pytest.mark.parametrize("numbers", [2_000_000, 100], ids=["one block", "many blocks"])
def test_left_singular_vectors_of_small_matrices_match_a_dense_svd(N, numbers, generator, monkeypatch):
    monkeypatch.setattr(row_blocks, "NUMBERS_PER_BLOCK", numbers)
    assert_left_singular_vectors(matrices(N, (5, 8), generator), [0.5, 3.0])


@pytest.mark.parametrize("N", [60, 20], ids=["more rows", "more columns"])
def test_left_singular_vectors_of_large_matrices_match_a_dense_svd(N, generator, monkeypatch):
    monkeypatch.setattr(randomized_svd, "_MAX_GRAM_SIZE", 10)
    assert_left_singular_vectors(matrices(N, (15, 18), generator), [1.0, 0.2])


def test_singular_values_beyond_the_rank_are_zero(generator, monkeypatch):
    monkeypatch.setattr(randomized_svd, "_MAX_GRAM_SIZE", 10)
    parts = [normal((40, 2), generator) @ normal((2, M), generator) for M in (15, 18)]
    _, values = ConcatenatedMatrix(parts, [1.0, 1.0]).left_singular_vectors(6)
    assert (values[4:] < 1e-10 * values[0]).all()
    assert (values[:4] > 1e-3 * values[0]).all()


@pytest.mark.parametrize("rows_per_block", [8192, 7], ids=["one block", "many blocks"])
def test_right_singular_vectors_match_a_dense_svd(rows_per_block, generator, monkeypatch):
    monkeypatch.setattr(randomized_svd, "_ROWS_PER_BLOCK", rows_per_block)
    (Y,) = matrices(60, (20,), generator)
    right, squared = right_singular_vectors(Y, 12, torch.float64)
    _, values, Vh = np.linalg.svd(Y.numpy(), full_matrices=False)
    np.testing.assert_allclose(right.T @ right, np.eye(12), rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(squared.flip(0)[:4], values[:4] ** 2, rtol=1e-5)
    np.testing.assert_allclose(np.abs(Vh[:4] @ right.flip(1)[:, :4].numpy()), np.eye(4), rtol=0.0, atol=1e-3)
