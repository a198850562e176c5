import numpy as np
import pytest

from mvlvm.baselines.baseline_input import concatenate_views, split_views, view_widths
from mvlvm.benchmarks.peers import METHODS
from mvlvm.benchmarks.tasks import DataSpec, Task, load_data, standardised

DATA = DataSpec(name="digits-halves", n_samples=120)
VIEWS = standardised(load_data(DATA).views)
# numba compiles for 15 s, and NG-MVLVM is covered by the test of the command line
SLOW = {"umap-learn", "ours"}
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in METHODS]


def _task(method, **fields):
    return Task(experiment="peers", method=method, data=DATA, n_steps=15, limit_s=20.0, **fields)


@pytest.mark.filterwarnings("ignore")  # warnings of other libraries
@pytest.mark.parametrize("name", NAMES)
def test_every_method_returns_latents_and_plausible_reconstructions(name):
    pytest.importorskip(METHODS[name].package, reason=f"{METHODS[name].package} is not installed")
    fitted = METHODS[name].fit(VIEWS, _task(name))
    assert fitted.latents.shape == (120, 2)
    assert np.isfinite(fitted.latents).all()
    assert not fitted.stopped
    if fitted.rebuilt is not None:
        for view, Y in VIEWS.items():
            assert fitted.rebuilt[view].shape == Y.shape
            assert np.mean((fitted.rebuilt[view] - Y) ** 2) < np.mean(Y**2), "worse than the mean"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["mofapy2", "cca-zoo GFA", "GPy MRD"])
def test_predictions_of_peers_have_the_shape_of_the_other_view(name):
    pytest.importorskip(METHODS[name].package, reason=f"{METHODS[name].package} is not installed")
    train, new = ({view: Y[rows] for view, Y in VIEWS.items()} for rows in (slice(100), slice(100, None)))
    found = METHODS[name].predict(train, {"left": new["left"]}, _task(name))
    assert found.shape == new["right"].shape
    assert np.isfinite(found).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["naive", "GPy BayesianGPLVM", "GPyTorch BayesianGPLVM"])
def test_slow_methods_stop_at_their_time_limit(name):
    pytest.importorskip(METHODS[name].package, reason=f"{METHODS[name].package} is not installed")
    task = Task(experiment="peers", method=name, data=DATA, limit_s=0.05)
    fitted = METHODS[name].fit(VIEWS, task)
    assert fitted.stopped
    assert fitted.latents.shape == (120, 2)


def test_concatenated_views_have_equal_variance_and_can_be_split_again():
    views = {"a": np.random.default_rng(0).normal(size=(50, 3)), "b": np.random.default_rng(1).normal(size=(50, 12))}
    joined = concatenate_views(standardised(views))
    assert (joined[:, :3] ** 2).sum() == pytest.approx((joined[:, 3:] ** 2).sum(), rel=1e-6)
    for name, Y in split_views(concatenate_views(views), view_widths(views)).items():
        np.testing.assert_allclose(Y, views[name])
