import pytest
import torch

from mvlvm.models.observed import ObservedView
from mvlvm.models.observed_rows import EntriesByRow, block_of_entries
from tests.mixtures import normal

ROWS = torch.tensor([7, 0, 3, 3, 11])


@pytest.mark.parametrize("gaps", ["none", "rows", "entries", "both"])
def test_rows_are_those_of_the_view_with_its_gaps(gaps, generator):
    Y = normal((12, 4), generator)
    if gaps in ("rows", "both"):
        Y[[0, 5]] = torch.nan
    if gaps in ("entries", "both"):
        Y[3, 1] = Y[7, 2] = torch.nan
    seen = ObservedView(Y)
    entries = EntriesByRow(seen, 12)
    torch.testing.assert_close(entries.of(ROWS), Y[ROWS], rtol=0.0, atol=0.0, equal_nan=True)
    assert torch.equal(entries.has, ~torch.isnan(Y).all(dim=1))
    observed = Y[entries.has]
    torch.testing.assert_close(block_of_entries(seen, slice(2, 9)), observed[2:9], rtol=0.0, atol=0.0, equal_nan=True)
    torch.testing.assert_close(seen.with_gaps(12), Y, rtol=0.0, atol=0.0, equal_nan=True)  # nothing was written to
