"""The methods of a table: which start they have where latents are classified, and where they are not."""

import pytest

from mvlvm.experiments.methods import estimator_for, estimator_to_classify
from mvlvm.experiments.multi_view import EXPERIMENT
from tests.experiments.findings import cell


@pytest.mark.parametrize("method", ["NG-MVLVM", "MV-ARFLVM", "ARFLVM"])
def test_ours_chooses_its_start_by_the_bound_where_latents_are_classified(method):
    assert estimator_to_classify(cell(EXPERIMENT, method)).init == "auto"
    assert estimator_for(cell(EXPERIMENT, method)).init == "pca"


def test_other_methods_are_the_same_everywhere():
    classified, other = estimator_to_classify(cell(EXPERIMENT, "MVAE"), 3), estimator_for(cell(EXPERIMENT, "MVAE"), 3)
    assert classified.get_params() == other.get_params()
    assert classified.n_components == 3
