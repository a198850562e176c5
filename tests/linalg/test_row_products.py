import pytest
import torch

from mvlvm.linalg import row_products
from mvlvm.linalg.row_products import row_product


@pytest.mark.parametrize("n_rows", [3, 40, 80, 97], ids="{} rows in blocks of 40".format)
@pytest.mark.parametrize("by_column", [False, True], ids=["row by row", "column by column"])
def test_rows_are_summed_over_whatever_the_blocks(n_rows, by_column, generator, monkeypatch):
    monkeypatch.setattr(row_products, "_ROWS", 40)
    A, B = (torch.randn((n_rows, width), generator=generator, dtype=torch.float64) for width in (5, 3))
    A = A.T.contiguous().T if by_column else A
    torch.testing.assert_close(row_product(A, B), torch.einsum("nf,nr->fr", A, B))


def test_sums_over_many_float32_rows_keep_six_digits(generator):
    A = 1 + torch.rand((1_000_000, 2), generator=generator)
    torch.testing.assert_close(row_product(A, A), A.double().T @ A.double(), rtol=1e-6, atol=0.0)
