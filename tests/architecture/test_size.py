"""The house stays small: one idea per file, one equation per function."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "mvlvm"
FILES = sorted(SOURCE.rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION, MOST_METHODS = 450, 40, 7
# `load` serves data sets with different options, and checks every name against the data set's own.
MAY_TAKE_ANY_KEYWORD = {("loader.py", "load")}


def functions(tree: ast.AST):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def code_lines(function: ast.FunctionDef) -> int:
    """Count the lines of the body without the docstring: an API docstring may be long."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_the_source_is_found():
    assert len(FILES) > 40


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_is_short_and_plain(path):
    text = path.read_text()
    tree = ast.parse(text)
    assert len(text.splitlines()) <= LONGEST_FILE
    assert not text.count("__future__")
    assert ast.get_docstring(tree), "a file starts with what it is for"
    for function in functions(tree):
        assert code_lines(function) <= LONGEST_FUNCTION, function.name
        if (path.name, function.name) not in MAY_TAKE_ANY_KEYWORD:
            assert function.args.kwarg is None, f"{function.name} tunnels keyword arguments"
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert "hasattr" not in names
    assert path.stem not in ("utils", "helpers", "common", "misc")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_class_does_not_do_everything(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            public = [function.name for function in node.body if isinstance(function, ast.FunctionDef)
                      and not function.name.startswith("_")]  # fmt: skip
            assert len(public) <= MOST_METHODS, node.name
