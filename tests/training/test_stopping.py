import math

import numpy as np
import pytest

from mvlvm.training.stopping import rise_between_windows


def test_anything_is_possible_before_two_windows_have_passed():
    assert rise_between_windows([0.0] * 19, window=10) == (math.inf, math.inf)


def test_anything_is_possible_in_a_window_too_short_to_show_its_noise():
    assert rise_between_windows([0.0, 1.0], window=1) == (math.inf, math.inf)


def test_rise_of_a_noiseless_bound_is_exact():
    assert rise_between_windows([9.0] * 5 + [1.0] * 10 + [1.5] * 10, window=10) == (0.5, 0.5)


def test_rise_of_a_noisy_bound_is_known_to_two_standard_errors():
    bounds = np.random.default_rng(0).normal(size=40)
    before, last = bounds[:20], bounds[20:]
    rise = last.mean() - before.mean()
    error = math.sqrt(last.var(ddof=1) / 20 + before.var(ddof=1) / 20)
    expected = (rise, rise + 2 * error)
    assert rise_between_windows(bounds.tolist(), window=20) == pytest.approx(expected, rel=1e-12)


def test_the_true_rise_is_exceeded_as_often_as_two_standard_errors_say():
    random, n_trials, rise = np.random.default_rng(0), 1000, 0.3
    covered = 0
    for _ in range(n_trials):
        bounds = random.normal(size=100) + np.repeat([0, rise], 50)
        covered += rise < rise_between_windows(bounds.tolist(), window=50).at_most
    share = 0.5 * (1 + math.erf(2 / math.sqrt(2)))
    # Student's t with about 98 degrees of freedom lowers the share by less than 0.004
    assert abs(covered / n_trials - share) < 0.004 + 4 * math.sqrt(share * (1 - share) / n_trials)
