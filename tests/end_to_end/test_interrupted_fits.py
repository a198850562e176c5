import signal

import pytest

from tests.end_to_end.interrupted_fits import count_outcomes


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::mvlvm.ConvergenceWarning")
def test_interrupts_at_random_moments_leave_a_usable_estimator_or_the_previous_fit():
    before = signal.getsignal(signal.SIGINT)
    try:
        assert count_outcomes(20).total() == 20
    finally:
        signal.signal(signal.SIGINT, before)
