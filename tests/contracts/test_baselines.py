"""Contract tests of every registered baseline."""

import sys
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import mvlvm
from mvlvm import MVARFLVM, ViewError, baselines, datasets
from mvlvm.baselines.base import PredictMixin, ReconstructMixin, TransformMixin
from tests.baselines.quick import QUICK

# number of rows of each data set; None for all
N_ROWS = {"digits-halves": 120, "bridges": None, "r-mnist": 200}
# estimators warn of constant columns, and short fits do not converge
pytestmark = pytest.mark.filterwarnings("ignore::mvlvm.ViewWarning", "ignore::mvlvm.ConvergenceWarning")


def load(name):
    try:
        data = datasets.load(name, random_state=0)
    except mvlvm.DataFileError as error:
        pytest.skip(str(error))
    rows = slice(N_ROWS[name])
    return SimpleNamespace(views={view: Y[rows] for view, Y in data.views.items()}, labels=data.labels[rows])


def with_group(entry):
    """Return a registry entry marked so that slow imports and compilations happen in a single worker."""
    marks = [pytest.mark.xdist_group(entry.package)] if entry.package else []
    return pytest.param(entry, id=entry.name, marks=marks)


@pytest.fixture(params=map(with_group, baselines.list()))
def entry(request):
    if request.param.package is not None and find_spec(request.param.package) is None:
        pytest.skip(f"{request.param.package} is not installed")
    return request.param


def make(entry, seed=0, n_components=2):
    return entry.estimator(n_components=n_components, random_state=seed, **QUICK.get(entry.name, {}))


def n_components_for(entry, data):
    """Return two components, or fewer if the number of classes requires it, as for BRIDGES."""
    return min(2, len(np.unique(data.labels)) - 1) if entry.needs_labels else 2


def fitted(entry, data, seed=0):
    labels = data.labels if entry.needs_labels else None
    return make(entry, seed, n_components_for(entry, data)).fit(data.views, labels)


@pytest.mark.parametrize("name", N_ROWS)
def test_latents_are_finite_and_reproducible(entry, name):
    data = load(name)
    if len(data.views) < entry.fewest_views:
        pytest.skip(f"{entry.name} needs {entry.fewest_views} views, and {name} has {len(data.views)}")
    before = np.random.get_state()[1].copy(), torch.get_rng_state()
    first = fitted(entry, data)
    np.testing.assert_array_equal(np.random.get_state()[1], before[0])
    assert torch.equal(torch.get_rng_state(), before[1])
    assert first.embedding_.shape == (len(data.labels), n_components_for(entry, data))
    assert np.isfinite(first.embedding_).all()
    assert np.ptp(first.embedding_, axis=0).min() > 0
    np.testing.assert_array_equal(first.embedding_, fitted(entry, data).embedding_)


def test_capabilities_work_before_and_after_saving(entry, tmp_path):
    data = load("digits-halves")
    est = fitted(entry, data)
    new = {name: Y[:7] for name, Y in data.views.items()}
    est.save(tmp_path / "model.safetensors")
    again = mvlvm.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.embedding_, est.embedding_)
    assert again.get_params() == est.get_params()
    if isinstance(est, TransformMixin | PredictMixin | MVARFLVM):
        assert est.transform(new).shape == (7, 2)
        np.testing.assert_allclose(again.transform(new), est.transform(new), rtol=1e-6, atol=1e-9)
    if isinstance(est, ReconstructMixin | MVARFLVM):
        reconstructed = est.reconstruct()
        assert {name: Y.shape for name, Y in reconstructed.items()} == {name: Y.shape for name, Y in data.views.items()}
        assert all(np.isfinite(Y).all() for Y in reconstructed.values())
        for name, Y in again.reconstruct().items():
            np.testing.assert_allclose(Y, reconstructed[name], rtol=1e-6, atol=1e-9)
    if isinstance(est, PredictMixin | MVARFLVM):
        (first, target) = data.views
        predicted = est.predict({first: new[first]}, target=target)
        assert predicted.shape == new[target].shape
        assert np.isfinite(predicted).all()


def test_missing_entries_and_non_counts_are_rejected(entry):
    data = load("digits-halves")
    views = {name: np.array(Y, dtype=float) for name, Y in data.views.items()}
    name = next(iter(views))
    if not entry.takes_gaps:
        views[name][3, 4] = np.nan
        with pytest.raises(ViewError, match="missing entries.*MOFA"):
            make(entry).fit(views, data.labels)
        views[name][3, 4] = 0.0
    if entry.counts_only:
        views[name][3, 4] = 0.5
        with pytest.raises(ViewError, match="counts.*holds 0.5"):
            make(entry).fit(views, data.labels)


def test_invalid_number_of_components_is_rejected(entry):
    with pytest.raises(ValueError, match="n_components must be an integer of at least 1"):
        make(entry).set_params(n_components=0).fit(np.eye(5), np.arange(5) % 2)


def test_minimum_number_of_views_is_enforced(entry):
    data = load("digits-halves")
    names = list(data.views)
    one_less = SimpleNamespace(views={names[0]: data.views[names[0]]}, labels=data.labels)
    if entry.fewest_views == 1:
        assert len(fitted(entry, one_less).embedding_) == len(data.labels)
    else:
        with pytest.raises(ViewError, match="needs at least 2 views. Got 1: .*such as PCA"):
            fitted(entry, one_less)


def test_missing_package_error_says_how_to_install_it(entry, monkeypatch):
    if entry.package is None:
        pytest.skip(f"{entry.name} needs no optional package")
    monkeypatch.setitem(sys.modules, entry.package, None)
    with pytest.raises(ModuleNotFoundError, match=r'not installed.*pip install "mvlvm\[baselines\]"'):
        fitted(entry, load("digits-halves"))
