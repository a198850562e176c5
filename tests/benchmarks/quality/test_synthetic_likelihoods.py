"""Simulated data are drawn from their densities, and structure is scored by its pattern."""

import numpy as np
import pytest

from benchmarks.cells import Cell
from benchmarks.quality.synthetic_likelihoods import (
    DISTRIBUTIONS,
    N_FITTED,
    SPECIFIED,
    STRUCTURE_TASKS,
    SYNTHETIC_TASKS,
    LabelledTable,
    SyntheticViews,
    off_pattern,
    on_pattern,
)

pytestmark = pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning")


def make_cell(data, method):
    return Cell(study="likelihoods", method=method, data=data, settings={"quick": True}, device="cpu")


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_data_are_drawn_from_their_density(name):
    """The mean log density of draws is minus the entropy: compare with fresh draws at the same functions."""
    drawn, rng = SyntheticViews.of(name, 0), np.random.default_rng(1)
    f, distribution = drawn.new_f, DISTRIBUTIONS[name]
    values = distribution.log_density(drawn.new["b"], f)
    fresh = np.stack([distribution.log_density(distribution.draw(f, rng), f).mean() for _ in range(50)])
    assert values.mean() == pytest.approx(fresh.mean(), abs=4 * fresh.std())
    assert all((np.ptp(Y, axis=0) > 0).all() for Y in drawn.views.values())
    assert {len(Y) for Y in drawn.views.values()} == {N_FITTED}
    assert f.shape == drawn.new["b"].shape


def test_labels_are_drawn_from_their_probabilities():
    data = LabelledTable.of(0)
    counts, expected = np.bincount(data.codes, minlength=5), data.probabilities.sum(axis=0)
    variances = (data.probabilities * (1 - data.probabilities)).sum(axis=0)
    assert np.abs(counts - expected).max() < 4 * np.sqrt(variances).max()


@pytest.mark.slow
@pytest.mark.parametrize("data", ["synthetic-poisson", "synthetic-categorical"])
def test_true_functions_have_the_highest_density(data):
    density = {
        method: task(make_cell(data, method))["log density"] for method, task in SYNTHETIC_TASKS[data].items()
    }  # fmt: skip
    assert max(density, key=lambda method: density[method]) == "true functions"


def test_off_and_on_pattern_relevance():
    relevance = np.array([[0.5, 0.45, 0.05], [0.36, 0.04, 0.6]])
    assert off_pattern(relevance, (0, 1, 2)) == pytest.approx(max(0.05 / 0.5, 0.04 / 0.6))
    assert on_pattern(relevance, (0, 1, 2)) == pytest.approx(0.36 / 0.6)


def test_private_dimension_has_no_relevance_for_the_other_view():
    metrics = STRUCTURE_TASKS["shared-private"][SPECIFIED](make_cell("shared-private", SPECIFIED))
    assert metrics["off pattern"] == 0
    assert 0 <= metrics["shared"] <= 1


def test_error_of_the_number_of_factors_is_absolute():
    metrics = STRUCTURE_TASKS["components"]["3 factors"](make_cell("components", "3 factors"))
    assert metrics["true"] == 3
    assert metrics["absolute error"] == abs(metrics["inferred"] - 3)
