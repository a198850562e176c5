import pytest

from mvlvm import row_blocks
from mvlvm.row_blocks import NUMBERS_PER_BLOCK


@pytest.mark.parametrize("n_rows", [1, 15, 16, 17, 1000, 70_000])
@pytest.mark.parametrize("width", [1, 794, 10**7])
def test_blocks_cover_all_rows_once_in_order(n_rows, width):
    blocks = row_blocks.row_blocks(n_rows, width)
    assert [row for block in blocks for row in range(block.start, block.stop)] == list(range(n_rows))


def test_blocks_have_a_limited_size_and_begin_at_multiples_of_sixteen():
    blocks = row_blocks.row_blocks(70_000, 794)
    assert max(block.stop - block.start for block in blocks) * 794 <= NUMBERS_PER_BLOCK + 16 * 794
    assert all(block.start % 16 == 0 for block in blocks)
    assert len(blocks) < 2 * 70_000 * 794 / NUMBERS_PER_BLOCK


def test_zero_rows_have_no_blocks():
    assert row_blocks.row_blocks(0, 5) == []
