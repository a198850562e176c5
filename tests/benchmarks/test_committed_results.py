"""The committed pages follow from the committed cells (`mvlvm studies check`)."""

import re
from pathlib import Path

import pytest

from benchmarks.cells import Cell, Measurement
from benchmarks.pages import render_pages
from benchmarks.store import Store
from benchmarks.study import Study
from benchmarks.verification import page_differences

ROOT = Path(__file__).parents[2]
STORE, PAGES = Store(ROOT / "results"), ROOT / "docs" / "results"


@pytest.fixture(scope="module")
def pages():
    return render_pages(STORE)


@pytest.mark.xdist_group("committed results")
def test_every_number_on_every_page_follows_from_the_cells(pages):
    assert len(pages) > 20
    assert page_differences(pages, PAGES) == []


@pytest.mark.xdist_group("committed results")
def test_no_page_table_or_figure_is_left_over(pages):
    expected = set()
    for path, page in pages.items():
        folder = (PAGES / path).parent
        expected |= {PAGES / path, *(folder / name for name in page.tables)}
        expected |= {folder / f"{name}{suffix}" for name in page.figures for suffix in (".png", ".svg")}
    assert {path for path in PAGES.rglob("*") if path.is_file()} == expected


@pytest.mark.xdist_group("committed results")
def test_stored_cells_belong_to_studies_and_have_a_commit():
    from benchmarks.catalogue import STUDIES

    assert set(STORE.studies()) <= set(STUDIES)
    for name in STORE.studies():
        records = STORE.read(name)
        assert {len(record.code.commit) for record in records.values()} == {40}, name
        assert not any(cell.is_quick for cell in records), name


def test_the_example_of_the_documentation_is_a_study(tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "studies.md").read_text(), flags=re.DOTALL)
    names: dict = {}
    exec(example, names)
    (study,) = [value for value in names.values() if isinstance(value, Study)]
    assert [cell.settings["D"] for cell in study.all_cells([0])] == [2, 5]
    (table,) = study.page(study.results(Store(tmp_path)))
    assert table.rows == [["method", "accuracy"]]
    assert isinstance(study.cells(0, False)[0], Cell)
    assert names["Measurement"] is Measurement
