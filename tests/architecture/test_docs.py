"""What is written about the house is true."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "mvlvm"
PUBLIC = ["mvlvm", "mvlvm.kernels", "mvlvm.likelihoods", "mvlvm.spectral", "mvlvm.evidence", "mvlvm.views",
          "mvlvm.datasets", "mvlvm.evaluation", "mvlvm.plots"]  # fmt: skip


def test_the_architecture_names_every_package_and_no_other():
    text = (ROOT / "docs" / "architecture.md").read_text()
    written = set(re.findall(r"^\| `([a-z_]+)/` \|", text, flags=re.MULTILINE))
    assert written == {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def test_the_architecture_is_one_page():
    assert len((ROOT / "docs" / "architecture.md").read_text().splitlines()) <= 120


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_exists_and_is_documented(module):
    room = importlib.import_module(module)
    for name in room.__all__:
        thing = getattr(room, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), name


def test_the_readmes_make_targets_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    promised = set(re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / "README.md").read_text(), flags=re.MULTILINE))
    assert {"demo", "test"} <= promised <= targets


def test_links_between_documents_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
            if not link.startswith("http"):
                assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_errata_point_at_tests_that_exist():
    named = re.findall(r"`(tests/[a-z_/0-9]+\.py)`", (ROOT / "docs" / "errata.md").read_text())
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []
