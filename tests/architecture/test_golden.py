"""Results of fits equal the recorded ones bit for bit (`golden.py`)."""

import json

import numpy as np
import pytest

import mvlvm
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


def test_a_model_saved_by_an_earlier_version_predicts_the_same():
    with np.load(golden.SAVED_PREDICTIONS) as expected:
        predicted = golden.predictions(mvlvm.load(golden.SAVED_MODEL), golden.CASES["counts-and-labels"]()[1])
        assert set(predicted) == set(expected)
        for name, values in predicted.items():
            if golden.environment() == RECORDED["environment"]:
                np.testing.assert_array_equal(values, expected[name], err_msg=name)
            np.testing.assert_allclose(values, expected[name], rtol=1e-6, atol=1e-9, err_msg=name)
