from dataclasses import replace

import pytest

from mvlvm.benchmarks.comparison import all_claims, comparisons
from mvlvm.benchmarks.plan import CPU, CUDA, growth_axis, tasks_of
from mvlvm.benchmarks.speed_page import claim_rows, draw_figures, page_text
from mvlvm.benchmarks.tasks import SKIPPED, STOPPED, DataSpec, Task
from tests.benchmarks.outcomes import on_gpu, outcome, results

MNIST = DataSpec(name="mnist+label", n_samples=70_000)
STEPS = Task(experiment="steps", method="ours", data=MNIST)
QUALITY = Task(experiment="quality", method="ours", data=MNIST)
R_MNIST = Task(experiment="quality", method="ours", data=DataSpec(name="r-mnist"))


def plain(task):
    return replace(task, method="naive")


def point(seconds, quality, training=0.1):
    return {"n_steps": 10, "seconds": seconds, "training_seconds": training, "quality": quality}


def measured(found, words):
    (claim,) = [claim for claim in all_claims() if words in claim.asked]
    return claim.measure(found)


def test_step_times_are_compared_within_one_run():
    ours = outcome(STEPS, seconds_per_step=0.1, peak_bytes=1e8)
    found = measured(
        results(ours, outcome(plain(STEPS), seconds_per_step=0.6, peak_bytes=9e8)), "a step at N = 70,000, 5"
    )
    assert found.holds
    assert found.text.startswith("6.0 times")
    slower = outcome(plain(STEPS), seconds_per_step=0.4, peak_bytes=9e8)
    assert not measured(results(ours, slower), "a step at N = 70,000, 5").holds
    elsewhen = outcome(plain(STEPS), seconds_per_step=0.6, peak_bytes=9e8, run="second")
    assert measured(results(ours, elsewhen), "a step at N = 70,000, 5") is None


def test_step_times_of_several_rounds_are_reported_as_median_and_range():
    rounds = [(0.10, 0.6), (0.30, 0.6), (0.11, 0.5)]
    outcomes = [
        outcome(replace(task, seed=seed), seconds_per_step=seconds, peak_bytes=1e8)
        for seed, pair in enumerate(rounds)
        for task, seconds in zip((STEPS, plain(STEPS)), pair, strict=True)
    ]
    found = measured(results(*outcomes), "a step at N = 70,000, 5")
    assert found.text == "5.5 times (110 ms against 600 ms; 3 rounds, 2.0 to 6.0)"
    assert "| ours | 110 ms | 5.5 |" in page_text(results(*outcomes), {})


@pytest.mark.parametrize(("ours", "holds"), [(3.0e8, True), (3.1e8, False)])
def test_the_memory_claim_requires_a_third(ours, holds):
    found = results(
        outcome(STEPS, seconds_per_step=1.0, peak_bytes=ours),
        outcome(plain(STEPS), seconds_per_step=1.0, peak_bytes=9e8),
    )
    assert measured(found, "a third").holds == holds


def test_time_to_accuracy_is_that_of_the_complete_fit():
    curve = [point(16.0, 0.80), point(14.0, 0.785), point(14.5, 0.79)]
    assert measured(results(outcome(R_MNIST, curve=curve)), "R-MNIST").holds
    assert not measured(results(outcome(R_MNIST, curve=curve[:2])), "R-MNIST").holds
    missed = measured(results(outcome(R_MNIST, curve=[point(1.0, 0.5)])), "R-MNIST")
    assert not missed.holds
    assert "50.0 % at best" in missed.text


def test_a_stopped_naive_fit_counts_with_the_time_it_ran():
    ours = outcome(QUALITY, curve=[point(10.0, 0.83)])
    never = outcome(plain(QUALITY), status=STOPPED, curve=[point(90.0, 0.5)])
    found = measured(results(ours, never), "82.72")
    assert found.holds
    assert "more than 90 s" in found.text
    soon = outcome(plain(QUALITY), curve=[point(79.0, 0.83)])
    assert not measured(results(ours, soon), "82.72").holds
    latents = outcome(QUALITY, curve=[{**point(10.0, 0.83), "latent_seconds": 9.0}])
    found = measured(results(latents, soon), "82.72")
    assert found.holds  # the naive implementation ends with the latents
    assert "10 s until it can predict" in found.text


def test_the_slope_claim_requires_the_largest_size():
    tasks = growth_axis(CPU, "N")
    linear = [outcome(t, seconds_per_step=1e-6 * t.data.n_samples, peak_bytes=1e6) for t in tasks]
    steep = [outcome(t, seconds_per_step=1e-6 * t.data.n_samples**1.2, peak_bytes=1e6) for t in tasks]
    assert measured(results(*linear), "to 100,000").holds
    assert not measured(results(*steep), "to 100,000").holds
    assert measured(results(*linear[:-1]), "to 100,000") is None


def test_gpu_claims_are_checked_with_gpu_outcomes():
    bounds = zip(tasks_of(CUDA, "accuracy"), (-1e6 - 50, -1e6, -2e6 - 1000, -2e6), strict=True)
    found = results(
        outcome(on_gpu(STEPS), seconds_per_step=1.5e-3, peak_bytes=1e9),
        *(outcome(task, bound=bound) for task, bound in bounds),
        outcome(on_gpu(QUALITY), curve=[point(9.0, 0.86, training=0.45)]),
    )
    assert measured(found, "a step at N = 70,000 in").holds
    assert measured(found, "float64").holds
    assert measured(found, "float64").text == "5.0e-05; 5.0e-04 at our own rate of 0.05"
    assert measured(found, "0.5 s of training").holds
    assert measured(found, "a step at N = 70,000, 5") is None


def test_we_are_behind_if_a_peer_is_faster_or_more_accurate():
    data = DataSpec(name="bridges")
    ours = Task(experiment="peers", method="ours", data=data)
    found = results(
        outcome(ours, seconds=5.0, accuracy=0.8, rmse=0.5, peak_bytes=1e6),
        outcome(Task(experiment="quality", method="ours", data=data), curve=[point(2.0, 0.7)]),
        outcome(replace(ours, method="GPy MRD"), seconds=3.0, accuracy=0.69, rmse=0.6, peak_bytes=1e6),
        outcome(replace(ours, method="mofapy2"), seconds=1.0, accuracy=0.6, rmse=0.4, peak_bytes=1e6),
        outcome(replace(ours, method="PCA"), seconds=0.1, accuracy=0.9, peak_bytes=1e6),
    )
    by_name = {standing.theirs.task.method: standing for standing in comparisons(found, "cpu")}
    assert by_name["GPy MRD"].we_are_ahead
    assert by_name["GPy MRD"].ahead_in() == []
    assert by_name["mofapy2"].ahead_in() == ["sooner at its own 1-NN accuracy", "reconstruction"]
    assert by_name["PCA"].seconds is None
    assert by_name["PCA"].ahead_in() == ["no fit of ours has its 1-NN accuracy"]
    assert not by_name["PCA"].must_be_behind
    assert measured(found, "sooner at equal").text == "1 of 2 comparisons"
    page = page_text(found, {})
    assert "- mofapy2 on bridges: sooner at its own 1-NN accuracy, reconstruction." in page
    assert "- GPy MRD" not in page.split("Where others are ahead")[1].split("Settings")[0]


def test_the_page_contains_machines_figures_and_stopped_methods(tmp_path):
    walls = [
        Task(experiment="walltime", method=m, data=DataSpec(name="mnist+label", n_samples=n))
        for n in (500, 1000)
        for m in ("ours", "GPy MRD")
    ]
    found = results(
        outcome(walls[0], seconds=2.0), outcome(walls[2], seconds=3.0),
        outcome(walls[1], status=STOPPED, note="stopped after 60 s", seconds=60.0),
        outcome(walls[3], status=SKIPPED, note="not tried"),
        *(outcome(t, seconds_per_step=1e-6 * t.data.n_samples, peak_bytes=1e6) for t in growth_axis(CPU, "N")),
        outcome(on_gpu(R_MNIST), curve=[point(1.0, 0.8)], reached=point(1.0, 0.8)),
        outcome(
            on_gpu(Task(experiment="profile", method="ours", data=MNIST)), seconds_per_step=1e-3,
            parts={"products": 6e-4, "features": 4e-4}, operations=1e9, product_rate=1e13,
        ),
    )  # fmt: skip
    figures = draw_figures(found, tmp_path)
    assert set(figures) == {"cpu-walltime", "cpu-growth", "cuda-quality", "cuda-parts"}
    page = page_text(found, figures)
    for name in figures.values():
        assert (tmp_path / name).stat().st_size > 0
        assert f"({name})" in page
    for words in ("Machine: a processor.", "Machine: a card.", "stopped after 60 s", "not tried", "60 %", "10.0 |"):
        assert words in page
    assert "mean nothing" not in page
    assert "mean nothing" in page_text(found, figures, trial=True)


def test_without_outcomes_every_claim_is_not_measured():
    rows = claim_rows(results())
    assert len(rows) == len(all_claims())
    assert {row[3] for row in rows} == {"not measured"}
