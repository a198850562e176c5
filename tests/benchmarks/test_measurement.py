import numpy as np

from mvlvm.benchmarks.measurement import first_to_reach, peak_memory, quality_curve
from mvlvm.benchmarks.tasks import (
    DataSpec,
    Task,
    load_data,
)

DATA = DataSpec(name="digits-halves", n_samples=120)


def test_peak_memory_is_that_of_the_block_alone():
    before = np.ones(40_000_000)  # 320 MB, gone before the block begins
    del before
    kept = np.ones(5_000_000)
    with peak_memory("cpu") as peak:
        passing = np.ones(20_000_000)  # 160 MB
        del passing
    assert 150e6 < peak.n_bytes < 260e6
    assert kept[0] == 1


def test_the_naive_curve_stops_at_its_target():
    task = Task(experiment="quality", method="naive", data=DATA, checkpoints=(2, 4, 6), target=0.2)
    found = quality_curve(load_data(DATA), task)
    assert [point["n_steps"] for point in found["curve"]] == [2]  # the initialisation is already better than chance
    assert found["reached"] == found["curve"][0]
    assert found["reached"]["training_seconds"] <= found["reached"]["seconds"]


def test_the_naive_curve_is_evaluated_at_the_time_limit():
    task = Task(experiment="quality", method="naive", data=DATA, checkpoints=(500,), target=1.1, limit_s=0.05)
    found = quality_curve(load_data(DATA), task)
    assert found["stopped"]
    assert len(found["curve"]) == 1


def test_first_to_reach_returns_the_fastest_sufficient_point():
    points = [
        {"seconds": 3.0, "quality": 0.9},
        {"seconds": 1.0, "quality": 0.7},
        {"seconds": 2.0, "quality": 0.8},
    ]
    assert first_to_reach(points, 0.75) == points[2]
    assert first_to_reach(points, 0.95) is None
