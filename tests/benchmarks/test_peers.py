"""Every method, as it is measured."""

import numpy as np
import pytest

from mvlvm.baselines.validation import concatenate_views, split_views, view_widths
from mvlvm.benchmarks.measurement import first_to_reach, quality_curve
from mvlvm.benchmarks.peers import METHODS
from mvlvm.benchmarks.step_profile import part_of, product_operations
from mvlvm.benchmarks.tasks import DataSpec, Task, load_data, standardised

DATA = DataSpec(name="digits-halves", n_samples=120)
VIEWS = standardised(load_data(DATA).views)
# numba compiles for a quarter of a minute, and our own fits are measured by the test of the command line
SLOW = {"umap-learn", "ours"}
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in METHODS]


def _task(method, **fields):
    return Task(experiment="peers", method=method, data=DATA, n_steps=15, limit_s=20.0, **fields)


@pytest.mark.filterwarnings("ignore")  # what other libraries warn of is theirs to mend
@pytest.mark.parametrize("name", NAMES)
def test_every_method_gives_latents_and_rebuilds_what_it_can(name):
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
def test_predictions_of_peers_are_for_new_rows_of_the_other_view(name):
    pytest.importorskip(METHODS[name].package, reason=f"{METHODS[name].package} is not installed")
    train, new = ({view: Y[rows] for view, Y in VIEWS.items()} for rows in (slice(100), slice(100, None)))
    found = METHODS[name].predict(train, {"left": new["left"]}, _task(name))
    assert found.shape == new["right"].shape
    assert np.isfinite(found).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["naive", "GPy BayesianGPLVM", "GPyTorch BayesianGPLVM"])
def test_slow_methods_stop_at_their_limit_and_say_so(name):
    pytest.importorskip(METHODS[name].package, reason=f"{METHODS[name].package} is not installed")
    task = Task(experiment="peers", method=name, data=DATA, limit_s=0.05)
    fitted = METHODS[name].fit(VIEWS, task)
    assert fitted.stopped
    assert fitted.latents.shape == (120, 2)


def test_views_side_by_side_weigh_the_same_and_come_apart_again():
    views = {"a": np.random.default_rng(0).normal(size=(50, 3)), "b": np.random.default_rng(1).normal(size=(50, 12))}
    joined = concatenate_views(standardised(views))
    assert (joined[:, :3] ** 2).sum() == pytest.approx((joined[:, 3:] ** 2).sum(), rel=1e-6)
    for name, Y in split_views(concatenate_views(views), view_widths(views)).items():
        np.testing.assert_allclose(Y, views[name])


def test_the_plain_curve_ends_at_its_target():
    task = Task(experiment="quality", method="naive", data=DATA, checkpoints=(2, 4, 6), target=0.2)
    found = quality_curve(load_data(DATA), task)
    assert [point["n_steps"] for point in found["curve"]] == [2]  # the start is better than chance already
    assert found["reached"] == found["curve"][0]
    assert found["reached"]["training_seconds"] <= found["reached"]["seconds"]


def test_the_plain_curve_is_judged_when_its_time_is_up():
    task = Task(experiment="quality", method="naive", data=DATA, checkpoints=(500,), target=1.1, limit_s=0.05)
    found = quality_curve(load_data(DATA), task)
    assert found["stopped"]
    assert len(found["curve"]) == 1


def test_the_quickest_point_that_is_good_enough_counts():
    points = [
        {"seconds": 3.0, "quality": 0.9},
        {"seconds": 1.0, "quality": 0.7},
        {"seconds": 2.0, "quality": 0.8},
    ]
    assert first_to_reach(points, 0.75) == points[2]
    assert first_to_reach(points, 0.95) is None


def test_operators_and_kernels_are_told_apart():
    assert part_of("aten::mm") == "products"
    assert part_of("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n") == "products"
    assert part_of("aten::linalg_cholesky_ex") == "factorisations"
    assert part_of("aten::_foreach_addcdiv_") == "optimiser"
    assert part_of("aten::cos") == "features"
    assert part_of("aten::normal_") == "draws"
    assert part_of("aten::mul") == "other passes"


def test_the_operations_of_a_step_are_those_of_its_products():
    task, F = _task("ours", n_mixtures=1, n_points=2), 4
    by_hand = sum(1.5 * (2 * 100 * F * F) + 2 * (2 * 100 * F * M) + F**3 for M in (7, 3))
    assert product_operations([(100, 7), (100, 3)], task) == by_hand
