import math

from mvlvm.training.schedule import rise_between_windows


def test_anything_is_possible_before_two_windows_have_passed():
    assert rise_between_windows([0.0] * 19, window=10) == math.inf


def test_anything_is_possible_in_a_window_too_short_to_average_out_its_noise():
    assert rise_between_windows([0.0, 1.0], window=1) == math.inf


def test_rise_of_a_noiseless_bound_is_exact():
    assert rise_between_windows([9.0] * 5 + [1.0] * 10 + [1.5] * 10, window=10) == 0.5
