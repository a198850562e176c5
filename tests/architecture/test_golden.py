"""Results of fits equal the recorded ones bit for bit (`golden.py`)."""

import json

import pytest

from tests.architecture import golden

RECORDED = json.loads(golden.RECORDED.read_text())


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize("dtype", golden.DTYPES)
@pytest.mark.parametrize("case", golden.CASES)
def test_results_equal_the_recorded_ones_bit_for_bit(case, dtype):
    if golden.environment() != RECORDED["environment"]:
        pytest.skip("the hashes were recorded with other numerical libraries or on another processor")
    assert golden.hashes(case, dtype) == RECORDED["hashes"][f"{case} {dtype}"]


def test_every_case_is_recorded():
    assert set(RECORDED["hashes"]) == {f"{case} {dtype}" for case in golden.CASES for dtype in golden.DTYPES}
