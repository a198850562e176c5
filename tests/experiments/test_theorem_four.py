import numpy as np
import pytest
import torch

from mvlvm.experiments import theorem_four
from mvlvm.experiments.theorem_four import THEOREM_FOUR, measure, write
from mvlvm.kernels import ngsm_kernel
from mvlvm.randomness import Stream, make_generator
from tests import oracles
from tests.experiments.stored_results import cell_of, found_of

FEATURES = "random features"


def cell(n_points, data="N = 20", seed=0):
    return cell_of(THEOREM_FOUR, data, FEATURES, seed=seed, P=n_points)


def kernel_matrix(seed=0):
    X, density = theorem_four._problem(20, make_generator(seed, Stream.INITIALISATION))
    return ngsm_kernel(X, X, density), density


def test_measured_errors_fall_at_the_monte_carlo_rate():
    errors = [measure(cell(P)).numbers["mean"] for P in (20, 200, 2000)]
    # over seeds the slope of 50 draws each spreads by about 0.03
    assert np.polyfit(np.log([20, 200, 2000]), np.log(errors), 1)[0] == pytest.approx(-0.5, abs=0.1)


def test_the_promise_is_the_printed_bound_at_one_in_ten():
    K, density = kernel_matrix()
    norm = np.linalg.norm(K.numpy(), 2)
    numbers = measure(cell(50)).numbers
    printed = oracles.printed_error_bound(numbers["promised"] * norm, K.numpy(), density.alpha.numpy(), 50)
    assert printed == pytest.approx(0.1)
    asked = int(numbers["points asked"])
    levels = [oracles.printed_error_bound(0.1 * norm, K.numpy(), density.alpha.numpy(), P) for P in (asked, asked - 1)]
    assert levels[0] <= 0.1 < levels[1]


def test_no_gram_matrix_can_be_further_off_than_the_line_says():
    K, density = kernel_matrix()
    limit = measure(cell(1)).numbers["largest possible"] * torch.linalg.matrix_norm(K, ord=2)
    assert limit == pytest.approx(20 * density.alpha.sum().item())
    assert measure(cell(1)).numbers["nine tenths"] <= limit


def test_draws_differ_between_seeds_and_repeat_for_one():
    first, again, other = (measure(cell(10, seed=seed)).numbers["mean"] for seed in (0, 0, 1))
    assert first == again != other


def results(slope, seeds=(0,), beyond=0.0):
    for seed in seeds:
        for P in (10, 1000):
            error = 0.5 * (P / 10) ** slope
            numbers = {"mean": error, "nine tenths": 2 * error, "promised": 20 * error, "largest possible": 30.0,
                       "points asked": 5000.0, "beyond": beyond, "draws": 50}  # fmt: skip
            yield cell(P, seed=seed), numbers, {}


@pytest.mark.parametrize("slope", [-0.5, -0.2])
def test_the_table_has_the_slope_of_the_errors_and_the_points_they_need(tmp_path, slope):
    page = write(found_of(THEOREM_FOUR, tmp_path, results(slope, seeds=(0, 1))))
    head, row = page.tables[0].rows
    shown = dict(zip(head, row, strict=True))
    assert shown["slope: measured, mean of draws"] == f"{slope:.3f} ± 0.000 (2)"
    assert shown["latents"] == "N = 20"
    # nine tenths are below 1.0 (P / 10)^slope
    needed = 10 * 0.1 ** (1 / slope)
    assert row[-1] == f"{needed:.0f} ± 0 (2)"
    assert row[-2] == "5000 ± 0 (2)"


def test_draws_beyond_the_promise_are_counted(tmp_path):
    page = write(found_of(THEOREM_FOUR, tmp_path, results(-0.5, seeds=(0, 1), beyond=0.04)))
    head, *rows = page.tables[1].rows
    assert head[-1] == "draws beyond the promise"
    assert [row[-1] for row in rows] == ["4 of 100", "4 of 100"]
    assert [row[-2] for row in rows] == ["10.0", "10.0"]
    assert list(page.figures) == ["curves"]


def test_one_number_of_points_has_no_slope(tmp_path):
    page = write(found_of(THEOREM_FOUR, tmp_path, list(results(-0.5))[:1]))
    assert page.tables[0].rows[1][1] == "-"
