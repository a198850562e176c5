"""Data sets of the paper: subsets and order of rows."""

import numpy as np
import pytest

from mvlvm.datasets import Dataset
from mvlvm.experiments import paper_data
from mvlvm.experiments.cells import Effort
from mvlvm.experiments.paper_data import PaperData, load_paper_data
from tests.datasets.real_data import need

LABELS = np.repeat([0, 1, 2], 20)


@pytest.fixture(params=[False, True])
def shuffled(request, monkeypatch):
    sorted_rows = Dataset({"a": np.arange(60.0)[:, None]}, labels=LABELS)
    monkeypatch.setattr(paper_data, "load", lambda name, **options: sorted_rows)
    monkeypatch.setitem(paper_data.PAPER_DATA, "BRIDGES", PaperData("bridges", shuffled=request.param))
    return request.param


@pytest.mark.parametrize("max_rows", [None, 30, 100])
def test_rows_keep_labels_and_are_shuffled_only_on_request(shuffled, max_rows):
    first, again, other = (
        load_paper_data("BRIDGES", seed=seed, effort=Effort.FULL, max_rows=max_rows) for seed in (0, 0, 1)
    )
    rows = first.views["a"][:, 0].astype(int)
    assert len(rows) == len(set(rows.tolist())) == min(60, max_rows or 60)
    np.testing.assert_array_equal(first.labels, LABELS[rows])
    np.testing.assert_array_equal(rows, again.views["a"][:, 0])
    assert (np.diff(rows) > 0).all() != shuffled
    if shuffled:
        assert rows.tolist() != other.views["a"][:, 0].tolist()


def test_duplicates_sorted_by_class_are_shuffled():
    assert paper_data.PAPER_DATA["NEWSGROUPS"].shuffled


@need("newsgroups3.jsonl.gz")
def test_newsgroups_has_the_shape_stated_in_the_paper():
    data = load_paper_data("NEWSGROUPS", seed=0, effort=Effort.FULL)
    assert data.views["words"].shape == (2752, 19)
