"""The examples in the documentation run and print the documented output."""

import doctest
from pathlib import Path

import mudata
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if ">>> " in page.read_text())


def test_pages_with_examples_are_found():
    assert DOCS / "files.md" in PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page_print_the_documented_output(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with mudata.set_options(pull_on_update=None):  # examples may set options, which are restored here
        outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.attempted > 0
    assert outcome.failed == 0
