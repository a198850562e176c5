"""Libraries may use the global generator and leave no trace."""

import numpy as np
import pytest

from mvlvm.baselines.global_draws import global_draws, small_seed


def test_draws_depend_on_the_seed_alone_and_leave_no_trace():
    np.random.seed(3)
    expected = np.random.random(2)
    np.random.seed(3)
    with global_draws(2**62 + 1):
        first = np.random.random(4)
    after = np.random.random(2)
    with global_draws(2**62 + 1):
        second = np.random.random(4)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(after, expected)


def test_a_failure_leaves_no_trace_either():
    before = np.random.get_state()[1].copy()
    with pytest.raises(ZeroDivisionError), global_draws(0):
        _ = np.random.randint(5) / 0
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_small_seeds_stay_as_they_are():
    assert small_seed(7) == 7
    assert small_seed(2**32 + 7) == 7
