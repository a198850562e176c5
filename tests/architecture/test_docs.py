"""The documentation agrees with the package."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "mvlvm"
PUBLIC = ["mvlvm", "mvlvm.kernels", "mvlvm.likelihoods", "mvlvm.spectral", "mvlvm.evidence", "mvlvm.views",
          "mvlvm.datasets", "mvlvm.io", "mvlvm.evaluation", "mvlvm.plots"]  # fmt: skip


def test_architecture_page_lists_exactly_the_packages():
    text = (ROOT / "docs" / "architecture.md").read_text()
    written = set(re.findall(r"^\| `([a-z_]+)/` \|", text, flags=re.MULTILINE))
    assert written == {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def test_architecture_page_is_short():
    assert len((ROOT / "docs" / "architecture.md").read_text().splitlines()) <= 120


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_exists_and_is_documented(module):
    package = importlib.import_module(module)
    for name in package.__all__:
        value = getattr(package, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name


def test_make_targets_of_the_readme_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    documented = set(re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / "README.md").read_text(), flags=re.MULTILINE))
    assert {"demo", "test"} <= documented <= targets


def test_links_between_documents_are_valid():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
            if not link.startswith("http"):
                assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_tests_named_in_the_errata_exist():
    named = re.findall(r"`(tests/[a-z_/0-9]+\.py)`", (ROOT / "docs" / "errata.md").read_text())
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []
