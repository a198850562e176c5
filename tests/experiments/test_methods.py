"""The methods of a table: which start they have where latents are classified, and where they are not."""

import numpy as np
import pytest

from mvlvm.experiments import challenging, held_out, latents, methods, multi_view, single_view
from mvlvm.experiments.methods import START_NOTE, estimator_for, estimator_started_by_bound
from mvlvm.experiments.store import Store
from tests.experiments.findings import cell, found_in, tiny_images

CLASSIFYING = [multi_view, single_view, challenging, held_out, latents]


@pytest.mark.parametrize("method", ["NG-MVLVM", "MV-ARFLVM", "ARFLVM"])
def test_ours_starts_where_its_bound_is_best_if_asked_to_and_else_by_default(method):
    one = cell(multi_view.EXPERIMENT, method)
    assert estimator_started_by_bound(one).init == "auto"
    assert estimator_for(one).init == "pca"


def test_other_methods_are_the_same_everywhere():
    one = cell(multi_view.EXPERIMENT, "MVAE")
    asked, other = estimator_started_by_bound(one, 3), estimator_for(one, 3)
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

    monkeypatch.setattr(methods, "NGMVLVM", Stub)
    monkeypatch.setattr(experiment, "load_paper_data", lambda name, **options: tiny_images())
    experiment.measure(cell(experiment.EXPERIMENT, "NG-MVLVM"))
    assert [settings["init"] for settings in made] == ["auto"]


@pytest.mark.parametrize("experiment", CLASSIFYING)
def test_every_table_of_classes_says_so(experiment, tmp_path):
    data = experiment.EXPERIMENT.data[0]
    found = found_in(experiment.EXPERIMENT, Store(tmp_path), {(data, "NG-MVLVM", 0, ()): {"KNN": 0.5, "rows": 3}})
    assert START_NOTE in experiment.EXPERIMENT.write(found).notes
