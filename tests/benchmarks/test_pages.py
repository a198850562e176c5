"""Numbers of the discussion are evaluated on the stored cells."""

import pytest
from jinja2 import UndefinedError

from benchmarks import catalogue
from benchmarks.cells import DONE, Cell, Code, Record
from benchmarks.pages import render_discussion
from benchmarks.store import Store
from tests.benchmarks.stub_study import make_study

VALUES = {"good": (0.5, 0.6, 0.7), "close": (0.52, 0.57, 0.7), "far": (0.1, 0.2, 0.32)}


@pytest.fixture
def render(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "STUDIES", {"stub": make_study(list(VALUES), n_seeds=3)})
    store = Store(tmp_path)
    for method, values in VALUES.items():
        for seed, value in enumerate(values):
            cell = Cell(study="stub", method=method, data="A", seed=seed, settings={"D": 2})
            metrics = {"accuracy": value, "seconds": 1234.5}
            store.append(Record(cell=cell, status=DONE, seconds=1.0, machine="m", code=Code("c"), metrics=metrics))
    return lambda template: render_discussion(template, store)


@pytest.mark.parametrize(("template", "text"), [
    ('{{ mean("stub", "A", "good", "accuracy") }} %', "60.0 %"),
    ('{{ mean("stub", "A", "good", "accuracy", scale=1, digits=2, at={"D": 2}) }}', "0.60"),
    ('{{ mean("stub", "A", "good", "seconds", scale=1, digits=0) }} s', "1,234 s"),
    ('{{ spread("stub", "A", "good", "accuracy") }}', "60.0 ± 10.0"),
    ('{{ verdict("stub", "A", "close", "good", "accuracy") }} good', "tied with good"),
    ('{{ verdict("stub", "A", "good", "far", "accuracy") }} far', "ahead of far"),
    ('{{ verdict("stub", "A", "good", "far", "accuracy", higher=false) }} far', "behind far"),
    ('{{ standing("stub", "good", "far", "accuracy") }}', "ahead of far on A"),
    ('{{ standing("stub", "close", "good", "accuracy") }}', "tied with good on A"),
    ('{{ paper("multi-view", "NG-MVLVM", "BRIDGES KNN", 2) }}', "85.31"),
])  # fmt: skip
def test_queries_are_evaluated(render, template, text):
    assert render(template) == text


@pytest.mark.parametrize(("template", "message"), [
    ('{{ mean("stub", "B", "good", "accuracy") }}', "asks for 'accuracy' of good on B in study stub"),
    ('{{ mean("stub", "A", "good", "accuracy", at={"D": 3}) }}', "there is no such cell"),
    ('{{ verdict("stub", "A", "good", "absent", "accuracy") }}', "of absent on A"),
    ('{{ mean("stb", "A", "good", "accuracy") }}', "There is no study 'stb'. Did you mean 'stub'?"),
    ('{{ paper("multi-view", "NG-MVLVM", "IRIS KNN") }}', "The paper prints no 'IRIS KNN'"),
])  # fmt: skip
def test_queries_without_cells_are_errors(render, template, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        render(template)


def test_unknown_names_are_errors(render):
    with pytest.raises(UndefinedError):
        render("{{ nothing }}")


def test_paragraphs_and_lists_are_wrapped_after_evaluation(render):
    words = "word " * 30
    number = "{{ mean('stub', 'A', 'good', 'accuracy') }}"
    template = f"### Title\n\n{words}\n\n- one {words}\n- {number}\n  two\n\n| a | b |\n|---|---|"
    lines = render(template).splitlines()
    assert max(map(len, lines)) <= 120
    assert lines[0] == "### Title"
    assert [line for line in lines if line.startswith("- ")][1] == "- 60.0 two"
    assert sum(line.startswith("  word") for line in lines) == 1
    assert lines[-2:] == ["| a | b |", "|---|---|"]
