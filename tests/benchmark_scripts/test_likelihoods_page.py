"""The page on likelihoods: tables, verdicts and missed targets."""

import pytest

from cells import Cell, CellFile
from likelihoods import EXPERIMENTS, main
from likelihoods_page import write_page
from likelihoods_text import CLAIMS, SECTIONS
from mvlvm.records import RESULTS_VERSION
from result_page import spread
from running import arguments, chosen

POISSON = next(experiment for experiment in EXPERIMENTS if experiment.name == "own-poisson")


def poisson_cells(ours, machine="a machine"):
    values = {"gaussian": -2.0, "gaussian on log(1 + y)": -1.9, "true functions": -1.5}
    return [
        Cell("own-poisson", method, seed, "1", 3.0, {"log density": value}, machine)
        for seed, own in enumerate(ours)
        for method, value in {"poisson": own, **values}.items()
    ]


def page_of(path, cells):
    file = CellFile(path / "cells.jsonl", "1")
    for cell in cells:
        file.append(cell)
    return write_page(EXPERIMENTS, file, path / "out").read_text()


def test_tables_have_means_seeds_and_machine(tmp_path):
    page = page_of(tmp_path, poisson_cells([-1.6, -1.8]))
    assert "| poisson | -1.700 ± 0.141 | - | 3 |" in page
    assert "| poisson | log density | -1.600 | -1.800 |" in page
    assert "Mean and standard deviation over 2 seeds. Machine: a machine." in page


@pytest.mark.parametrize(("ours", "verdict", "said"), [(-1.8, "yes", 0), (-1.95, "**no**", 1)])
def test_missed_target_against_the_best_gaussian_is_reported(tmp_path, ours, verdict, said):
    page = page_of(tmp_path, poisson_cells([ours]))
    (row,) = [line for line in page.splitlines() if line.startswith("| own-poisson")]
    assert row.endswith(f"| {ours + 1.9:.3f} | {verdict} |")
    assert page.count("**Not reached.**") == said


def test_unfinished_experiment_has_no_verdict(tmp_path):
    page = page_of(tmp_path, poisson_cells([-1.6])[:-1])
    assert page.count("not run yet") == len(CLAIMS)


def test_small_numbers_use_exponential_notation():
    assert spread([1e-9, 3e-9], 1, "e") == "2.0e-09 ± 1.4e-09"


def test_every_experiment_has_a_section_and_a_target():
    names = [experiment.name for experiment in EXPERIMENTS]
    assert [section.experiment for section in SECTIONS] == names
    assert list(dict.fromkeys(claim.experiment for claim in CLAIMS)) == names


def test_cells_of_other_machines_are_merged(tmp_path):
    here, there = CellFile(tmp_path / "here.jsonl", "1"), CellFile(tmp_path / "there.jsonl", "1")
    old, better = poisson_cells([-1.9])[0], poisson_cells([-1.6])[0]
    here.append(old)
    for cell in (better, *poisson_cells([-1.6])[1:]):
        there.append(cell)
    assert here.merge([there.path]) == 4
    assert here.read()[better.key] == better
    assert here.merge([there.path]) == 0


def test_methods_can_be_selected():
    options = arguments(
        "", EXPERIMENTS, ["--only", "own-poisson", "labels-mfeat", "--methods", "gaussian", "1-NN, raw"]
    )
    assert [(e.name, list(e.methods)) for e in chosen(EXPERIMENTS, options)] == [
        ("own-poisson", ["gaussian"]), ("labels-mfeat", ["1-NN, raw"]),
    ]  # fmt: skip


def test_separate_cell_file_writes_no_page(tmp_path):
    cells = tmp_path / "cells.jsonl"
    main(["--only", "own-poisson", "--methods", "true functions", "--seeds", "7", "--quick", "--device", "cpu",
          "--cells", str(cells), "--out", str(tmp_path / "out")])  # fmt: skip
    assert list(CellFile(cells, RESULTS_VERSION).read()) == [("own-poisson", "true functions", 7)]
    assert not (tmp_path / "out").exists()
