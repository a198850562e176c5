import time

import numpy as np
import pytest

from benchmarks.cells import DONE, FAILED, STOPPED
from benchmarks.runner import run_cell
from benchmarks.speed import speed_measurement
from benchmarks.speed.benchmark_data import DIGITS, LOW_RANK, load_benchmark_data
from benchmarks.speed.methods import METHODS, NAIVE, OURS
from benchmarks.speed.speed_measurement import (
    first_to_reach,
    kept_at_time_limit,
    measure_speed,
    peak_memory,
    spectral_estimator,
)
from benchmarks.speed.speed_plan import ACCURACY, GROWTH, PEERS, QUALITY, STEPS, speed_cell, speed_cells
from mvlvm import baselines
from mvlvm.views.scaling import fit_scaling


def quality_cell(method=NAIVE, target=0.2):
    return speed_cell(QUALITY, method, DIGITS, "cpu", {"N": 120, "target": target}, quick=True)


def use_checkpoints(monkeypatch, *checkpoints):
    monkeypatch.setattr(speed_measurement, "checkpoints_of", lambda cell: checkpoints)


def test_peak_memory_is_that_of_the_block_alone():
    before = np.ones(40_000_000)  # 320 MB, gone before the block begins
    del before
    kept = np.ones(5_000_000)
    with peak_memory("cpu") as peak:
        passing = np.ones(20_000_000)  # 160 MB
        del passing
    assert 150e6 < peak.n_bytes < 260e6
    assert kept[0] == 1


def test_the_naive_curve_stops_at_its_target(monkeypatch):
    use_checkpoints(monkeypatch, 2, 4, 6)
    metrics = measure_speed(quality_cell()).metrics
    assert [point["n_steps"] for point in metrics["curve"]] == [2]  # the initialisation is already better than chance
    assert metrics["reached"] == metrics["curve"][0]
    assert metrics["reached"]["training_seconds"] <= metrics["reached"]["seconds"]


def test_the_naive_curve_is_evaluated_at_the_time_limit(monkeypatch):
    use_checkpoints(monkeypatch, 1_000_000)
    found = run_cell(quality_cell(target=1.1), measure_speed, limit=1.0)
    assert found.status == STOPPED
    (point,) = found.metrics["curve"]
    assert point["n_steps"] > 1
    assert found.metrics["reached"] is None


def test_an_unfinished_fit_is_no_point_of_the_curve(monkeypatch):
    run_cell(quality_cell(OURS), measure_speed, limit=60.0)  # imports
    use_checkpoints(monkeypatch, 3, 5000)
    found = run_cell(quality_cell(OURS, target=1.1), measure_speed, limit=4.0)
    assert found.status == STOPPED, found.note
    assert [point["n_steps"] for point in found.metrics["curve"]] == [3]
    assert found.metrics["curve"][0]["latent_seconds"] < found.metrics["curve"][0]["seconds"]


def test_a_curve_without_points_is_stopped_without_metrics(monkeypatch):
    use_checkpoints(monkeypatch, 5000)
    found = run_cell(quality_cell(OURS, target=1.1), measure_speed, limit=1.0)
    assert (found.status, found.metrics) == (STOPPED, {})


def test_ctrl_c_is_not_mistaken_for_the_time_limit():
    with pytest.raises(KeyboardInterrupt), kept_at_time_limit():
        raise KeyboardInterrupt
    with baselines.stop_after(60) as limit, pytest.raises(KeyboardInterrupt), kept_at_time_limit():
        raise KeyboardInterrupt
    assert not limit.reached


def test_first_to_reach_returns_the_fastest_sufficient_point():
    points = [
        {"seconds": 3.0, "quality": 0.9, "latent_seconds": 0.5},
        {"seconds": 1.0, "quality": 0.7},
        {"seconds": 2.0, "quality": 0.8},
    ]
    assert first_to_reach(points, 0.75) == points[2]
    assert first_to_reach(points, 0.75, by="latent_seconds") == points[0]
    assert first_to_reach(points, 0.95) is None


@pytest.mark.filterwarnings("ignore::mvlvm.ConvergenceWarning")
def test_steps_are_measured_for_both_implementations():
    ours, naive = (measure_speed(speed_cell(STEPS, m, LOW_RANK, "cpu", {"N": 60}, quick=True)) for m in (OURS, NAIVE))
    for metrics in (ours.metrics, naive.metrics):
        assert metrics["n_steps"] == 6
        assert 0 < metrics["seconds_per_step"] < metrics["seconds"]
        assert metrics["peak_bytes"] >= 0
    assert "bound" in ours.metrics
    assert "bound" not in naive.metrics


def test_estimators_have_the_sizes_and_options_of_their_cell():
    cell = speed_cell(ACCURACY, OURS, LOW_RANK, "cpu", {"N": 60, "dtype": "float64", "learning_rate": 0.01, "Q": 3})
    est = spectral_estimator(cell, 7)
    assert (est.dtype, est.learning_rate, est.n_mixtures, est.max_iter, est.tol) == ("float64", 0.01, 3, 7, 0.0)
    default = spectral_estimator(speed_cell(QUALITY, OURS, DIGITS, "cpu", {"init": "auto"}), None)
    assert default.init == "auto"
    assert default.tol > 0
    assert spectral_estimator(speed_cell(GROWTH, OURS, LOW_RANK, "cpu", {"P": 25}), 3).n_points == 25


@pytest.mark.filterwarnings("ignore")
def test_errors_are_in_units_of_the_scaled_views():
    metrics = measure_speed(speed_cell(PEERS, "PCA", DIGITS, "cpu", {"N": 120}, quick=True)).metrics
    data = load_benchmark_data(DIGITS, 120)
    reconstructed = baselines.get("PCA")(n_components=2, random_state=0).fit(data.views).reconstruct()
    squares = []
    for name, Y in data.views.items():
        scaled, predicted = (fit_scaling(name, Y, "auto").apply(values) for values in (Y, reconstructed[name]))
        assert np.mean((scaled - predicted) ** 2) < np.mean(scaled**2)
        squares.append(np.mean((scaled - predicted) ** 2))
    assert metrics["rmse"] == pytest.approx(np.sqrt(np.mean(squares)))
    assert 0.3 < metrics["accuracy"] < 1
    assert "predict_rmse" not in metrics  # PCA does not predict a view from the other


@pytest.mark.filterwarnings("ignore")
def test_predictions_of_held_out_rows_are_evaluated_on_the_second_view():
    pytest.importorskip("mofapy2")
    metrics = measure_speed(speed_cell(PEERS, "MOFA", DIGITS, "cpu", {"N": 120}, quick=True)).metrics
    assert 0.5 < metrics["predict_rmse"] < 1.2
    assert metrics["predict_seconds"] > 0


def test_a_prediction_beyond_the_time_limit_has_no_error():
    views = load_benchmark_data(DIGITS, 120).views

    class Slow:
        def fit(self, views):
            time.sleep(30)

    with baselines.stop_after(0.2):
        metrics = speed_measurement._prediction(Slow(), views, lambda *_: 0.0)
    assert set(metrics) == {"predict_seconds"}
    assert 0.1 < metrics["predict_seconds"] < 20


def test_a_limit_that_is_reached_before_the_measurement_ends_it(monkeypatch):
    class Kept:
        def fit(self, views):
            with kept_at_time_limit():
                time.sleep(30)

    monkeypatch.setattr(speed_measurement, "make_method", lambda *_, **__: Kept())
    found = run_cell(speed_cell(PEERS, "PCA", DIGITS, "cpu"), measure_speed, limit=0.2)
    assert (found.status, found.metrics) == (STOPPED, {})


def test_a_fit_of_a_few_rows_precedes_every_measurement_of_full_size(monkeypatch):
    fitted = []

    class Spy:
        def fit(self, views):
            fitted.append({name: Y.shape for name, Y in views.items()})

    monkeypatch.setattr(speed_measurement, "make_method", lambda *_, **__: Spy())
    speed_measurement.warm_up(speed_cell(PEERS, "PCA", DIGITS, "cpu", quick=True))
    assert fitted == []
    speed_measurement.warm_up(speed_cell(PEERS, "PCA", DIGITS, "cpu"))
    assert fitted == [{"view0": (120, 6), "view1": (120, 6)}]


def test_a_failure_is_recorded_with_its_error():
    found = run_cell(speed_cell(PEERS, "PCA", "no-such-set", "cpu", quick=True), measure_speed, limit=60.0)
    assert found.status == FAILED
    assert "no-such-set" in found.note


@pytest.mark.filterwarnings("ignore::mvlvm.ConvergenceWarning")
@pytest.mark.parametrize("cell", speed_cells(0, True), ids=lambda cell: cell.label)
def test_quick_cells_are_done(cell):
    assert cell.method in METHODS
    if cell.device == "cpu":
        found = run_cell(cell, measure_speed, limit=60.0)
        assert found.status == DONE, found.note
