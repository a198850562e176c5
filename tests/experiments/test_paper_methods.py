"""The methods of a table: which start they have where latents are classified, and where they are not."""

import numpy as np
import pytest

from mvlvm.experiments import classification_tables, held_out, paper_methods
from mvlvm.experiments.cells import CellStore
from mvlvm.experiments.classification_tables import CHALLENGING, LATENTS, MULTI_VIEW, SINGLE_VIEW
from mvlvm.experiments.held_out import HELD_OUT
from mvlvm.experiments.paper_methods import INITIALISATION_NOTE, estimator_for, estimator_initialised_by_bound
from tests.experiments.stored_results import cell, found_in, tiny_images

CLASSIFYING = [MULTI_VIEW, SINGLE_VIEW, CHALLENGING, HELD_OUT, LATENTS]


@pytest.mark.parametrize("method", ["NG-MVLVM", "MV-ARFLVM", "ARFLVM"])
def test_ours_starts_where_its_bound_is_best_if_asked_to_and_else_by_default(method):
    one = cell(MULTI_VIEW, method)
    assert estimator_initialised_by_bound(one).init == "auto"
    assert estimator_for(one).init == "pca"


def test_other_methods_are_the_same_everywhere():
    one = cell(MULTI_VIEW, "MVAE")
    asked, other = estimator_initialised_by_bound(one, 3), estimator_for(one, 3)
    assert asked.get_params() == other.get_params()
    assert asked.n_components == 3


@pytest.mark.parametrize("experiment", CLASSIFYING)
def test_every_table_of_classes_starts_ours_by_the_bound(experiment, monkeypatch):
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
def test_every_table_of_classes_says_so(experiment, tmp_path):
    data = experiment.data[0]
    found = found_in(experiment, CellStore(tmp_path), {(data, "NG-MVLVM", 0, ()): {"KNN": 0.5, "rows": 3}})
    assert INITIALISATION_NOTE in experiment.write(found).notes
