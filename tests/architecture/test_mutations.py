"""The list of mutations is up to date; `make test-mutations` checks that each of them is caught."""

import ast

import pytest

from tests.architecture.mutations import MUTATIONS, ROOT, Mutation, mutated_source


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_fragment_of_a_mutation_occurs_once_and_its_tests_exist(mutation):
    ast.parse(mutated_source(mutation))  # a mutation changes results; it is not a syntax error
    assert mutation.tests
    for node_id in mutation.tests:
        path, name = node_id.split("::")
        functions = {
            node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)
        }
        assert name.partition("[")[0] in functions, node_id


def test_names_of_mutations_are_unique():
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.parametrize("fragment", ["no such fragment", "self"])
def test_a_fragment_that_is_not_unique_is_rejected(fragment):
    mutation = Mutation("a mutation", "models/latent.py", fragment, "", ("tests/test_package.py",))
    with pytest.raises(ValueError, match="must occur once in models/latent.py. Found"):
        mutated_source(mutation)
