"""Both kernels seed by seed: which cells are put beside each other, and what is called better."""

from dataclasses import replace

import pytest

from mvlvm.experiments.catalogue import EXPERIMENTS
from mvlvm.experiments.spec import Cell, Effort
from mvlvm.experiments.stationarity import NAME, TITLE, pairs, summary, table_of
from mvlvm.experiments.store import FAILED, Store
from mvlvm.experiments.writing import write_overview
from tests.experiments.test_running import record


def cell(method, seed, *, experiment="channel", data="CHANNEL", effort=Effort.FULL, at=(("D", 2),)):
    return Cell(experiment=experiment, data=data, method=method, seed=seed, effort=effort, at=at)


@pytest.fixture
def store(tmp_path):
    kept = Store(tmp_path)
    for seed in range(4):
        kept.append(record(cell("NG-MVLVM", seed), KNN=0.7 + 0.01 * seed, MSE=0.2))
        kept.append(record(cell("MV-ARFLVM", seed), KNN=0.6 + 0.012 * seed, MSE=0.1 + 0.001 * seed))
    kept.append(record(cell("NG-MVLVM", 4), KNN=0.0))  # the other has no such seed
    kept.append(record(cell("MV-ARFLVM", 0, at=(("D", 5),)), KNN=1.0))  # nor ours such a place
    kept.append(record(cell("NG-MVLVM", 0, effort=Effort.QUICK), KNN=0.0))
    kept.append(record(cell("MVAE", 0), KNN=0.0))
    kept.append(record(cell("MV-ARFLVM", 4), status=FAILED))
    return kept


def test_only_the_same_place_effort_and_seed_are_put_beside_each_other(store):
    found = {pair.number: pair for pair in pairs(EXPERIMENTS.values(), Effort.FULL, store)}
    assert set(found) == {"KNN", "MSE"}
    assert found["KNN"].ours.tolist() == pytest.approx([0.7, 0.71, 0.72, 0.73])
    assert found["KNN"].gain == pytest.approx(0.1 - 0.003)
    assert found["KNN"].standard_error == pytest.approx(0.002 * (5 / 3) ** 0.5 / 2)
    assert pairs(EXPERIMENTS.values(), Effort.QUICK, store) == []


def test_less_error_is_better(store):
    found = {pair.number: pair for pair in pairs(EXPERIMENTS.values(), Effort.FULL, store)}
    assert found["KNN"].gain > 0 > found["MSE"].gain
    assert "Of 2 numbers 1 are clearly better (bold) and 1 clearly worse" in " ".join(
        summary(list(found.values())).split()
    )
    rows = {row[2]: row for row in table_of(found.values()).rows[1:]}
    assert rows["KNN"][1] == "CHANNEL, D = 2"
    assert rows["KNN"][5].startswith("**+0.0970")
    assert rows["MSE"][5].startswith("*+0.0985")
    assert rows["MSE"][6] == "+97.0"


def test_a_difference_within_chance_is_not_clear(tmp_path):
    kept = Store(tmp_path)
    for seed, ours in enumerate((0.5, 0.7, 0.5, 0.7)):
        kept.append(record(cell("NG-MVLVM", seed), KNN=ours))
        kept.append(record(cell("ARFLVM", seed), KNN=0.58))
    (pair,) = pairs(EXPERIMENTS.values(), Effort.FULL, kept)
    assert not pair.is_clear
    assert "0 are clearly better" in " ".join(summary([pair]).split())
    assert table_of([pair]).rows[1][5] == "+0.0200 ± 0.0577"


def test_machines_are_not_mixed_and_two_seeds_are_too_few(tmp_path):
    kept = Store(tmp_path)
    for seed in range(5):
        kept.append(record(cell("NG-MVLVM", seed), KNN=0.7 + 0.01 * seed))
        theirs = record(cell("MV-ARFLVM", seed), KNN=0.6)
        kept.append(replace(theirs, machine="elsewhere") if seed > 1 else theirs)
    assert pairs(EXPERIMENTS.values(), Effort.FULL, kept) == []


def test_latents_that_another_page_has_judged_are_not_counted_twice(tmp_path):
    kept = Store(tmp_path)
    for seed in range(5):
        for method, accuracy in (("NG-MVLVM", 0.7 + 0.01 * seed), ("MV-ARFLVM", 0.6)):
            kept.append(record(EXPERIMENTS["held-out"].cell("BRIDGES", method, seed, Effort.FULL, {}), KNN=accuracy))
    assert pairs(EXPERIMENTS.values(), Effort.FULL, kept) == []


def test_the_page_is_written_as_markdown_and_csv(store):
    found = pairs(EXPERIMENTS.values(), Effort.FULL, store)
    path = write_overview(TITLE, summary(found), table_of(found), Effort.FULL, store.folder)
    assert "| channel | CHANNEL, D = 2 | KNN |" in path.read_text()
    assert (store.folder / f"{NAME}.csv").read_text().count("\n") == 3
