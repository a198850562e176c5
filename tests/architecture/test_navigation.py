"""The package is easy to navigate: few files per task, no fragments, shallow inheritance, standard terms."""

import ast
import importlib
import inspect
import re
from collections import defaultdict
from pathlib import Path

import pytest

import mvlvm
from tests.architecture import size_report

SOURCE = Path(mvlvm.__file__).parent
ROOT = SOURCE.parents[1]
FILES = sorted(SOURCE.rglob("*.py"))
CORE = {"linalg", "spectral", "kernels", "likelihoods", "evidence", "models", "init", "inference", "training", "views"}
# Modules that require optional packages, or that run on import.
OPTIONAL = ("triton_kernels", "__main__")
# File names that several packages share by convention.
CONVENTIONAL = {"__init__.py", "base.py"}
NONSTANDARD = re.compile(
    r"\bslopes?\b|no say|\blent\b|at (its|their) word|not at hand|\bthe door\b|\bclimb|\bsummit|\brooms?\b",
    re.IGNORECASE,
)
# These describe the slope of a log-log plot.
LOG_LOG_PLOTS = {
    "benchmarks/speed/speed_claims.py", "benchmarks/speed/speed_page.py", "benchmarks/speed/step_profile.py",
    "benchmarks/paper/theorem_four.py", "src/mvlvm/plots/speed.py", "docs/errata.md", "docs/results/README.md",
    "docs/results/speed.md", "docs/results/paper/theorem-4.md",
}  # fmt: skip


def module_name(path):
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def importers():
    """Return the importers of each module."""
    modules, found = {module_name(path) for path in FILES}, defaultdict(set)
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [name if name in modules else node.module for name in names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                if name in modules and name != module_name(path):
                    found[name].add(module_name(path))
    return found


def own_classes():
    for path in FILES:
        if path.stem not in OPTIONAL:
            module = importlib.import_module(module_name(path))
            for name, value in vars(module).items():
                if inspect.isclass(value) and value.__module__ == module.__name__ and not name.startswith("_"):
                    yield value


def depth(value):
    """Return the length of the longest inheritance chain within the package, including the class itself."""
    if not value.__module__.startswith("mvlvm."):
        return 0
    return 1 + max((depth(base) for base in value.__bases__), default=0)


def docstrings():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield f"{path.relative_to(SOURCE).as_posix()}:{getattr(node, 'lineno', 1)}", text


@pytest.mark.usefixtures("no_type_checks")
def test_fit_and_predict_execute_few_files():
    in_fit, in_predict = size_report.files_of_fit_and_predict()
    assert 20 < len(in_fit) <= 60, sorted(in_fit)
    assert 10 < len(in_predict) <= 30, sorted(in_predict)


def test_no_short_module_has_a_single_importer():
    imported_by = importers()
    short_modules = [
        path.relative_to(SOURCE).as_posix()
        for path in FILES
        if path.name not in ("__init__.py", "__main__.py")
        and len(path.read_text().splitlines()) < 40
        and len(imported_by[module_name(path)]) <= 1
    ]
    assert short_modules == []


def test_file_names_are_unique():
    paths = defaultdict(list)
    for path in FILES:
        paths[path.name].append(path.relative_to(SOURCE).as_posix())
    assert {name: found for name, found in paths.items() if len(found) > 1 and name not in CONVENTIONAL} == {}


def test_class_names_are_unique():
    modules = defaultdict(set)
    for value in own_classes():
        modules[value.__name__].add(value.__module__)
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}


def test_inheritance_is_shallow():
    depths = {value: depth(value) for value in own_classes()}
    too_deep = {
        f"{value.__module__}.{value.__name__}": n
        for value, n in depths.items()
        if n > (2 if value.__module__.split(".")[1] in CORE else 3)
    }
    assert too_deep == {}
    assert max(depths.values()) > 1


def test_docstrings_begin_with_standard_verbs():
    assert [where for where, text in docstrings() if re.match(r"(Give|Tell|Say|Put)s?\b", text)] == []


def test_standard_terms_are_used():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    found = [
        f"{path.relative_to(ROOT).as_posix()}:{number}: {line.strip()}"
        for path in [*FILES, *(ROOT / "benchmarks").rglob("*.py"), *pages]
        if path.relative_to(ROOT).as_posix() not in LOG_LOG_PLOTS
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if NONSTANDARD.search(line)
    ]
    assert found == []
