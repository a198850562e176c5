"""The examples in the documents run, and print what they say."""

import doctest
from pathlib import Path

import mudata
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if ">>> " in page.read_text())


def test_there_are_pages_with_examples():
    assert DOCS / "files.md" in PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_are_true(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with mudata.set_options(pull_on_update=None):  # a reader may set options; put them back
        outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.attempted > 0
    assert outcome.failed == 0
