"""Studies and the pages rendered from their results."""

import dataclasses

import numpy as np
import pytest

from benchmarks.cells import DONE, FAILED, Cell, Code, Grid, Record
from benchmarks.store import Store
from benchmarks.study import (
    NO,
    TIE,
    YES,
    Claim,
    PageFigure,
    Verdict,
    cells_of_grids,
    claim_rows,
    render_page,
    within,
    write_page,
)
from benchmarks.tables import ResultTable
from tests.benchmarks.stub_study import make_study


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells")


def add(store, seed=0, method="good", commit="a" * 40, dirty=False, status=DONE, quick=False, **fields):
    settings = {"quick": True} if quick else {}
    cell = Cell(study="stub", method=method, data="A", seed=seed, settings=settings)
    metrics = {"accuracy": 0.5} if status == DONE else {}
    fields = {"machine": "a machine", **fields}
    store.append(Record(cell=cell, status=status, seconds=1.0, code=Code(commit, dirty), metrics=metrics, **fields))


def page_of(store, study=None, **fields):
    study = study or make_study(n_seeds=3)
    return render_page(study, study.results(store, **fields))


def test_a_page_states_commit_machine_seeds_and_command(store):
    add(store, seed=0)
    add(store, seed=2)
    text = page_of(store).text
    assert text.startswith("# A stub\n\nMeasured at commit aaaaaaa.\n\nNothing is measured.\n\n")
    assert "Machine: a machine. Seeds: 0, 2. `mvlvm studies run stub`" in text
    assert "two standard errors" in text


def test_a_page_of_several_commits_says_so_in_its_first_line(store):
    add(store, seed=0)
    add(store, seed=1)
    add(store, seed=2, commit="b" * 40, dirty=True)
    first = page_of(store).text.splitlines()[2]
    assert first == "**Measured at 2 commits:** aaaaaaa (2 cells), bbbbbbb with changes (1 cell)."


def test_a_page_without_cells_says_how_to_measure_them(store):
    assert "Not measured yet. Run `mvlvm studies run stub`." in page_of(store).text


def test_quick_cells_have_pages_of_their_own(store):
    add(store, quick=True)
    assert "Not measured yet" in page_of(store).text
    quick = page_of(store, quick=True).text
    assert "A quick run" in quick
    assert "mvlvm studies run stub --quick" in quick


def test_failures_are_listed(store):
    add(store)
    add(store, method="nan", status=FAILED, note="not finite: accuracy")
    assert page_of(store).text.endswith("## Failed cells\n\n- nan on A, seed 0: failed. not finite: accuracy\n")


def test_claims_are_judged_from_the_cells(store):
    study = make_study(claims=[
        Claim("one", lambda results: within(3, "3", lowest=2, highest=3)),
        Claim("two", lambda results: within(3, "3", highest=2)),
        Claim("three", lambda results: Verdict("0.1 ± 0.2", TIE)),
        Claim("four", lambda results: None),
    ])  # fmt: skip
    rows = claim_rows(study, study.results(store))
    assert rows == [
        ["one", "3", YES],
        ["two", "3", f"**{NO}**"],
        ["three", "0.1 ± 0.2", f"**{TIE}**"],
        ["four", "-", "not measured"],
    ]
    add(store)
    assert "| two | 3 | **no** |" in page_of(store, study).text


def test_parts_become_text_tables_and_figures_which_are_drawn_only_when_written(store, tmp_path):
    from matplotlib.figure import Figure

    drawn = []

    def draw():
        drawn.append(True)
        figure = Figure()
        figure.subplots().plot(np.arange(3))
        return figure

    table = ResultTable("stub-a", "Data set A", [["method", "accuracy"], ["good", "**50.0**"]])
    parts = ["A long\nparagraph.", "- a list\n- of items", PageFigure("bars", "Bars of accuracy", draw), table]
    study = dataclasses.replace(make_study(), page=lambda _: parts)
    add(store)
    rendered = page_of(store, study)
    assert not drawn
    assert (
        "A long paragraph.\n\n- a list\n- of items\n\n![Bars of accuracy](stub-bars.png)\n\n## Data set A"
        in rendered.text
    )
    written = write_page(study, study.results(store), tmp_path / "pages")
    assert sorted(path.name for path in written) == ["stub-a.csv", "stub-bars.png", "stub-bars.svg", "stub.md"]
    assert all(path.exists() for path in written)
    assert (tmp_path / "pages" / "stub-a.csv").read_text() == "method,accuracy\ngood,50.0\n"


def test_cells_are_ordered_by_seed_and_limited_to_useful_seeds():
    grids = [Grid(["A"], ["PCA"], {"D": (2, 10)})]
    study = dataclasses.replace(make_study(n_seeds=2), cells=cells_of_grids("stub", grids, [Grid(["A"], ["PCA"])]))
    assert [cell.seed for cell in study.all_cells()] == [0, 0, 1, 1]
    assert [cell.seed for cell in study.all_cells([4, 7, 9])] == [4, 4, 7, 7]
    assert [cell.settings for cell in study.all_cells(quick=True)] == [{"quick": True}]
    assert study.methods == ["PCA"]


def test_pages_of_the_paper_have_a_folder():
    assert make_study().page_path.as_posix() == "stub.md"
    assert dataclasses.replace(make_study(), group="paper").page_path.as_posix() == "paper/stub.md"
