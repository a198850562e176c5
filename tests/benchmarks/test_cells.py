"""Cells and records: identity, JSON, and non-finite metrics."""

import json
import math

import numpy as np
import pytest

from benchmarks.cells import DONE, FAILED, STOPPED, Cell, Code, Grid, Measurement, Origin, Record, finished_record

CELL = Cell(study="toy", method="PCA", data="A", seed=1, settings={"D": 2, "Q": [1, 2]})
CODE = Code("a" * 40)


def record_of(metrics, **fields):
    return finished_record(CELL, Measurement(metrics, **fields), Origin(1.0, "a machine", CODE, "now", 60.0))


def test_the_order_of_settings_does_not_matter():
    same = Cell(study="toy", method="PCA", data="A", seed=1, settings={"Q": [1, 2], "D": 2})
    assert same == CELL
    assert len({same, CELL}) == 1
    assert same.label == CELL.label


@pytest.mark.parametrize("change", [{"seed": 2}, {"data": "B"}, {"settings": {"D": 3}}, {"device": "cuda"}])
def test_every_field_identifies_a_cell(change):
    other = Cell(**{**CELL.as_json(), **change})
    assert other != CELL
    assert other.label != CELL.label


def test_a_record_survives_json():
    record = record_of({"accuracy": np.float64(0.5), "curve": [{"n": np.int64(3)}], "init": "pca"})
    restored = Record.from_json(json.loads(json.dumps(record.as_json(), allow_nan=False)))
    assert restored == record
    assert restored.status == DONE
    assert restored.metrics == {"accuracy": 0.5, "curve": [{"n": 3}], "init": "pca"}


@pytest.mark.parametrize("bad", [math.nan, math.inf, [1.0, math.nan], {"parts": {"a": -math.inf}}])
def test_a_non_finite_metric_fails_with_its_name(bad):
    record = record_of({"rows": 3, "bound": bad}, arrays={"latents": np.zeros(2)})
    assert record.status == FAILED
    assert record.note == "not finite: bound"
    assert not record.metrics
    assert not record.arrays


def test_a_stopped_fit_keeps_its_metrics():
    record = record_of({"accuracy": 0.5}, stopped=True)
    assert record.status == STOPPED
    assert record.metrics == {"accuracy": 0.5}
    assert "stopped after 1 s" in record.note


def test_a_grid_is_a_product_and_quick_cells_are_marked():
    grid = Grid(["A", "B"], ["PCA"], {"D": (2, 3)}, devices=("cpu", "cuda"))
    cells = list(grid.cells("toy", 4, quick=True))
    assert len(set(cells)) == 8
    assert all(cell.is_quick and cell.seed == 4 for cell in cells)
    assert {cell.coordinates["D"] for cell in cells} == {2, 3}
    assert not any(cell.is_quick for cell in grid.cells("toy", 4))


def test_code_is_abbreviated_and_changes_are_marked():
    assert CODE.short == "aaaaaaa"
    assert Code("1.2.0", dirty=True).short == "1.2.0 with changes"
