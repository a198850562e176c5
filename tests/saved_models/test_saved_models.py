"""Models saved by every earlier version load and predict the same."""

import numpy as np
import pytest

import mvlvm
from mvlvm.io.model_files import FORMAT_VERSION
from tests.saved_models.record import MODELS, paths

OLDEST = 4


@pytest.mark.parametrize("version", range(OLDEST, FORMAT_VERSION + 1))
@pytest.mark.parametrize("name", MODELS)
def test_models_of_every_format_predict_the_same(name, version):
    model, predictions = paths(name, version)
    with np.load(predictions) as expected:
        predicted = MODELS[name][1](mvlvm.load(model))
        assert set(predicted) == set(expected)
        for part, values in predicted.items():
            # sums differ by rounding from one type of processor to the other, up to 2e-9 in the modes of new rows
            np.testing.assert_allclose(values, expected[part], rtol=1e-6, atol=1e-9, err_msg=part)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_an_earlier_format_is_saved_in_the_current_one_without_loss(name, tmp_path):
    old = mvlvm.load(paths(name, OLDEST)[0])
    old.save(tmp_path / "m")
    predict = MODELS[name][1]
    np.testing.assert_equal(predict(mvlvm.load(tmp_path / "m")), predict(old))
