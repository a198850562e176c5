"""Verification of committed pages: do they follow from the stored cells, and are the cells as new as the code?"""

import ast
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.provenance import PACKAGE, repository
from benchmarks.store import Store
from benchmarks.study import RenderedPage, Study

# The root of the measurements, and packages that do not influence measured values: commands and drawing.
_BENCHMARKS = Path(__file__).parent
_WITHOUT_INFLUENCE = ("cli", "plots")
_FIGURES = (".png", ".svg")


def page_differences(pages: Mapping[Path, RenderedPage], folder: Path) -> list[str]:
    """Compare written pages with pages rendered from the stored cells.

    Args:
        pages: path relative to the folder -> page.
        folder: folder of the written pages.

    Returns:
        A description of every line of a page or table that differs, and of every missing or left-over file.
    """
    found = []
    for relative, page in pages.items():
        path = folder / relative
        found += _line_differences(path, page.text)
        for name, text in page.tables.items():
            found += _line_differences(path.parent / name, text)
    expected = expected_files(pages, folder)
    found += [f"{path}: missing" for path in sorted(expected) if not path.exists() and path.suffix in _FIGURES]
    written = {path for path in folder.rglob("*") if path.is_file()}
    return [*found, *(f"{path}: no study writes this file" for path in sorted(written - expected))]


def expected_files(pages: Mapping[Path, RenderedPage], folder: Path) -> set[Path]:
    """Return the paths of all pages, tables and figures."""
    files = set()
    for relative, page in pages.items():
        path = folder / relative
        files |= {path, *(path.parent / name for name in page.tables)}
        files |= {path.parent / f"{name}{suffix}" for name in page.figures for suffix in _FIGURES}
    return files


def _line_differences(path: Path, expected: str) -> list[str]:
    if not path.exists():
        return [f"{path}: missing"]
    written, wanted = path.read_text(encoding="utf-8").splitlines(), expected.splitlines()
    found = [
        f"{path}:{number}: the page has {one!r}, but the cells give {other!r}"
        for number, (one, other) in enumerate(zip(written, wanted, strict=False), start=1)
        if one != other
    ]
    if len(written) != len(wanted):
        found.append(f"{path}: the page has {len(written)} lines, but the cells give {len(wanted)}")
    return found


@dataclass(frozen=True)
class StalePage:
    """A page with cells that are older than the code they depend on.

    Attributes:
        study: the study.
        n_cells: number of cells that are older.
        n_all: number of all cells.
        packages: packages that have changed since any of these cells was measured.
    """

    study: Study
    n_cells: int
    n_all: int
    packages: Sequence[str]


def stale_pages(studies: Sequence[Study], store: Store) -> list[StalePage]:
    """Return the pages whose cells are older than the packages that their study imports.

    A cell is older if one of these packages differs between the commit of the cell and the present source. Cells that
    were measured with uncommitted changes, or at a commit that the repository does not contain, count as older. The
    module that measures the cells is not followed: after a change of what it measures, run its cells again.

    Raises:
        ValueError: the package is not in a git repository.
    """
    root = repository()
    if root is None:
        raise ValueError("Staleness is judged by git, but the package is not in a git repository. Run it in a clone.")
    found = []
    for study in studies:
        codes = Counter(record.code for record in study.results(store).done)
        packages = imported_packages(study)
        changed = {code: _changed(root, code.commit, packages) for code in codes}
        n_old = sum(codes[code] for code, names in changed.items() if names or code.dirty)
        if n_old:
            names = [name for name in packages if any(name in of_code for of_code in changed.values())]
            found.append(StalePage(study, n_old, codes.total(), names))
    return found


def imported_packages(study: Study) -> list[str]:
    """Return the packages, and modules without a package, that the measurements of a study import.

    The modules of `benchmarks` are followed one by one, the packages of the library as a whole.
    """
    modules, packages = [study.measure.__module__], set[str]()
    followed: set[str] = set()
    while modules:
        module = modules.pop()
        if module in followed:
            continue
        followed.add(module)
        for name in _imports(module):
            root, _, rest = name.partition(".")
            top = rest.partition(".")[0]
            if root == _BENCHMARKS.name:
                modules.append(name)
            elif not top:  # a name of the public interface, such as `from mvlvm import NGMVLVM`
                modules.append("mvlvm")
            elif top not in _WITHOUT_INFLUENCE:
                packages |= _closure(top)
    return sorted(packages)


@cache
def _closure(package: str) -> frozenset[str]:
    """Return a package and all packages that it imports, directly or indirectly."""
    found, open_ = set[str](), {package}
    while open_:
        name = open_.pop()
        found.add(name)
        open_ |= _imported_by_package(name) - found
    return frozenset(found - set(_WITHOUT_INFLUENCE))


@cache
def _imported_by_package(package: str) -> frozenset[str]:
    path = PACKAGE / package
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    names = (name.split(".") for file in files for name in _imports_of_file(file))
    return frozenset(parts[1] for parts in names if parts[0] == PACKAGE.name and len(parts) > 1)


def _imports(module: str) -> list[str]:
    path = _path_of(module)
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return sorted(set(_imports_of_file(file))) if file.exists() else []


def _imports_of_file(path: Path) -> Iterator[str]:
    """Yield the modules of the library and of the measurements that a file imports, also inside functions."""
    own = (PACKAGE.name, _BENCHMARKS.name)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if "." in alias.name and alias.name.split(".")[0] in own)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in own:
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if _is_module(name) else node.module for name in submodules)


def _path_of(module: str) -> Path:
    root, *parts = module.split(".")
    return (_BENCHMARKS if root == _BENCHMARKS.name else PACKAGE).joinpath(*parts)


def _is_module(name: str) -> bool:
    path = _path_of(name)
    return path.is_dir() or path.with_suffix(".py").exists()


@cache
def _changed_paths(root: Path, commit: str) -> tuple[str, ...] | None:
    """Return the paths that differ between a commit and the present files; None if the commit is unknown."""
    arguments = ["git", "-C", str(root), "diff", "--name-only", "--no-renames", commit, "--", str(PACKAGE)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    return tuple(done.stdout.splitlines()) if done.returncode == 0 else None


def _changed(root: Path, commit: str, packages: Sequence[str]) -> list[str]:
    """Return the packages that differ between a commit and the present files; all if the commit is unknown."""
    paths = _changed_paths(root, commit)
    if paths is None:
        return list(packages)
    source = PACKAGE.relative_to(root).as_posix()
    return [
        name
        for name in packages
        if any(path == f"{source}/{name}.py" or path.startswith(f"{source}/{name}/") for path in paths)
    ]
