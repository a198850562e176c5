"""The page on views: tables, verdicts and the calibration figure."""

import re

import numpy as np
import pytest

from cells import Cell, CellFile
from result_page import Results, spread
from views import EXPERIMENTS
from views_page import FIGURE_NAME, reliability_curves, write_page
from views_text import CLAIMS, SECTIONS

RIVALS = {"ridge": 0.9, "5-NN": 0.8, "10-NN": 0.7, "column means": 1.0}


def digits_cells(ours, *, covers=0.95):
    """Return cells of one experiment; ours has one value per seed, the rivals are constant."""
    curve = {"covers 95": covers, "expected": [0.5, 0.9], "observed": [0.4, 0.8], "entries": 100}
    cells = [Cell("digits-halves", "ours", seed, "1", 30.0, {"RMSE": e, **curve}) for seed, e in enumerate(ours)]
    for seed in range(len(ours)):
        cells += [Cell("digits-halves", rival, seed, "1", 0.1, {"RMSE": e}) for rival, e in RIVALS.items()]
    return cells


def page_of(path, cells):
    file = CellFile(path / "cells.jsonl", "1")
    for cell in cells:
        file.append(cell)
    return write_page(EXPERIMENTS, file, path / "out").read_text()


def row(page, *starts):
    """Return the cells of the only row that starts with these texts."""
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
    (found,) = [parts for parts in rows if all(p.startswith(s) for p, s in zip(parts, starts, strict=False))]
    return found


def test_table_has_mean_and_standard_deviation_of_every_method(tmp_path):
    page = page_of(tmp_path, digits_cells([0.5, 0.7]))
    assert row(page, "ours") == ["ours", "0.600 ± 0.141", "-", "-", "0.950 ± 0.000", "-", "-", "30"]
    assert row(page, "10-NN") == ["10-NN", "0.700 ± 0.000", "-", "-", "-", "-", "-", "< 1"]
    assert "over 2 seeds" in page


@pytest.mark.parametrize(("ours", "covers", "verdicts"), [
    (0.70, 0.95, ["yes", "yes", "yes"]),
    (0.80, 0.99, ["yes", "**no**", "**no**"]),
    (0.95, 0.80, ["**no**", "**no**", "**no**"]),
])  # fmt: skip
def test_verdict_uses_the_best_setting_of_the_rival(tmp_path, ours, covers, verdicts):
    page = page_of(tmp_path, digits_cells([ours], covers=covers))
    asked = ["RMSE below that of ridge", "RMSE at most 3 % above the better", "coverage of 95 %"]
    found = [row(page, "digits-halves", words) for words in asked]
    assert [parts[3] for parts in found] == verdicts
    assert [float(parts[2]) for parts in found] == pytest.approx([ours / 0.9, ours / 0.7, covers], abs=5e-4)


def test_unfinished_experiment_has_no_verdict_or_figure(tmp_path):
    page = page_of(tmp_path, digits_cells([0.5])[:-1])  # one rival is unfinished
    assert set(re.findall(r"\| ([^|]+) \|$", page, flags=re.MULTILINE)) == {"reached", "not run yet"}
    assert not (tmp_path / "out" / FIGURE_NAME).exists()


def test_figure_of_the_page_is_written(tmp_path):
    assert f"]({FIGURE_NAME})" in page_of(tmp_path, digits_cells([0.5]))
    assert (tmp_path / "out" / FIGURE_NAME).stat().st_size > 10_000


def test_calibration_curve_weights_seeds_by_entries():
    parts = [
        {"expected": [0.5], "observed": [0.2], "entries": 100},
        {"expected": [0.5], "observed": [0.6], "entries": 300},
    ]
    cells = {
        seed: {"ours": Cell("digits-halves", "ours", seed, "1", 1.0, numbers)} for seed, numbers in enumerate(parts)
    }
    results = {section.experiment: Results({}) for section in SECTIONS} | {"digits-halves": Results(cells)}
    ((expected, observed),) = reliability_curves(results).values()
    np.testing.assert_allclose((expected, observed), ([0.5], [(0.2 * 100 + 0.6 * 300) / 400]))


def test_one_seed_has_no_standard_deviation():
    assert spread([0.25], 2) == "0.25"


def test_every_experiment_has_a_section_and_a_target():
    names = [experiment.name for experiment in EXPERIMENTS]
    assert [section.experiment for section in SECTIONS] == names
    assert list(dict.fromkeys(claim.experiment for claim in CLAIMS)) == names
