from dataclasses import replace

import pytest

from benchmarks.cells import FAILED, STOPPED
from benchmarks.speed.benchmark_data import BRIDGES
from benchmarks.speed.device_results import device_results, machine_line, peer_comparisons
from benchmarks.speed.methods import NAIVE, OURS
from benchmarks.speed.speed_plan import PEERS, QUALITY, STEPS, growth_axis, speed_cell
from tests.benchmarks.speed.speed_records import naive, point, r_mnist, record, results, steps


def test_the_machine_with_the_most_records_represents_a_device():
    found = results(
        record(steps(n=1000), machine="slow"), record(steps(n=10_000), machine="fast", seconds_per_step=1.0),
        record(steps(), machine="fast", seconds_per_step=2.0), record(steps(device="cuda"), seconds_per_step=3.0),
    )  # fmt: skip
    cpu = device_results(found, "cpu")
    assert cpu.machine == "fast"
    assert set(cpu.records) == {steps(n=10_000), steps()}
    assert cpu.metric(steps(), "seconds_per_step") == 2.0
    assert cpu.metric(steps(n=1000), "seconds_per_step") is None
    assert device_results(found, "cuda").machine == "a card"
    assert machine_line(cpu, found) == ["Machine: fast."]
    assert machine_line(cpu, results(*found.records[1:3])) == []
    assert device_results(results(), "cpu") is None


def test_records_are_in_the_order_of_the_study_and_those_without_metrics_are_failures():
    cells = [steps(n=n) for n in (1000, 10_000, 70_000)]
    found = results(
        record(cells[2], seconds=1.0, seconds_per_step=1.0),
        record(cells[0], status=STOPPED, seconds_per_step=2.0),
        record(cells[1], status=STOPPED),
        record(naive(cells[0]), status=FAILED, note="no"),
    )
    cpu = device_results(found, "cpu", cells)
    assert list(cpu.records) == [cells[0], cells[2]]
    assert list(cpu.failures) == [cells[1], naive(cells[0])]
    assert [r.cell for r in cpu.of(STEPS)] == [cells[0], cells[2]]
    assert cpu.of(STEPS, NAIVE) == []


def test_rounds_and_pairs_belong_to_one_run():
    cells = [replace(steps(), seed=seed) for seed in range(3)]
    found = results(
        record(cells[0], run="second", seconds_per_step=1.0), record(cells[1], run="first", seconds_per_step=5.0),
        record(cells[2], run="second", seconds_per_step=2.0), record(naive(cells[0]), seconds_per_step=9.0),
    )  # fmt: skip
    cpu = device_results(found, "cpu")
    assert {seed: r.metrics["seconds_per_step"] for seed, r in cpu.rounds(cells[0]).items()} == {0: 1.0, 2: 2.0}
    assert cpu.rounds(steps(n=1000)) == {}
    assert cpu.pair(cells[0], naive(cells[0])) is None
    assert cpu.pair(cells[1], naive(cells[0])) is not None


def test_growth_is_that_of_the_measured_sizes():
    cells = growth_axis("P", "cpu")
    found = [record(cell, seconds_per_step=1e-3 * size**1.5, peak_bytes=size) for size, cell in cells.items()]
    growth = device_results(results(*found[:3]), "cpu").growth("P")
    assert growth.sizes == [25, 50, 100]
    assert growth.exponent == pytest.approx(1.5)
    assert growth.n_bytes == [25, 50, 100]
    assert device_results(results(found[0]), "cpu").growth("P") is None


def test_we_are_behind_if_a_peer_is_faster_or_more_accurate():
    def peer(method):
        return speed_cell(PEERS, method, BRIDGES, "cpu")

    found = results(
        record(peer(OURS), seconds=5.0, **{"accuracy": 0.8, "rmse": 0.5, "peak_bytes": 1e6}),
        record(speed_cell(QUALITY, OURS, BRIDGES, "cpu"), curve=[point(2.0, 0.7)], reached=None),
        record(peer("MRD"), accuracy=0.69, rmse=0.6, peak_bytes=1e6),
        record(peer("MOFA"), accuracy=0.6, rmse=0.4, peak_bytes=1e6),
        record(peer("PCA"), accuracy=0.9, peak_bytes=1e6),
    )
    times = {OURS: 5.0, "MRD": 3.0, "MOFA": 1.0, "PCA": 0.1}
    timed = [replace(r, metrics={**r.metrics, "seconds": times[r.cell.method]}) for r in found.records]
    by_name = {c.theirs.cell.method: c for c in peer_comparisons(device_results(results(*timed), "cpu"))}
    assert set(by_name) == {"MRD", "MOFA", "PCA"}
    assert by_name["MRD"].we_are_ahead
    assert by_name["MRD"].seconds == by_name["MRD"].fit_seconds == 2.0
    assert by_name["MRD"].ahead_in() == []
    assert by_name["MOFA"].ahead_in() == ["time to its 1-NN accuracy", "reconstruction"]
    assert by_name["PCA"].seconds is None
    assert by_name["PCA"].ahead_in() == ["1-NN accuracy that no fit of NG-MVLVM reaches"]
    assert not by_name["PCA"].is_claimed
    assert by_name["MOFA"].is_claimed


def test_the_time_to_the_accuracy_of_a_peer_ends_with_the_latents():
    theirs = speed_cell(PEERS, "PCA", "R-MNIST", "cpu")
    curve = [{**point(3.0, 0.5), "latent_seconds": 1.0}, point(2.0, 0.6)]
    cells = [(theirs, {"seconds": 1.5, "accuracy": 0.4}), (r_mnist(), {"curve": curve})]
    found = [replace(record(cell), metrics=metrics) for cell, metrics in cells]
    (comparison,) = peer_comparisons(device_results(results(*found), "cpu"))
    assert (comparison.seconds, comparison.fit_seconds) == (1.0, 3.0)
    assert comparison.we_are_ahead
