"""The page on learning-rate schedules and initialisations."""

import pytest

from benchmarks.quality.schedule_fits import FROM_PCA, FROM_TRUTH, PCA_ALONE, SCHEDULE_TASKS
from benchmarks.quality.schedules import (
    COMPARED,
    DEFAULT,
    INITIALISATION_DATA,
    INITIALISATIONS,
    SCHEDULES,
    VARIANT_DATA,
    VARIANTS,
)
from benchmarks.study import claim_rows, render_page
from tests.benchmarks.quality.stored_results import record, results_of, table_row


def make_record(comparison, data, method, seed, bound, init="pca"):
    metrics = {"bound": bound, "quality": 0.8, "steps": 500, "init": init}
    return record(SCHEDULES, data, method, seed, metrics, settings={"comparison": comparison})


def text_of(folder, records):
    return render_page(SCHEDULES, results_of(SCHEDULES, folder, records)).text


def test_schedules_are_compared_with_the_first_seed_by_seed(tmp_path):
    gains = [dict.fromkeys(COMPARED, gain) | {next(iter(COMPARED)): 0.0} for gain in (0.002, 0.004)]
    records = [
        make_record("schedules", "bridges", method, seed, 10 * seed + gains[seed][method])
        for seed in (0, 1)
        for method in COMPARED
    ]
    differences, quality, steps, *_ = text_of(tmp_path, records).split("\n|---")[2:]
    assert f"| {DEFAULT} | +3.0 ± 1.0 | +3.0 |" in differences
    assert f"| {DEFAULT} | **80.0 ± 0.0 (2)** |" in quality
    assert f"| {DEFAULT} | 500 ± 0 (2) |" in steps


def test_variants_of_one_seed_have_no_errors_and_no_marks(tmp_path):
    records = [make_record("variants", "yale", method, 0, 0.001 * i) for i, method in enumerate(VARIANTS)]
    text = text_of(tmp_path, records)
    variants = text.split("## Other variants")[1].split("## Initialisations")[0]
    assert "| 0.02, 500 steps | +1.0 | +1.0 |" in variants
    assert "**" not in variants
    assert "Not measured yet: bridges, s-curve-gibbs, breast-tcga." in variants


def test_page_reports_the_choices_of_auto(tmp_path):
    records = [
        make_record("initialisations", "yale", init, seed, -1.1234, init=("spectral", "pca")[seed])
        for init in INITIALISATIONS
        for seed in (0, 1)
    ]
    text = text_of(tmp_path, records)
    assert '`init="auto"` selected spectral or pca on yale' in text.replace("\n", " ")
    assert "| auto | **-1.1234 ± 0.0000 (2)** |" in text


@pytest.mark.parametrize(("lowest", "holds"), [(0.96, "yes"), (0.5, "**tie**")])
def test_recovery_shows_the_lowest_seed(tmp_path, lowest, holds):
    r2 = {PCA_ALONE: [0.9, 0.8], FROM_PCA: [0.99, lowest], FROM_TRUTH: [0.99, 0.99]}
    records = [
        record(SCHEDULES, "s-curve-gibbs", method, seed, {"R2": value}, settings={"comparison": "recovery"})
        for method, values in r2.items()
        for seed, value in enumerate(values)
    ]
    results = results_of(SCHEDULES, tmp_path, records)
    assert [row[-1] for row in claim_rows(SCHEDULES, results)] == [holds]
    quantiles = render_page(SCHEDULES, results).text.split("Median and lowest")[1]
    assert table_row(quantiles, FROM_PCA) == [FROM_PCA, f"{(0.99 + lowest) / 2:.3f}", f"{lowest:.3f}"]


def test_comparisons_have_different_numbers_of_seeds():
    cells = SCHEDULES.all_cells()
    seeds = {
        name: {cell.seed for cell in cells if cell.settings["comparison"] == name}
        for name in ("schedules", "variants", "initialisations", "recovery")
    }
    assert {name: len(found) for name, found in seeds.items()} == {
        "schedules": 3, "variants": 1, "initialisations": 3, "recovery": 20,
    }  # fmt: skip


def test_every_schedule_and_data_set_of_the_page_is_run():
    cells = SCHEDULES.all_cells([0])
    assert {cell.method for cell in cells} == {*COMPARED, *VARIANTS, *INITIALISATIONS, PCA_ALONE, FROM_PCA, FROM_TRUTH}
    assert {*VARIANT_DATA, *INITIALISATION_DATA} <= {cell.data for cell in cells} == set(SCHEDULE_TASKS)
    assert DEFAULT in COMPARED


def test_quick_cell_is_measured():
    (cell,) = [
        cell
        for cell in SCHEDULES.all_cells(quick=True)
        if cell.data == "s-curve-rbf" and cell.method == DEFAULT and cell.settings["comparison"] == "schedules"
    ]
    assert 0.5 < SCHEDULES.measure(cell).metrics["quality"] <= 1
