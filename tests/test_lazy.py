import copy
import gc
import pickle
import threading
import time
import weakref

import numpy as np
import pytest

from mvlvm.lazy import Lazy


def test_a_value_is_computed_once_by_the_thread_that_asks_first():
    calls = []

    def compute():
        calls.append(threading.get_ident())
        time.sleep(0.05)
        return object()

    lazy, found = Lazy(compute), []
    threads = [threading.Thread(target=lambda: found.append(lazy.value)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert len(found) == 8
    assert all(value is found[0] for value in found)


def test_what_the_function_refers_to_is_released_when_the_value_is_known():
    data = np.zeros(3)
    alive, lazy = weakref.ref(data), Lazy(lambda data=data: data.sum())
    dependent = Lazy(lambda total: total + 1, lazy)
    del data
    assert alive() is not None
    assert dependent.value == 1.0
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_exception_leaves_the_value_to_be_computed_at_the_next_use(error):
    outcomes = [error, 5]

    def compute():
        outcome = outcomes.pop(0)
        if outcome is error:
            raise error
        return outcome

    lazy = Lazy(compute)
    with pytest.raises(error):
        _ = lazy.value
    assert not lazy.is_computed
    assert lazy.value == 5


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda lazy: pickle.loads(pickle.dumps(lazy))])
def test_a_copy_is_computed(duplicate):
    lazy = Lazy(lambda needed: needed + 1, Lazy(lambda: 1))
    copied = duplicate(lazy)
    assert copied.is_computed
    assert copied.value == 2
    assert copied.seconds == lazy.seconds > 0


def test_seconds_exclude_the_values_that_are_needed():
    slow = Lazy(lambda: time.sleep(0.05))
    fast = Lazy(lambda _: None, slow)
    assert fast.value is None
    assert slow.seconds >= 0.05 > fast.seconds


def test_a_known_value_takes_no_time():
    known = Lazy.known("value")
    assert known.is_computed
    assert (known.value, known.seconds) == ("value", 0.0)
