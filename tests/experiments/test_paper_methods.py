"""Methods of the tables: initialisation where latents are classified, and elsewhere."""

import numpy as np
import pytest

from mvlvm.experiments import classification_tables, held_out, paper_methods
from mvlvm.experiments.cells import CellStore
from mvlvm.experiments.classification_tables import CHALLENGING, LATENTS, MULTI_VIEW, SINGLE_VIEW
from mvlvm.experiments.held_out import HELD_OUT
from mvlvm.experiments.paper_methods import INITIALISATION_NOTE, estimator_for, estimator_initialised_by_bound
from tests.experiments.stored_results import cell, results_from_numbers, tiny_images

CLASSIFYING = [MULTI_VIEW, SINGLE_VIEW, CHALLENGING, HELD_OUT, LATENTS]


@pytest.mark.parametrize("method", ["NG-MVLVM", "MV-ARFLVM", "ARFLVM"])
def test_initialisation_is_chosen_by_the_bound_only_on_request(method):
    one = cell(MULTI_VIEW, method)
    assert estimator_initialised_by_bound(one).init == "auto"
    assert estimator_for(one).init == "pca"


def test_other_methods_have_the_same_parameters_everywhere():
    one = cell(MULTI_VIEW, "MVAE")
    asked, other = estimator_initialised_by_bound(one, 3), estimator_for(one, 3)
    assert asked.get_params() == other.get_params()
    assert asked.n_components == 3


@pytest.mark.parametrize("experiment", CLASSIFYING)
def test_classification_experiments_choose_the_initialisation_by_the_bound(experiment, monkeypatch):
    made = []

    class Stub:
        def __init__(self, **settings):
            made.append(settings)

        def fit_transform(self, views, y=None):
            return np.random.default_rng(0).normal(size=(len(views["image"]), 2))

    monkeypatch.setattr(paper_methods, "NGMVLVM", Stub)
    for module in (classification_tables, held_out):
        monkeypatch.setattr(module, "load_paper_data", lambda name, **options: tiny_images())
    experiment.measure(cell(experiment, "NG-MVLVM"))
    assert [settings["init"] for settings in made] == ["auto"]


@pytest.mark.parametrize("experiment", CLASSIFYING)
def test_classification_pages_state_the_initialisation(experiment, tmp_path):
    data = experiment.data[0]
    results = results_from_numbers(
        experiment, CellStore(tmp_path), {(data, "NG-MVLVM", 0, ()): {"KNN": 0.5, "rows": 3}}
    )
    assert INITIALISATION_NOTE in experiment.write(results).notes
