"""Files and functions are short, and classes have few methods."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2]
FILES = sorted([*(SOURCE / "src").rglob("*.py"), *(SOURCE / "benchmarks").rglob("*.py")])
MAX_FILE_LINES, MAX_FUNCTION_LINES, MAX_METHODS = 450, 40, 7
# A public estimator is one class, so that all methods of its contract can be read in one place.
MAY_BE_LONGER = {"src/mvlvm/estimators/base.py": 700}
# The interface of all likelihoods is one class, so that inheritance has two levels and no caller asks for a type.
# A mixture has a feature map for autograd, and frequencies with a vector-Jacobian product for training; so has a view.
MAY_HAVE_MORE_METHODS = {"AbstractLikelihood": 12, "AbstractMixture": 8, "AbstractView": 8}
# `load` passes options to data sets, and checks their names against those that the data set has. `mvlvm fit` has an
# option for every parameter of the estimator; they are declared in a table.
MAY_TAKE_KEYWORDS = {("loader.py", "load"), ("model_options.py", "wrapped")}


def functions(tree: ast.AST):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def code_lines(function: ast.FunctionDef) -> int:
    """Return the number of lines of the body without the docstring, which may be long."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_source_files_are_found():
    assert len(FILES) > 40


def test_files_and_functions_are_short():
    assert [problem for path in FILES for problem in problems_of_file(path)] == []


def problems_of_file(path):
    """Yield what is wrong with the size or the style of a file."""
    name, text = path.relative_to(SOURCE).as_posix(), path.read_text()
    tree = ast.parse(text)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    checks = {
        "is too long": len(text.splitlines()) <= MAY_BE_LONGER.get(name, MAX_FILE_LINES),
        "imports __future__": not text.count("__future__"),
        "does not begin with a docstring": ast.get_docstring(tree) is not None,
        "uses hasattr": "hasattr" not in names,
        "has a name without a meaning": path.stem not in ("utils", "helpers", "common", "misc"),
    }
    yield from (f"{name} {problem}" for problem, holds in checks.items() if not holds)
    for function in functions(tree):
        if code_lines(function) > MAX_FUNCTION_LINES:
            yield f"{name}: {function.name} is too long"
        if function.args.kwarg is not None and (path.name, function.name) not in MAY_TAKE_KEYWORDS:
            yield f"{name}: {function.name} tunnels keyword arguments"


def test_classes_have_few_methods():
    """Public estimators are exempt: all methods of their contract can be read in one place."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                methods = [member.name for member in node.body if isinstance(member, ast.FunctionDef)]
                public = [name for name in methods if not name.startswith("_")]
                assert len(public) <= MAY_HAVE_MORE_METHODS.get(node.name, MAX_METHODS) or "fit" in public, node.name
