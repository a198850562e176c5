"""Theorem 4: convergence rate of the measured error, and the bound."""

import numpy as np
import pytest
import torch

from mvlvm.experiments import theorem_four
from mvlvm.experiments.theorem_four import THEOREM_FOUR, measure, write
from mvlvm.kernels import ngsm_kernel
from mvlvm.randomness import Stream, make_generator
from tests import oracles
from tests.experiments.stored_results import grid_cell, results_from_cells

FEATURES = "random features"


def cell(n_points, data="N = 20", seed=0):
    return grid_cell(THEOREM_FOUR, data, FEATURES, seed=seed, P=n_points)


def kernel_matrix(seed=0):
    X, density = theorem_four._problem(20, make_generator(seed, Stream.INITIALISATION))
    return ngsm_kernel(X, X, density), density


def test_measured_error_decreases_at_the_monte_carlo_rate():
    errors = [measure(cell(P)).numbers["mean"] for P in (20, 200, 2000)]
    # over seeds, the slope from 50 draws each has a standard deviation of about 0.03
    assert np.polyfit(np.log([20, 200, 2000]), np.log(errors), 1)[0] == pytest.approx(-0.5, abs=0.1)


def test_bound_is_the_printed_one_at_probability_one_tenth():
    K, density = kernel_matrix()
    norm = np.linalg.norm(K.numpy(), 2)
    numbers = measure(cell(50)).numbers
    printed = oracles.printed_error_bound(numbers["promised"] * norm, K.numpy(), density.alpha.numpy(), 50)
    assert printed == pytest.approx(0.1)
    asked = int(numbers["points asked"])
    levels = [oracles.printed_error_bound(0.1 * norm, K.numpy(), density.alpha.numpy(), P) for P in (asked, asked - 1)]
    assert levels[0] <= 0.1 < levels[1]


def test_no_error_exceeds_the_largest_possible_error():
    K, density = kernel_matrix()
    limit = measure(cell(1)).numbers["largest possible"] * torch.linalg.matrix_norm(K, ord=2)
    assert limit == pytest.approx(20 * density.alpha.sum().item())
    assert measure(cell(1)).numbers["nine tenths"] <= limit


def test_draws_differ_between_seeds_and_are_reproducible():
    first, again, other = (measure(cell(10, seed=seed)).numbers["mean"] for seed in (0, 0, 1))
    assert first == again != other


def stored_cells(slope, seeds=(0,), beyond=0.0):
    for seed in seeds:
        for P in (10, 1000):
            error = 0.5 * (P / 10) ** slope
            numbers = {"mean": error, "nine tenths": 2 * error, "promised": 20 * error, "largest possible": 30.0,
                       "points asked": 5000.0, "beyond": beyond, "draws": 50}  # fmt: skip
            yield cell(P, seed=seed), numbers, {}


@pytest.mark.parametrize("slope", [-0.5, -0.2])
def test_table_has_slopes_and_required_numbers_of_points(tmp_path, slope):
    page = write(results_from_cells(THEOREM_FOUR, tmp_path, stored_cells(slope, seeds=(0, 1))))
    head, row = page.tables[0].rows
    shown = dict(zip(head, row, strict=True))
    assert shown["slope: measured, mean of draws"] == f"{slope:.3f} ± 0.000 (2)"
    assert shown["latents"] == "N = 20"
    # the 90 % quantile is 1.0 (P / 10)^slope
    needed = 10 * 0.1 ** (1 / slope)
    assert row[-1] == f"{needed:.0f} ± 0 (2)"
    assert row[-2] == "5000 ± 0 (2)"


def test_draws_above_the_bound_are_counted(tmp_path):
    page = write(results_from_cells(THEOREM_FOUR, tmp_path, stored_cells(-0.5, seeds=(0, 1), beyond=0.04)))
    head, *rows = page.tables[1].rows
    assert head[-1] == "draws above the bound"
    assert [row[-1] for row in rows] == ["4 of 100", "4 of 100"]
    assert [row[-2] for row in rows] == ["10.0", "10.0"]
    assert list(page.figures) == ["curves"]


def test_single_number_of_points_has_no_slope(tmp_path):
    page = write(results_from_cells(THEOREM_FOUR, tmp_path, list(stored_cells(-0.5))[:1]))
    assert page.tables[0].rows[1][1] == "-"
