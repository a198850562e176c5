"""The training loop behind the comparison of schedules."""

import numpy as np
import pytest

from benchmarks.quality.prediction_scores import QUICK_STEPS
from benchmarks.quality.schedule_fits import (
    FROM_PCA,
    FROM_TRUTH,
    PCA_ALONE,
    LearningSchedule,
    ScheduleTask,
    recovery,
    train_with,
)
from benchmarks.quality.schedules import COMPARED, VARIANTS


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(40, 6))
    return ScheduleTask({"a": Y}, lambda X: float(X[0, 0]))


@pytest.mark.parametrize("name", [*COMPARED, *VARIANTS])
def test_every_schedule_runs_few_steps_in_quick_cells(task, name):
    metrics = train_with(task, (COMPARED | VARIANTS)[name], seed=0, quick=True)
    assert metrics["steps"] == QUICK_STEPS
    assert np.isfinite(metrics["bound"])
    assert metrics["init"] == "pca"


def test_rate_decays_after_convergence(task):
    metrics = train_with(task, LearningSchedule(steps=400, rate=1e-6, cool=20, flat=1.0), seed=0)
    assert metrics["steps"] == 100 + 20  # two windows, and the decay


def test_training_raises_the_bound(task):
    short, long = (train_with(task, LearningSchedule(steps=n, rate=0.05), seed=0)["bound"] for n in (2, 100))
    assert long > short + 0.1


@pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning")
def test_recovery_starts_from_pca_or_from_the_truth():
    r2 = {method: recovery(method, 5, quick=True)["R2"] for method in (PCA_ALONE, FROM_PCA, FROM_TRUTH)}
    assert r2[FROM_PCA] == pytest.approx(r2[PCA_ALONE], abs=0.05)  # a few steps do not go far
    assert r2[FROM_TRUTH] > 0.95 > r2[PCA_ALONE]
