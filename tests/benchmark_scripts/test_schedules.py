"""The page on learning-rate schedules, and the training loop behind it."""

import numpy as np
import pytest

from cells import Cell, CellFile
from schedule_data import Task
from schedule_fits import Schedule, follow
from schedules import CHOSEN, EXPERIMENTS, FINALISTS, STARTS, TRIED, main
from schedules_page import write_page


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 6)) + 0.1 * rng.normal(size=(40, 6))
    return Task({"a": Y}, lambda found: float(found[0, 0]))


def page_of(path, cells):
    file = CellFile(path / "cells.jsonl", "1")
    for cell in cells:
        file.append(cell)
    return write_page(list(FINALISTS), list(TRIED), STARTS, CHOSEN, file, path / "out").read_text()


def cell(experiment, method, seed, bound, init="pca"):
    return Cell(experiment, method, seed, "1", 3.0, {"bound": bound, "quality": 0.8, "steps": 500, "init": [init]})


def test_schedules_are_compared_with_the_first(tmp_path):
    first = next(iter(FINALISTS))
    gains = {method: 0.0 if method == first else 0.002 + 0.001 * seed for seed in (0, 1) for method in FINALISTS}
    cells = [cell("bridges", method, seed, seed + gains[method]) for seed in (0, 1) for method in FINALISTS]
    page = page_of(tmp_path, cells)
    assert f"| {CHOSEN} | +3.0 | +3.0 |" in page
    assert "Seeds: bridges 2." in page
    assert f"| {CHOSEN} | 80.0 |" in page


def test_page_reports_the_choice_of_auto(tmp_path):
    cells = [cell("starts-yale", start, 0, -1.1234, init="spectral" if start == "auto" else start) for start in STARTS]
    page = page_of(tmp_path, cells)
    assert '`init="auto"` chose spectral on yale' in page.replace("\n", " ")
    assert "| auto | -1.1234 |" in page


def test_every_schedule_of_the_page_is_run():
    methods = {method for experiment in EXPERIMENTS for method in experiment.methods}
    assert {*FINALISTS, *TRIED, *STARTS} == methods
    assert CHOSEN in FINALISTS


@pytest.mark.parametrize("name", [*FINALISTS, *TRIED])
def test_every_schedule_runs_the_given_number_of_steps(task, name):
    numbers = follow(task, (FINALISTS | TRIED)[name], seed=0, most_steps=3)
    assert numbers["steps"] == 3
    assert np.isfinite(numbers["bound"])


def test_rate_decays_after_convergence(task):
    numbers = follow(task, Schedule(steps=400, rate=1e-6, cool=20, flat=1.0), seed=0)
    assert numbers["steps"] == 100 + 20  # two windows, and the decay


def test_quick_run_is_marked_as_a_trial(tmp_path, monkeypatch):
    monkeypatch.setattr("schedules.ROOT", tmp_path)
    main(["--only", "s-curve-rbf", "--seeds", "0", "--quick"])
    page = (tmp_path / "benchmarks" / "results" / "quick" / "schedules.md").read_text()
    assert "A trial of the script" in page
    assert "Seeds: s-curve-rbf 1." in page
