"""Every method of the registry keeps the same promises."""

from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

import mvlvm
from mvlvm import ViewError, baselines, datasets
from mvlvm.baselines.abilities import PlacesRows, PredictsViews, RebuildsViews
from mvlvm.baselines.admitting import Kind
from tests.baselines.quick import QUICK

# name -> rows that are enough
SETS = {"digits-halves": 120, "bridges": None, "r-mnist": 200}


def load(name):
    try:
        data = datasets.load(name, random_state=0)
    except mvlvm.DataFileError as error:
        pytest.skip(str(error))
    rows = slice(SETS[name])
    return SimpleNamespace(views={view: Y[rows] for view, Y in data.views.items()}, labels=data.labels[rows])


@pytest.fixture(params=baselines.list(), ids=lambda entry: entry.name)
def entry(request):
    if request.param.package is not None and find_spec(request.param.package) is None:
        pytest.skip(f"{request.param.package} is not installed")
    return request.param


def make(entry, seed=0):
    return entry.estimator(n_components=2, random_state=seed, **QUICK.get(entry.name, {}))


def fitted(entry, data, seed=0):
    labels = data.labels if entry.estimator.needs_labels else None
    return make(entry, seed).fit(data.views, labels)


@pytest.mark.parametrize("name", SETS)
def test_latents_are_finite_and_the_same_for_the_same_seed(entry, name):
    data = load(name)
    first = fitted(entry, data)
    assert first.embedding_.shape == (len(data.labels), 2)
    assert np.isfinite(first.embedding_).all()
    assert np.ptp(first.embedding_, axis=0).min() > 0
    np.testing.assert_array_equal(first.embedding_, fitted(entry, data).embedding_)


def test_what_it_can_do_it_does_for_new_rows_too(entry, tmp_path):
    data = load("digits-halves")
    est = fitted(entry, data)
    new = {name: Y[:7] for name, Y in data.views.items()}
    est.save(tmp_path / "model.safetensors")
    again = mvlvm.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.embedding_, est.embedding_)
    assert again.get_params() == est.get_params()
    if isinstance(est, PlacesRows | PredictsViews):
        assert est.transform(new).shape == (7, 2)
        np.testing.assert_allclose(again.transform(new), est.transform(new), rtol=1e-6, atol=1e-9)
    if isinstance(est, RebuildsViews):
        rebuilt = est.reconstruct()
        assert {name: Y.shape for name, Y in rebuilt.items()} == {name: Y.shape for name, Y in data.views.items()}
        assert all(np.isfinite(Y).all() for Y in rebuilt.values())
        for name, Y in again.reconstruct().items():
            np.testing.assert_allclose(Y, rebuilt[name], rtol=1e-6, atol=1e-9)
    if isinstance(est, PredictsViews):
        (first, target) = data.views
        predicted = est.predict({first: new[first]}, target=target)
        assert predicted.shape == new[target].shape
        assert np.isfinite(predicted).all()


def test_gaps_and_numbers_that_are_no_counts_are_refused_in_words(entry):
    data = load("digits-halves")
    views = {name: np.array(Y, dtype=float) for name, Y in data.views.items()}
    name = next(iter(views))
    if not entry.estimator.takes_gaps:
        views[name][3, 4] = np.nan
        with pytest.raises(ViewError, match="missing entries.*MOFA"):
            make(entry).fit(views, data.labels)
        views[name][3, 4] = 0.0
    if entry.estimator.kind is Kind.COUNTS:
        views[name][3, 4] = 0.5
        with pytest.raises(ViewError, match="counts.*holds 0.5"):
            make(entry).fit(views, data.labels)


def test_a_wrong_number_of_components_is_refused(entry):
    with pytest.raises(ValueError, match="n_components must be an integer of at least 1"):
        make(entry).set_params(n_components=0).fit(np.eye(5), np.arange(5) % 2)
