"""Registry entries agree with the estimators and with the documentation."""

from pathlib import Path

import pytest

from mvlvm import MVARFLVM, baselines


def names_where(condition):
    return {entry.name for entry in baselines.list() if condition(entry)}


def test_entries_describe_their_methods():
    assert "linear discriminant analysis" in names_where(lambda entry: entry.needs_labels)
    assert {"latent Dirichlet allocation", "HPF"} <= names_where(lambda entry: entry.counts_only)
    assert {"MOFA", "ARFLVM", "MV-ARFLVM"} <= names_where(lambda entry: entry.takes_gaps)
    assert {"MCCA", "GFA"} <= names_where(lambda entry: entry.fewest_views == 2)
    assert "PCA" not in names_where(lambda entry: entry.needs_labels or entry.counts_only or entry.takes_gaps)


def test_mv_arflvm_is_registered_for_one_and_several_views():
    assert baselines.get("ARFLVM") is baselines.get("MV-ARFLVM") is MVARFLVM


def test_single_view_methods_come_first():
    several = [entry.several_views for entry in baselines.list()]
    assert several == sorted(several)


def test_names_are_unique():
    names = [entry.name for entry in baselines.list()]
    assert len(names) == len(set(names))
    with pytest.raises(ValueError, match="no method 'PPCA'. The methods are: PCA"):
        baselines.get("PPCA")


def documented_capabilities():
    """Return method -> (transform, reconstruct, predict) according to the table in the documentation."""
    page = (Path(__file__).parents[2] / "docs" / "baselines.md").read_text(encoding="utf-8")
    rows = page.split("| | `transform` | `reconstruct` | `predict` |\n|---|---|---|---|\n")[1].split("\n\n")[0]
    table = {}
    for row in rows.splitlines():
        names, *abilities = (cell.strip() for cell in row.strip("|").split("|"))
        table |= dict.fromkeys(names.split(", "), tuple(cell != "" for cell in abilities))
    return table


def test_documentation_lists_capabilities_of_every_method():
    methods = ("transform", "reconstruct", "predict")
    real = {entry.name: tuple(method in dir(entry.estimator) for method in methods) for entry in baselines.list()}
    assert documented_capabilities() == real
