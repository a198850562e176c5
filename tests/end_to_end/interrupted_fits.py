"""Fits that are interrupted at random moments; `python -m tests.end_to_end.interrupted_fits [N]` counts the outcomes.

Every fit ends with a usable estimator, or before its first step with KeyboardInterrupt and the attributes of the fit
before. None goes on as if nothing had happened.
"""

import signal
import sys
import threading
import time
import warnings
from collections import Counter

import numpy as np
import torch

from mvlvm import NGMVLVM

MAX_ITER = 300


def make_views(n_samples=150):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 2))
    views = {name: np.sin(X @ rng.normal(size=(2, width))) for name, width in (("a", 20), ("b", 12))}
    views["b"][rng.random(views["b"].shape) < 0.1] = np.nan
    return views


def outcome_of_interrupt(delay, views, weight):
    """Fit an estimator a second time, interrupt it after some seconds, and describe how it ended."""
    est = NGMVLVM(n_points=8, max_iter=2, tol=0.0, random_state=1).fit(views)
    before = dict(vars(est))
    est.set_params(init="auto", max_iter=MAX_ITER)
    timer = threading.Timer(delay, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    begin = time.perf_counter()
    timer.start()
    try:
        est.fit(views, sample_weight=weight)
    except KeyboardInterrupt:
        fitted = {name: value for name, value in vars(est).items() if name.endswith("_")}
        assert all(before[name] is value for name, value in fitted.items()), "attributes are half assigned"
        return "raised before the first step"
    finally:
        timer.cancel()
    late = time.perf_counter() - begin < delay
    check_usable(est, views)
    if est.stop_reason_ == "interrupted":
        return "kept the model of a trial" if est.n_iter_ <= 100 else "kept the model"
    assert late or est.n_iter_ == MAX_ITER, "the interrupt was ignored"
    return "was complete before the interrupt" if late else "was complete at the interrupt"


def check_usable(est, views):
    """Check that attributes belong to one fit, and that the estimator predicts."""
    assert len({len(column) for column in est.history_.values()} | {est.n_iter_}) == 1
    assert np.array_equal(est.embedding_, est.model_.model.latent.mean.detach().double().numpy())
    assert np.isfinite(est.predict({"a": views["a"][:2]}, target="b")).all()
    assert np.isfinite(est.elbo_)


def count_outcomes(n_fits, seed=0):
    """Interrupt fits at random moments, and count how they end."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    views, rng = make_views(), np.random.default_rng(seed)
    weight = np.ones(len(views["a"]))
    weight[:10] = 0.0
    est = NGMVLVM(n_points=8, max_iter=MAX_ITER, tol=0.0, init="auto", random_state=1)
    durations = []
    for _ in range(2):  # the first fit of a process takes longer
        begin = time.perf_counter()
        est.fit(views, sample_weight=weight)
        durations.append(time.perf_counter() - begin)
    duration = min(durations)
    return Counter(outcome_of_interrupt(delay, views, weight) for delay in rng.uniform(0, duration, n_fits))


if __name__ == "__main__":
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for outcome, count in count_outcomes(int(sys.argv[1]) if len(sys.argv) > 1 else 100).most_common():
            print(f"{count:4} {outcome}")
