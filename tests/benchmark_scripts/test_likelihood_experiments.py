"""Experiments on likelihoods: random data, scores and held-out labels."""

import numpy as np
import pytest
from scipy import stats

from binary_images import BinaryHalves
from cell_counts import CellCounts, fit_negative_binomial, logarithms
from discrete import class_shares, log_interval, log_loss, mean_log_share
from experiment import Effort, Experiment
from found_structure import off_pattern, on_pattern
from held_out_labels import judged_fit, split
from likelihoods import EXPERIMENTS
from mathematics import EXPERIMENTS as MATHEMATICS
from own_models import FITTED, SOURCES, Drawn, Labelled
from running import measure
from tests.datasets.real_data import need

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


@pytest.mark.parametrize(("logs", "highest"), [(False, np.inf), (True, np.inf), (False, 1), (False, 6)])
def test_probabilities_of_a_rounded_normal_variable_sum_to_one(logs, highest):
    top = int(min(highest, 3000))
    Y = np.arange(top + 1.0)[:, None]
    for mean, std in [(0.4, 0.3), (-2.0, 1.0), (3.0, 0.7)]:
        shares = np.exp(log_interval(Y, np.full_like(Y, mean), np.full_like(Y, std), highest=highest, logs=logs))
        # probability above the last count
        rest = 0.0 if np.isfinite(highest) else stats.norm.sf(np.log1p(top + 0.5) if logs else top + 0.5, mean, std)
        assert shares.sum() == pytest.approx(1 - rest, abs=1e-12)


def test_rounded_normal_probabilities_are_accurate_in_the_tails():
    Y = np.array([[2.0, 60.0, 500.0]])
    found = log_interval(Y, np.full_like(Y, 3.0), np.ones_like(Y))
    assert found[0, 0] == pytest.approx(np.log(stats.norm.cdf(-0.5) - stats.norm.cdf(-1.5)), rel=1e-12)
    # in the tail Phi(-a) is about phi(a) / a, and the far end of the interval is negligible
    for value, y in zip(found[0, 1:], (60, 500), strict=True):
        assert value == pytest.approx(stats.norm.logsf(y - 0.5 - 3), rel=1e-12)


def test_log_loss_and_class_probabilities():
    assert log_loss(np.array([[1.0, 0.0]]), np.array([[0.8, 0.4]])) == pytest.approx(-np.log([0.8, 0.6]).mean())
    shares = class_shares(np.array([[1.2, 0.5, -3.0]]))
    np.testing.assert_allclose(shares, np.array([[0.999, 0.5, 0.001]]) / 1.5)
    assert mean_log_share(np.array([1]), shares) == pytest.approx(np.log(0.5 / 1.5))


@pytest.mark.parametrize("kind", SOURCES)
def test_data_are_drawn_from_their_density(kind):
    """The mean log density of draws is minus the entropy: compare with fresh draws at the same functions."""
    drawn, rng = Drawn.of(kind, 0), np.random.default_rng(1)
    f, source = drawn.new_f, SOURCES[kind]
    values = source.log_density(drawn.new["b"], f)
    fresh = np.stack([source.log_density(source.draw(f, rng), f).mean() for _ in range(50)])
    assert values.mean() == pytest.approx(fresh.mean(), abs=4 * fresh.std())
    assert all((np.ptp(Y, axis=0) > 0).all() for Y in drawn.views.values())
    assert {len(Y) for Y in drawn.views.values()} == {FITTED}
    assert f.shape == drawn.new["b"].shape


def test_labels_are_drawn_from_their_probabilities():
    data = Labelled.of(0)
    shares = np.exp(data.f) / np.exp(data.f).sum(axis=1, keepdims=True)
    counts, expected = np.bincount(data.codes, minlength=5), shares.sum(axis=0)
    assert np.abs(counts - expected).max() < 4 * np.sqrt((shares * (1 - shares)).sum(axis=0)).max()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "methods"), [
    ("own-poisson", ["poisson", "gaussian", "gaussian on log(1 + y)", "true functions"]),
    ("own-categorical", ["categorical", "gaussian", "true functions"]),
])  # fmt: skip
def test_true_functions_have_the_highest_density(name, methods):
    numbers = {
        method: measure(BY_NAME[name], method, 0, Effort(most_steps=2, device="cpu")).numbers for method in methods
    }
    assert max(numbers, key=lambda method: numbers[method]["log density"]) == "true functions"


@need("mnist.npz")
def test_digits_are_binary():
    halves = BinaryHalves.of(0)
    assert all(set(np.unique(Y)) == {0.0, 1.0} for Y in (*halves.views.values(), *halves.new.values()))
    assert {name: Y.shape for name, Y in halves.views.items()} == {"left": (800, 392), "right": (800, 392)}


class Oracle:
    """An estimator that reconstructs the observed labels, and predicts class 1 for all others."""

    def __init__(self, views):
        self.label, self.classes_ = views["label"], {"label": [0, 1]}
        self.embedding_ = views["table"]

    def reconstruct(self):
        return {"label": np.eye(2)[np.where(np.isnan(self.label), 1, self.label).astype(int)]}

    def predict(self, views, *, target):
        assert set(views) == {"table"}
        return np.tile([0.25, 0.75], (len(views["table"]), 1))


def test_test_labels_are_missing_during_fitting_and_scored_afterwards():
    codes = np.array([0, 1] * 10)
    table = np.where(codes == 1, 1.0, -1.0)[:, None] + 1e-3 * np.arange(20)[:, None]
    shown, hidden = split(codes, 0)
    assert not set(shown) & set(hidden)
    seen = []

    def fit(views):
        seen.append(views["label"])
        return Oracle(views)

    numbers = judged_fit({"table": table}, codes, hidden, fit)
    assert np.isnan(seen[0][hidden]).all()
    np.testing.assert_array_equal(seen[0][shown], codes[shown])
    assert (numbers["predict"], numbers["reconstruct"], numbers["1-NN"]) == (50.0, 50.0, 100.0)
    assert numbers["log density"] == pytest.approx(np.log([0.25, 0.75]).mean())


def test_off_and_on_pattern_relevance():
    relevance = np.array([[0.5, 0.45, 0.05], [0.36, 0.04, 0.6]])
    assert off_pattern(relevance, (0, 1, 2)) == pytest.approx(max(0.05 / 0.5, 0.04 / 0.6))
    assert on_pattern(relevance, (0, 1, 2)) == pytest.approx(0.36 / 0.6)


def test_private_dimension_has_no_relevance_for_the_other_view():
    numbers = measure(BY_NAME["private"], "1 shared, 1 private each", 0, Effort(most_steps=2, device="cpu")).numbers
    assert numbers["off pattern"] == 0
    assert 0 <= numbers["shared"] <= 1


@need("citeseq_pbmc.npz")
def test_cells_are_held_out_and_scaled_to_equal_totals():
    cells = CellCounts.of(0)
    assert {name: (len(Y), len(cells.new[name])) for name, Y in cells.views.items()} == dict.fromkeys(
        cells.views, (400, 100)
    )
    logs = logarithms(cells.views, 1000.0)
    totals = np.expm1(logs["rna"]).sum(axis=1)
    np.testing.assert_allclose(totals[cells.views["rna"].sum(axis=1) > 0], 1000)
    np.testing.assert_allclose(np.expm1(logs["protein"]), cells.views["protein"])


def test_negative_binomial_parameters_are_recovered():
    y = np.random.default_rng(0).negative_binomial(3, 3 / (3 + 20), size=20_000)
    mean, r = fit_negative_binomial(y)
    assert mean == y.mean()
    assert r == pytest.approx(3, rel=0.05)  # its standard error is about 1 %


@pytest.mark.parametrize("method", MATHEMATICS[0].methods)
def test_mathematics_agrees_with_references(method):
    numbers = MATHEMATICS[0].methods[method](0, Effort())
    assert max(map(abs, numbers.values())) < 1e-6


def test_experiment_names_are_unique():
    assert all(isinstance(experiment, Experiment) for experiment in EXPERIMENTS)
    assert len(BY_NAME) == len(EXPERIMENTS)
