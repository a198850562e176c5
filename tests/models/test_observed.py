import pytest
import torch

from mvlvm.models.observed import ObservedView
from tests.mixtures import normal

NO_ROWS, NO_ENTRIES = [], ([], [])


@pytest.mark.parametrize("rows", [NO_ROWS, [0, 3, 5]], ids=["all rows", "rows missing"])
@pytest.mark.parametrize("entries", [NO_ENTRIES, ([1, 2, 4], [0, 2, 1])], ids=["no gaps", "gaps"])
def test_closed_gaps_can_be_opened_again(rows, entries, generator):
    Y = normal((6, 3), generator)
    Y[rows] = torch.nan
    Y[entries] = torch.nan
    view = ObservedView(Y.clone())
    torch.testing.assert_close(view.with_gaps(6), Y, rtol=0.0, atol=0.0, equal_nan=True)


def test_better_guesses_do_not_close_the_gaps(generator):
    Y = normal((6, 3), generator)
    Y[2, 1], Y[4] = torch.nan, torch.nan
    view = ObservedView(Y.clone())
    view.guess(view.Y + view.hidden * 7.0)
    torch.testing.assert_close(view.with_gaps(6), Y, rtol=0.0, atol=0.0, equal_nan=True)
