import numpy as np
import pytest

from benchmarks.speed.step_profile import (
    OPERATORS,
    growth_exponent,
    part_of,
    product_operations,
    profile_step,
    seconds_per_step,
)
from mvlvm import NGMVLVM


def test_the_growth_exponent_is_that_of_a_power_law():
    sizes = np.array([10, 30, 100, 1000])
    assert growth_exponent(sizes.tolist(), (3e-4 * sizes**1.5).tolist()) == pytest.approx(1.5)
    assert growth_exponent(sizes.tolist(), [2.0] * 4) == pytest.approx(0.0)


def test_an_exponent_needs_two_sizes():
    with pytest.raises(ValueError, match="two sizes or more"):
        growth_exponent([5, 5], [1.0, 2.0])


def test_the_step_time_excludes_warm_up_and_is_robust_to_outliers():
    steps = np.full(40, 0.25)
    steps[:10] = 9.0
    steps[20] = 50.0
    assert seconds_per_step(np.cumsum(steps).tolist(), warm_up=10) == pytest.approx(0.25)


def test_the_step_time_is_correct_if_steps_are_recorded_in_batches():
    late = np.repeat(np.arange(1, 11) * 1.0, 10)  # ten steps at a time, recorded together
    assert seconds_per_step(late.tolist(), warm_up=20) == pytest.approx(0.1, rel=0.2)


def test_without_warm_up_the_first_step_is_included():
    assert seconds_per_step([2.0, 4.0], warm_up=0) == 2.0
    with pytest.raises(ValueError, match="There must be more steps"):
        seconds_per_step([1.0], warm_up=1)


def test_operators_and_kernels_are_assigned_to_parts_of_a_step():
    assert part_of("aten::mm") == "products"
    assert part_of("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n") == "products"
    assert part_of("aten::linalg_cholesky_ex") == "factorisations"
    assert part_of("aten::_foreach_addcdiv_") == "optimiser"
    assert part_of("aten::cos") == "features"
    assert part_of("aten::normal_") == "random numbers"
    assert part_of("aten::mul") == "other operators"


def test_the_operations_of_a_step_are_those_of_its_products():
    F = 4
    by_hand = sum(1.5 * (2 * 100 * F * F) + 2 * (2 * 100 * F * M) + F**3 for M in (7, 3))
    assert product_operations([(100, 7), (100, 3)], F) == by_hand


def test_the_parts_of_a_step_account_for_its_time():
    rng = np.random.default_rng(0)
    views = {"a": rng.normal(size=(60, 8)), "b": rng.normal(size=(60, 5))}
    est = NGMVLVM(n_points=4, device="cpu", random_state=0)
    found = profile_step(views, est, n_steps=6, n_features=2 * 2 * 4)
    assert set(found["parts"]) == {*OPERATORS, "other operators", "outside PyTorch"}
    assert sum(found["parts"].values()) >= found["seconds_per_step"] * 0.999
    assert found["parts"]["products"] > 0
    assert found["operations"] > 60 * 16 * 3 * 16 * 2
    assert found["product_rate"] > 0
