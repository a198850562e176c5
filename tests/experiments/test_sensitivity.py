"""Heat maps, number of views and wall time: measurements and pages."""

import numpy as np
import pytest

from mvlvm import baselines
from mvlvm.datasets import load
from mvlvm.evaluation import affine_r2
from mvlvm.experiments import s_curve, sensitivity
from mvlvm.experiments.cells import Effort
from mvlvm.experiments.sensitivity import WALL_TIME, measure_wall_time
from tests.experiments.stored_results import cell, grid_cell, results_from_cells, tiny_images


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(s_curve, "_ROWS", {Effort.QUICK: 40})
    monkeypatch.setattr(sensitivity, "_STEPS", {Effort.QUICK: 5})


def heat_cell(data, n_mixtures, n_points):
    return grid_cell(sensitivity.HEAT_MAPS, data, "NG-MVLVM", **{"Q": n_mixtures, "L/2": n_points})


def shown(seed=0):
    X = np.random.default_rng(seed).normal(size=(12, 2))
    return {"latents": X, "true latents": X, "angle": np.linspace(-1, 1, 12)}


def test_heat_map_cell_uses_its_numbers_of_mixtures_and_points(monkeypatch):
    made = []
    monkeypatch.setattr(sensitivity, "estimator_for", lambda *args, settings: made.append(settings) or _Fitted())
    numbers = sensitivity.measure_heat_maps(heat_cell("Gibbs", 3, 7)).numbers
    assert made[1:] == [{"n_mixtures": 3, "n_points": 7, "max_iter": 5, "tol": 0.0}]
    assert made[0]["max_iter"] < 5
    assert numbers["seconds"] == 3.0  # excludes the preparation of predictions
    assert numbers["R2"] == pytest.approx(1)


class _Fitted:
    def fit(self, given):
        (Y,) = given.values()
        data = load("s-curve", kernels=["gibbs"], n_samples=40, random_state=0)
        np.testing.assert_array_equal(Y, data.views["view1"])
        self.fit_seconds_ = {"preparing": 1.0, "training": 2.0, "predictions": 50.0}
        self.embedding_ = 3 * data.truth["latents"] - 1
        return self


def test_heat_map_has_mixtures_in_rows_and_points_in_columns(tmp_path):
    results = [
        (heat_cell("RBF", Q, P), {"R2": r2, "seconds": 10 * r2}, shown())
        for Q, P, r2 in ((2, 5, 0.3), (1, 50, 0.2), (1, 5, 0.1))
    ]
    page = sensitivity.write_heat_maps(results_from_cells(sensitivity.HEAT_MAPS, tmp_path, results))
    r2, seconds = page.tables
    assert r2.rows == [["R²: mixtures, Q", "L/2 = 5", "L/2 = 50"], ["1", "0.100 (1)", "0.200 (1)"],
                       ["2", "0.300 (1)", "-"]]  # fmt: skip
    assert seconds.rows[1][1:] == ["1.0 (1)", "2.0 (1)"]
    assert list(page.figures) == ["rbf-r2", "rbf-seconds", "rbf-manifolds"]
    written = {text.get_text() for text in page.figures["rbf-r2"].axes[0].texts}
    assert {"0.100", "0.200", "0.300"} <= written
    notes = [axes.get_xlabel() for axes in page.figures["rbf-manifolds"].axes]
    assert {"R² 0.100", "R² 0.200", "R² 0.300"} <= set(notes)


def test_additional_views_do_not_change_the_first_views():
    kernels = {"RBF with 20 columns": ["rbf", "rbf"], "RBF and Gibbs with 20 columns": ["rbf", "gibbs"]}
    for kind, of_two in kernels.items():
        one, two = (load("s-curve", kernels=of_two[:n], n_samples=40, n_features=20, random_state=2) for n in (1, 2))
        np.testing.assert_array_equal(one.views["view1"], two.views["view1"])
        measured = sensitivity.measure_views(grid_cell(sensitivity.VIEWS, kind, "PCA", seed=2, views=2))
        expected = affine_r2(two.truth["latents"], baselines.get("PCA")(2).fit_transform(two.views))
        assert measured.numbers["R2"] == pytest.approx(expected)


def test_views_table_marks_the_best_method_per_number_of_views(tmp_path):
    kind = "RBF with 20 columns"
    results = [
        (grid_cell(sensitivity.VIEWS, kind, method, seed=seed, views=n), {"R2": r2 + 0.02 * seed}, shown())
        for method, n, r2 in (("PCA", 1, 0.5), ("PCA", 2, 0.6), ("NG-MVLVM", 1, 0.4), ("NG-MVLVM", 2, 0.9))
        for seed in (0, 1)
    ]
    page = sensitivity.write_views(results_from_cells(sensitivity.VIEWS, tmp_path, results))
    assert page.tables[0].rows == [
        ["R²", "1 view", "2 views"],
        ["NG-MVLVM", "0.410 ± 0.010 (2)", "**0.910 ± 0.010 (2)**"],
        ["PCA", "**0.510 ± 0.010 (2)**", "0.610 ± 0.010 (2)"],
    ]
    assert list(page.figures) == ["curves", "latents-rbf-with-20-columns"]
    drawn = [line.get_ydata() for line in page.figures["curves"].axes[0].lines if len(line.get_xdata()) == 2]
    assert any(np.allclose(y, [0.41, 0.91]) for y in drawn)


class _Clock:
    """A clock that advances during fits only."""

    def __init__(self):
        self.seconds = 0.0

    def perf_counter(self):
        return self.seconds

    def fit(self, views):
        self.seconds += 7.0


def test_wall_time_excludes_loading_of_data(monkeypatch):
    clock, asked = _Clock(), {}

    def load(name, **options):
        asked.update(options)
        clock.seconds += 100.0
        return tiny_images()

    monkeypatch.setattr(sensitivity, "time", clock)
    monkeypatch.setattr(sensitivity, "load_paper_data", load)
    monkeypatch.setattr(sensitivity, "estimator_for", lambda _: clock)
    assert measure_wall_time(cell(WALL_TIME, "NG-MVLVM", N=200)).numbers == {"seconds": 7.0}
    assert (asked["max_rows"], asked["label_view"]) == (200, True)


def test_wall_time_table_has_spreads_and_dashes_for_missing_cells(tmp_path):
    seconds = {("NG-MVLVM", seed, n): n / 10 + seed for seed in (0, 2) for n in (100, 1000)}
    seconds["MV-GPLVM", 0, 100] = 0.5
    cells = [
        (cell(WALL_TIME, method, seed=seed, N=n), {"seconds": taken}, {})
        for (method, seed, n), taken in seconds.items()
    ]
    page = WALL_TIME.write(results_from_cells(WALL_TIME, tmp_path, cells))
    assert [list(row) for row in page.tables[0].rows] == [
        ["method", "100 rows", "1,000 rows"],
        ["NG-MVLVM", "11.0 ± 1.0 (2)", "101.0 ± 1.0 (2)"],
        ["MV-GPLVM", "0.5 (1)", "-"],
    ]
