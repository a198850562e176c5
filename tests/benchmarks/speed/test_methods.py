import sys

import numpy as np
import pytest

from benchmarks.cells import NOT_INSTALLED, STOPPED
from benchmarks.runner import run_cell
from benchmarks.speed.benchmark_data import DIGITS, load_benchmark_data
from benchmarks.speed.methods import METHODS, NAIVE, OURS, make_method
from benchmarks.speed.speed_measurement import measure_speed
from benchmarks.speed.speed_plan import PEERS, speed_cell
from mvlvm import baselines

PACKAGES = {entry.name: entry.package for entry in baselines.list() if entry.name in METHODS and entry.package}


def peer_cell(method, n_rows=120):
    return speed_cell(PEERS, method, DIGITS, "cpu", {"N": n_rows}, quick=True)


def in_group(name):
    # numba compiles for several seconds
    marks = [pytest.mark.slow] if name == "UMAP" else []
    return pytest.param(name, marks=[*marks, *([pytest.mark.xdist_group(PACKAGES[name])] if name in PACKAGES else [])])


@pytest.mark.filterwarnings("ignore")  # short fits do not converge, and other libraries warn
@pytest.mark.parametrize("name", [in_group(name) for name in METHODS])
def test_every_method_returns_latents_in_short_fits(name):
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name], reason=f"{PACKAGES[name]} is not installed")
    est = make_method(name, device="cpu", seed=1, short=True)
    assert est.get_params()["random_state"] == 1
    assert est.get_params().get("device", "cpu") == "cpu"
    embedding = est.fit_transform(load_benchmark_data(DIGITS, 120).views)
    assert embedding.shape == (120, 2)
    assert np.isfinite(embedding).all()


def test_methods_that_use_a_gpu_get_the_device_and_parameters_take_precedence():
    assert {name for name, method in METHODS.items() if method.uses_device} == {
        OURS, NAIVE, "MV-ARFLVM", "GPyTorch GPLVM",
    }  # fmt: skip
    est = make_method(OURS, device="cuda", seed=0, short=True, parameters={"max_iter": 7, "n_points": 9})
    assert (est.device, est.max_iter, est.n_points) == ("cuda", 7, 9)
    assert make_method(NAIVE, device="cpu", seed=0).max_iter == make_method(OURS, device="cpu", seed=0).max_iter


def test_described_settings_are_those_of_the_estimators():
    naive, gpytorch, mrd = (make_method(name, device="cpu", seed=0) for name in (NAIVE, "GPyTorch GPLVM", "MRD"))
    assert METHODS[NAIVE].settings.startswith(f"{naive.max_iter:,} steps of Adam at {naive.learning_rate:g}")
    assert METHODS["GPyTorch GPLVM"].settings == (
        f"{gpytorch.n_inducing} inducing points per column, batches of {gpytorch.batch_size} rows, "
        f"{gpytorch.max_iter:,} steps of Adam at {gpytorch.learning_rate:g}"
    )
    assert f"{mrd.n_inducing} inducing points, at most {mrd.max_iter:,}" in METHODS["MRD"].settings
    mofa = make_method("MOFA", device="cpu", seed=0)
    assert METHODS["MOFA"].settings.startswith(f"at most {mofa.max_iter:,} iterations")


@pytest.mark.parametrize("name", PACKAGES)
def test_a_missing_package_is_recorded_with_the_install_command(name, monkeypatch):
    package = PACKAGES[name]
    for module in [package, *(found for found in sys.modules if found.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, module, None)
    found = run_cell(peer_cell(name), measure_speed, limit=60.0)
    assert found.status == NOT_INSTALLED
    assert f'{package}, which is not installed. Install it with: pip install "mvlvm[baselines]"' in found.note


@pytest.mark.parametrize("name", [NAIVE, OURS, "BGPLVM", "GPyTorch GPLVM"])
def test_methods_keep_their_unfinished_fit_at_the_time_limit(name, monkeypatch):
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name], reason=f"{PACKAGES[name]} is not installed")
    run_cell(peer_cell(name), measure_speed, limit=60.0)  # imports
    many = {"max_iter": 5000}
    monkeypatch.setitem(METHODS, name, type(METHODS[name])(**{**vars(METHODS[name]), "short": many}))
    found = run_cell(peer_cell(name, n_rows=1000), measure_speed, limit=2.0)
    assert found.status == STOPPED, found.note
    assert 0.2 < found.metrics["seconds"] < 20
    assert 0.1 < found.metrics["accuracy"] < 1
    assert "predict_rmse" not in found.metrics
