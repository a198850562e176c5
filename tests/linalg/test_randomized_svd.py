import numpy as np
import pytest
import torch

from mvlvm import row_blocks
from mvlvm.linalg import randomized_svd as leading
from mvlvm.linalg.randomized_svd import ConcatenatedMatrix
from tests.mixtures import normal


def matrices(N, widths, generator):
    """Matrices whose first directions are well apart."""
    root = normal((N, 4), generator) * torch.tensor([8.0, 4.0, 2.0, 1.0])
    return [root @ normal((4, M), generator) + 0.05 * normal((N, M), generator) for M in widths]


def check(parts, factors):
    Z = np.hstack([c * Y.numpy() for Y, c in zip(parts, factors, strict=True)])
    U, values, _ = np.linalg.svd(Z, full_matrices=False)
    left, found = ConcatenatedMatrix(parts, factors).left_singular_vectors(3)
    np.testing.assert_allclose(found, values[:3], rtol=1e-8)
    np.testing.assert_allclose(np.abs(left.numpy().T @ U[:, :3]), np.eye(3), rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("N", [60, 9], ids=["more rows", "more columns"])
@pytest.mark.parametrize("numbers", [2_000_000, 100], ids=["one block", "many blocks"])
def test_leading_directions_are_those_of_the_matrix_that_is_never_made(N, numbers, generator, monkeypatch):
    monkeypatch.setattr(row_blocks, "NUMBERS_PER_BLOCK", numbers)
    check(matrices(N, (5, 8), generator), [0.5, 3.0])


@pytest.mark.parametrize("N", [60, 20], ids=["more rows", "more columns"])
def test_large_matrices_are_multiplied_until_their_directions_show(N, generator, monkeypatch):
    monkeypatch.setattr(leading, "_LARGEST_GRAM", 10)
    check(matrices(N, (15, 18), generator), [1.0, 0.2])


def test_directions_that_are_not_there_have_no_singular_value(generator, monkeypatch):
    monkeypatch.setattr(leading, "_LARGEST_GRAM", 10)
    parts = [normal((40, 2), generator) @ normal((2, M), generator) for M in (15, 18)]
    _, values = ConcatenatedMatrix(parts, [1.0, 1.0]).left_singular_vectors(6)
    assert (values[4:] < 1e-10 * values[0]).all()
    assert (values[:4] > 1e-3 * values[0]).all()
