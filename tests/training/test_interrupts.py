import signal
import threading

import pytest

from mvlvm.training.history import History
from mvlvm.training.interrupts import Interrupts


@pytest.fixture(autouse=True)
def default_handler():
    """A test suite in the background ignores interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def press_ctrl_c():
    signal.raise_signal(signal.SIGINT)


def test_an_interrupt_is_raised_before_it_is_deferred():
    with pytest.raises(KeyboardInterrupt), Interrupts():
        press_ctrl_c()


def test_a_deferred_interrupt_requests_a_stop_and_a_second_one_raises():
    with Interrupts() as interrupts:
        interrupts.defer()
        interrupts.raise_if_requested()
        press_ctrl_c()
        assert interrupts.requested
        with pytest.raises(KeyboardInterrupt):
            interrupts.raise_if_requested()
        with pytest.raises(KeyboardInterrupt):
            press_ctrl_c()


def test_a_handler_of_the_program_is_left_alone():
    calls = []
    signal.signal(signal.SIGINT, lambda *_: calls.append(1))
    with Interrupts() as interrupts:
        interrupts.defer()
        press_ctrl_c()
    assert (calls, interrupts.requested) == ([1], False)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_other_threads_do_not_change_handlers():
    def run():
        with Interrupts():
            handlers.append(signal.getsignal(signal.SIGINT))

    handlers = []
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]


def test_a_step_that_was_recorded_in_part_is_dropped():
    history = History()
    for _ in range(2):
        history.record(1.0, {"elbo": 1.0}, seconds=0.0, learning_rate=0.1)
    history.bound.append(2.0)
    history.drop_incomplete_step()
    assert {name: len(column) for name, column in history.as_arrays().items()} == {
        "objective": 2, "elbo": 2, "seconds": 2, "learning_rate": 2,
    }  # fmt: skip
