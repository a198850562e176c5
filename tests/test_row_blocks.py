import numpy as np
import pytest

from mvlvm.row_blocks import NUMBERS_PER_BLOCK, row_blocks, row_sum


@pytest.mark.parametrize("n_rows", [1, 15, 16, 17, 1000, 70_000])
@pytest.mark.parametrize("width", [1, 794, 10**7])
def test_blocks_cover_all_rows_once_in_order(n_rows, width):
    blocks = row_blocks(n_rows, width)
    assert [row for block in blocks for row in range(block.start, block.stop)] == list(range(n_rows))


def test_blocks_have_a_limited_size_and_begin_at_multiples_of_sixteen():
    blocks = row_blocks(70_000, 794)
    assert max(block.stop - block.start for block in blocks) * 794 <= NUMBERS_PER_BLOCK + 16 * 794
    assert all(block.start % 16 == 0 for block in blocks)
    assert len(blocks) < 2 * 70_000 * 794 / NUMBERS_PER_BLOCK


def test_zero_rows_have_no_blocks():
    assert row_blocks(0, 5) == []


def test_row_sum_adds_the_terms_of_all_blocks_in_order():
    Y, seen = np.arange(20.0).reshape(10, 2), []

    def term(rows):
        seen.append(rows)
        return Y[rows].sum(axis=0), len(Y[rows])

    blocks = [slice(0, 4), slice(4, 8), slice(8, 10)]
    total, count = row_sum(blocks, term)
    np.testing.assert_array_equal(total, Y.sum(axis=0))
    assert count == 10
    assert seen == blocks


def test_row_sum_over_no_rows_has_the_shape_of_the_terms():
    Y = np.zeros((0, 3))
    (total,) = row_sum(row_blocks(*Y.shape), lambda rows: (Y[rows].sum(axis=0),))
    np.testing.assert_array_equal(total, np.zeros(3))
