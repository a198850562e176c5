"""Theorem 4: convergence rate of the measured error, and the bound."""

import numpy as np
import pytest
import torch

from benchmarks.paper import theorem_four
from benchmarks.paper.theorem_four import THEOREM_FOUR, measure, page
from benchmarks.study import NO, YES
from mvlvm.kernels import ngsm_kernel
from mvlvm.randomness import Stream, make_generator
from tests import oracles
from tests.benchmarks.paper import stored_results
from tests.benchmarks.paper.stored_results import figures_of, results_from_cells, tables_of, verdicts

FEATURES = "random features"


def cell(n_points, data="N = 20", seed=0):
    return stored_results.cell(THEOREM_FOUR, FEATURES, data=data, seed=seed, P=n_points)


def kernel_matrix(seed=0):
    X, density = theorem_four._problem(20, make_generator(seed, Stream.INITIALISATION))
    return ngsm_kernel(X, X, density), density


def test_measured_error_decreases_at_the_monte_carlo_rate():
    errors = [measure(cell(P)).metrics["mean"] for P in (20, 200, 2000)]
    # over seeds, the slope from 50 draws each has a standard deviation of about 0.03
    assert np.polyfit(np.log([20, 200, 2000]), np.log(errors), 1)[0] == pytest.approx(-0.5, abs=0.1)


def test_bound_is_the_printed_one_at_probability_one_tenth():
    K, density = kernel_matrix()
    norm = np.linalg.norm(K.numpy(), 2)
    metrics = measure(cell(50)).metrics
    printed = oracles.printed_error_bound(metrics["promised"] * norm, K.numpy(), density.alpha.numpy(), 50)
    assert printed == pytest.approx(0.1)
    needed = int(metrics["points asked"])
    levels = [
        oracles.printed_error_bound(0.1 * norm, K.numpy(), density.alpha.numpy(), P) for P in (needed, needed - 1)
    ]
    assert levels[0] <= 0.1 < levels[1]


def test_no_error_exceeds_the_largest_possible_error():
    K, density = kernel_matrix()
    limit = measure(cell(1)).metrics["largest possible"] * torch.linalg.matrix_norm(K, ord=2)
    assert limit == pytest.approx(20 * density.alpha.sum().item())
    assert measure(cell(1)).metrics["nine tenths"] <= limit


def test_draws_differ_between_seeds_and_are_reproducible():
    first, again, other = (measure(cell(10, seed=seed)).metrics["mean"] for seed in (0, 0, 1))
    assert first == again != other


def stored_cells(slope, seeds=(0,), above=0.0):
    for seed in seeds:
        for P in (10, 1000):
            error = 0.5 * (P / 10) ** slope
            metrics = {"mean": error, "nine tenths": 2 * error, "promised": 20 * error, "largest possible": 30.0,
                       "points asked": 5000.0 + 100 * seed, "beyond": above, "draws": 50}  # fmt: skip
            yield cell(P, seed=seed), metrics, {}


@pytest.mark.parametrize("slope", [-0.5, -0.2])
def test_table_has_slopes_and_required_numbers_of_points(tmp_path, slope):
    parts = page(results_from_cells(THEOREM_FOUR, tmp_path, stored_cells(slope, seeds=(0, 1))))
    head, row = tables_of(parts)[0].rows
    shown = dict(zip(head, row, strict=True))
    assert shown["slope: measured, mean"] == f"{slope:.3f} ± 0.000 (2)"
    assert shown["latents"] == "N = 20"
    # the 90 % quantile is 1.0 (P / 10)^slope
    needed = 10 * 0.1 ** (1 / slope)
    assert row[-1] == f"{needed:.0f} ± 0 (2)"
    # 5000 and 5100, one value per seed: the sample standard deviation is 100 / sqrt(2)
    assert row[-2] == "5050 ± 71 (2)"


def test_draws_above_the_bound_are_counted(tmp_path):
    parts = page(results_from_cells(THEOREM_FOUR, tmp_path, stored_cells(-0.5, seeds=(0, 1), above=0.04)))
    head, *rows = tables_of(parts)[1].rows
    assert head[-1] == "draws above the bound"
    assert [row[-1] for row in rows] == ["4 of 100", "4 of 100"]
    assert [row[-2] for row in rows] == ["10.0", "10.0"]
    (draw,) = figures_of(parts).values()
    assert draw().axes[0].get_xlabel() == "spectral points per mixture, P"


def test_single_number_of_points_has_no_slope(tmp_path):
    results = results_from_cells(THEOREM_FOUR, tmp_path, list(stored_cells(-0.5))[:1])
    assert tables_of(page(results))[0].rows[1][1] == "-"
    assert verdicts(THEOREM_FOUR, results)[1] is None


@pytest.mark.parametrize(("slope", "above", "holds"), [
    (-0.5, 0.04, (YES, YES)), (-0.52, 0.1, (YES, YES)), (-0.4, 0.12, (NO, NO)),
])  # fmt: skip
def test_claims_on_bound_and_rate(slope, above, holds, tmp_path):
    results = results_from_cells(THEOREM_FOUR, tmp_path, stored_cells(slope, seeds=(0, 1), above=above))
    bound, rate = verdicts(THEOREM_FOUR, results)
    assert (bound[1], rate[1]) == holds
    assert bound[0] == f"{100 - 100 * above:.1f} % in the worst of 2 settings"
    assert rate[0] == f"{slope:.3f}"
