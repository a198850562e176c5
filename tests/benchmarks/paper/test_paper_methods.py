"""Methods of the tables: initialisation where latents are classified and elsewhere, and errors of reconstructions."""

import numpy as np
import pytest

from benchmarks.paper import classification_tables, held_out, paper_methods
from benchmarks.paper.classification_tables import CHALLENGING, LATENTS, MULTI_VIEW, SINGLE_VIEW
from benchmarks.paper.held_out import HELD_OUT
from benchmarks.paper.paper_methods import (
    INITIALISATION_NOTE,
    estimator_for,
    estimator_initialised_by_bound,
    mean_squared_error,
)
from tests.benchmarks.paper.stored_results import cell, results_from_metrics, tiny_images

CLASSIFYING = [MULTI_VIEW, SINGLE_VIEW, CHALLENGING, HELD_OUT, LATENTS]


@pytest.mark.parametrize("method", ["NG-MVLVM", "MV-ARFLVM", "ARFLVM"])
def test_initialisation_is_chosen_by_the_bound_only_on_request(method):
    one = cell(MULTI_VIEW, method)
    assert estimator_initialised_by_bound(one).init == "auto"
    assert estimator_for(one).init == "pca"


def test_other_methods_have_the_same_parameters_everywhere():
    one = cell(MULTI_VIEW, "MVAE")
    requested, other = estimator_initialised_by_bound(one, 3), estimator_for(one, 3)
    assert requested.get_params() == other.get_params()
    assert requested.n_components == 3


def test_quick_cells_take_fewer_steps_unless_the_study_sets_their_number():
    quick, full = (estimator_for(cell(MULTI_VIEW, "NG-MVLVM", quick=quick)).max_iter for quick in (True, False))
    assert quick < full
    assert estimator_for(cell(MULTI_VIEW, "NG-MVLVM"), settings={"max_iter": 7}).max_iter == 7


@pytest.mark.parametrize("study", CLASSIFYING, ids=lambda study: study.name)
def test_classification_studies_choose_the_initialisation_by_the_bound(study, monkeypatch):
    made = []

    class Stub:
        def __init__(self, **settings):
            made.append(settings)

        def fit_transform(self, views, y=None):
            return np.random.default_rng(0).normal(size=(len(views["image"]), 2))

    monkeypatch.setattr(paper_methods, "NGMVLVM", Stub)
    for module in (classification_tables, held_out):
        monkeypatch.setattr(module, "load_paper_data", lambda name, **options: tiny_images())
    study.measure(cell(study, "NG-MVLVM"))
    assert [settings["init"] for settings in made] == ["auto"]


@pytest.mark.parametrize("study", CLASSIFYING, ids=lambda study: study.name)
def test_classification_pages_state_the_initialisation(study, tmp_path):
    metrics = {(study.data[0], "NG-MVLVM", 0, ()): {"KNN": 0.5, "rows": 3}}
    assert INITIALISATION_NOTE in study.page(results_from_metrics(study, tmp_path, metrics))


def test_mean_squared_error_does_not_overflow_integer_types():
    assert mean_squared_error(np.array([[250, 3]], dtype=np.uint8), np.array([[0.0, 4.0]])) == (250**2 + 1) / 2
