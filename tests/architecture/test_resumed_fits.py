"""A fit that is stopped after any step, stored and continued in a new process has the same results bit for bit."""

import pytest
import torch

from tests.architecture import golden
from tests.architecture.resumed_fits import differences_after_resuming


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("case", ["counts-and-labels", "pruned-dimensions", "init-auto"])
def test_a_continued_fit_has_the_same_bits(case, tmp_path):
    assert differences_after_resuming(case, "auto", tmp_path, n_stops=2) == []


@pytest.mark.slow
@pytest.mark.parametrize("dtype", golden.DTYPES)
@pytest.mark.parametrize("case", golden.CASES)
def test_every_golden_case_can_be_continued_after_any_step(case, dtype, tmp_path):
    assert differences_after_resuming(case, dtype, tmp_path, n_stops=20, seed=1) == []
