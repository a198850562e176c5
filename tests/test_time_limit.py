"""`stop_after` interrupts a fit; methods that keep their unfinished result end normally."""

import threading
import time

import numpy as np
import pytest

from mvlvm import ConvergenceWarning, baselines
from mvlvm.time_limit import is_limit_reached


def views():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    return {"a": np.sin(X @ rng.normal(size=(2, 8))), "b": X @ rng.normal(size=(2, 5))}


def test_a_method_that_keeps_its_result_is_stopped_early():
    baselines.get("MVAE")(max_iter=2, random_state=0).fit(views())  # imports take longer than the limit
    estimator = baselines.get("MVAE")(max_iter=20_000, random_state=0)
    begin = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="interrupted"), baselines.stop_after(1.5) as limit:
        estimator.fit(views())
    assert limit.reached
    assert time.monotonic() - begin < 20
    assert np.isfinite(estimator.embedding_).all()


def test_any_other_computation_is_interrupted():
    with pytest.raises(KeyboardInterrupt), baselines.stop_after(0.1) as limit:
        time.sleep(30)
    assert limit.reached


class Finalised:
    def __del__(self):
        time.sleep(0.3)


def test_an_interrupt_that_arrives_in_a_finaliser_is_repeated():
    def call():
        Finalised()  # Python ignores exceptions in __del__
        time.sleep(30)

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt), baselines.stop_after(0.1) as limit:
        call()
    assert limit.reached
    assert time.monotonic() - begin < 10


def test_a_limit_that_is_not_reached_has_no_effect():
    with baselines.stop_after(0.2) as limit:
        pass
    time.sleep(0.4)
    assert not limit.reached


def test_limits_may_be_nested():
    with baselines.stop_after(30) as outer, pytest.raises(KeyboardInterrupt), baselines.stop_after(0.1) as inner:
        time.sleep(30)
    assert inner.reached
    assert not outer.reached


def test_an_unfinished_fit_can_be_told_from_a_complete_one():
    during = []
    with baselines.stop_after(0.1):
        try:
            during.append(is_limit_reached())
            time.sleep(30)
        except KeyboardInterrupt:
            during.append(is_limit_reached())
    assert during == [False, True]
    assert not is_limit_reached()


def test_only_the_main_thread_can_be_interrupted():
    errors = []

    def call():
        try:
            with baselines.stop_after(1):
                pass
        except ValueError as error:
            errors.append(str(error))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert "must be called from it" in errors[0]
