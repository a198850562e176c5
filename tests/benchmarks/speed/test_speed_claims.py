from dataclasses import replace

import pytest

from benchmarks.cells import STOPPED
from benchmarks.speed.benchmark_data import BRIDGES, N_MNIST
from benchmarks.speed.methods import NAIVE, OURS
from benchmarks.speed.naive import PAPER_LEARNING_RATE
from benchmarks.speed.speed_claims import speed_claims
from benchmarks.speed.speed_plan import (
    GPU_TARGET,
    N_MILLION,
    PEERS,
    QUALITY,
    growth_axis,
    precision_cell,
    speed_cell,
    speed_cells,
)
from benchmarks.study import NO, TIE, YES
from tests.benchmarks.speed.speed_records import mnist, naive, point, r_mnist, record, results, steps

FIVE_TIMES = "a step at N = 70,000 is at least 5 times"


def judged(found, words):
    (claim,) = [claim for claim in speed_claims() if words in claim.statement]
    return claim.judge(found)


def step_records(rounds, n=N_MNIST):
    """Return the records of rounds, pairs of the seconds of NG-MVLVM and of the naive implementation."""
    return [
        record(replace(steps(method, n), seed=seed), seconds_per_step=seconds, peak_bytes=1e8)
        for seed, pair in enumerate(rounds)
        for method, seconds in zip((OURS, NAIVE), pair, strict=True)
    ]


def test_step_times_are_compared_within_one_run():
    verdict = judged(results(*step_records([(0.1, 0.6)])), FIVE_TIMES)
    assert verdict.holds == YES
    assert verdict.measured == "6.0 times (100 ms and 600 ms)"
    assert judged(results(*step_records([(0.1, 0.4)])), FIVE_TIMES).holds == NO
    ours, other = step_records([(0.1, 0.6)])
    assert judged(results(ours, replace(other, run="second")), FIVE_TIMES) is None


@pytest.mark.parametrize(("rounds", "holds"), [
    ([(0.10, 0.60), (0.10, 0.61), (0.10, 0.59)], YES),
    ([(0.10, 0.40), (0.10, 0.41), (0.10, 0.39)], NO),
    ([(0.10, 0.60), (0.30, 0.60), (0.11, 0.50)], TIE),
    ([(0.10, 0.52), (0.10, 0.49), (0.10, 0.51)], TIE),
])  # fmt: skip
def test_a_ratio_within_two_standard_errors_of_the_claim_is_a_tie(rounds, holds):
    assert judged(results(*step_records(rounds)), FIVE_TIMES).holds == holds


def test_step_times_of_several_rounds_are_reported_as_median_and_range():
    verdict = judged(results(*step_records([(0.10, 0.6), (0.30, 0.6), (0.11, 0.5)])), FIVE_TIMES)
    assert verdict.measured == "5.5 times (110 ms and 600 ms; 3 rounds, 2.0 to 6.0)"


@pytest.mark.parametrize(("ours", "holds"), [(3.0e8, YES), (3.1e8, NO)])
def test_the_memory_claim_requires_a_third(ours, holds):
    pair = [record(steps(), seconds_per_step=1.0, peak_bytes=ours), record(steps(NAIVE), peak_bytes=9e8)]
    assert judged(results(*pair), "a third").holds == holds
    assert judged(results(*pair), "at most 1.2 GB").holds == YES


def test_the_default_initialisation_and_auto_are_separate_claims():
    curve = [point(16.0, 0.80), point(14.0, 0.785), point(14.5, 0.79)]
    default, auto = "the default initialisation reaches 79 %", '`init="auto"` reaches 79 %'
    both = results(record(r_mnist(), curve=[point(1.0, 0.5)]), record(r_mnist("auto"), curve=curve))
    assert judged(both, auto).holds == YES
    assert judged(both, auto).measured == "14.5 s, 79.0 %"
    assert judged(both, default).holds == NO
    assert judged(both, default).measured == "not reached; 50.0 % at best"
    assert judged(results(record(r_mnist(), curve=curve)), default).holds == YES
    assert judged(results(record(r_mnist(), curve=curve[:1])), default).holds == NO  # too late
    assert judged(results(record(r_mnist(), curve=curve)), auto) is None


def test_a_stopped_naive_fit_counts_with_the_time_it_ran():
    ours = record(mnist(), curve=[point(10.0, 0.83)])
    never = record(mnist(NAIVE), status=STOPPED, curve=[point(90.0, 0.5)])
    verdict = judged(results(ours, never), "82.72")
    assert verdict.holds == YES
    assert "more than 90 s" in verdict.measured
    soon = record(mnist(NAIVE), curve=[point(79.0, 0.83)])
    assert judged(results(ours, soon), "82.72").holds == NO
    latents = record(mnist(), curve=[{**point(10.0, 0.83), "latent_seconds": 9.0}])
    verdict = judged(results(latents, soon), "82.72")
    assert verdict.holds == YES  # the naive implementation ends with the latents
    assert "10 s until the fit can predict" in verdict.measured
    behind = record(mnist(), curve=[point(1.0, 0.8)])
    assert judged(results(behind, soon), "82.72").holds == NO


def test_the_growth_claim_requires_the_largest_size():
    cells = growth_axis("N", "cpu")
    linear = [record(cell, seconds_per_step=1e-6 * n, peak_bytes=1e6) for n, cell in cells.items()]
    steep = [record(cell, seconds_per_step=1e-6 * n**1.2, peak_bytes=1e6) for n, cell in cells.items()]
    assert judged(results(*linear), "to 100,000").holds == YES
    assert judged(results(*linear), "to 100,000").measured == "exponent 1.00"
    assert judged(results(*steep), "to 100,000").holds == NO
    assert judged(results(*linear[:-1]), "to 100,000") is None


def test_gpu_claims_are_judged_by_gpu_records():
    cells = [precision_cell("cuda", rate, dtype) for rate in (PAPER_LEARNING_RATE, None) for dtype in (None, "float64")]
    bounds = zip(cells, (-1e6 - 50, -1e6, -2e6 - 1000, -2e6), strict=True)
    found = results(
        record(steps(device="cuda"), seconds_per_step=1.5e-3, peak_bytes=1e9),
        record(steps(n=N_MILLION, device="cuda"), seconds_per_step=21e-3, peak_bytes=11e9),
        *(record(cell, bound=bound) for cell, bound in bounds),
        record(mnist(device="cuda", target=GPU_TARGET), curve=[point(9.0, 0.86, training=0.45), point(8.0, 0.9, 2.0)]),
    )
    assert judged(found, "a step at N = 70,000 takes").holds == YES
    assert judged(found, "a step at N = 1,000,000 takes").holds == NO
    assert judged(found, "N = 1,000,000 needs").holds == NO
    assert judged(found, "float64").holds == YES
    assert judged(found, "float64").measured == "5.0e-05; 5.0e-04 at the default learning rate of 0.05"
    assert judged(found, "0.5 s of training").holds == YES
    assert judged(found, FIVE_TIMES) is None


def test_every_gaussian_process_and_factor_analysis_counts():
    found = [
        record(speed_cell(PEERS, method, BRIDGES, "cpu"), accuracy=accuracy, peak_bytes=1e6)
        for method, accuracy in ((OURS, 0.8), ("MRD", 0.69), ("MOFA", 0.6), ("t-SNE", 0.9))
    ]
    times = {OURS: 5.0, "MRD": 3.0, "MOFA": 1.0, "t-SNE": 0.1}
    timed = [replace(r, metrics={**r.metrics, "seconds": times[r.cell.method]}) for r in found]
    timed.append(record(speed_cell(QUALITY, OURS, BRIDGES, "cpu"), curve=[point(2.0, 0.7)], reached=None))
    assert judged(results(*timed), "every Gaussian process").measured == "1 of 2 comparisons, one run each"
    assert judged(results(*timed), "every Gaussian process").holds == NO
    without_mofa = [r for r in timed if r.cell.method != "MOFA"]
    assert judged(results(*without_mofa), "every Gaussian process").holds == TIE  # one run has no standard error
    stopped = [replace(r, status=STOPPED) if r.cell.method == "MRD" else r for r in timed]
    text = judged(results(*stopped), "every Gaussian process").measured
    assert text.endswith("1 more with fits that were stopped at their time limit")


def test_claims_refer_to_cells_of_the_study():
    cells = set(speed_cells(0, False))
    on_cpu = {steps(), steps(NAIVE), r_mnist(), r_mnist("auto"), mnist(), naive(mnist())}
    on_gpu = {steps(n=N_MILLION, device="cuda"), mnist(device="cuda", target=GPU_TARGET)}
    assert on_cpu | on_gpu | {precision_cell("cuda", None, "float64")} <= cells


def test_without_records_no_claim_is_judged():
    assert len(speed_claims()) == len({claim.statement for claim in speed_claims()}) == 17
    assert {claim.judge(results()) for claim in speed_claims()} == {None}
