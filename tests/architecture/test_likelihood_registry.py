"""Only the registry of likelihoods contains their names as string literals."""

import ast
from pathlib import Path

from mvlvm.likelihoods import LIKELIHOODS

SOURCE = Path(__file__).parents[2] / "src" / "mvlvm"
# `likelihoods` defines the names. Commands, data sets and studies pass them to estimators as a user would.
ALLOWED = {"likelihoods", "cli", "datasets", "studies"}
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).parts[0] not in ALLOWED]


def docstrings(tree):
    """Return the ids of constants that are expression statements, such as docstrings."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def public_defaults(tree):
    """Return the ids of constants that are default values of public functions and constructors."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    public = [node for node in functions if not node.name.startswith("_") or node.name == "__init__"]
    return {id(value) for node in public for value in [*node.args.defaults, *node.args.kw_defaults]}


def literal_names(source):
    """Return the line numbers and values of string literals that are likelihood names."""
    tree = ast.parse(source)
    allowed = docstrings(tree) | public_defaults(tree)
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in LIKELIHOODS and id(node) not in allowed
    ]


def test_likelihoods_are_not_named_by_string_literals():
    found = {str(path.relative_to(SOURCE)): literal_names(path.read_text()) for path in FILES}
    assert {path: names for path, names in found.items() if names} == {}


def test_comparisons_and_dictionaries_are_found_while_docstrings_and_public_defaults_are_allowed():
    source = (
        "def fit(likelihood='gaussian'):\n    'poisson'\n    return likelihood == 'poisson' or {'student-t': 1}\n"
        "def _fit(likelihood='bernoulli'): ...\n"
    )
    assert sorted(literal_names(source)) == [(3, "poisson"), (3, "student-t"), (4, "bernoulli")]


def test_every_likelihood_is_registered_under_its_own_name():
    assert all(likelihood.name == name for name, likelihood in LIKELIHOODS.items())
