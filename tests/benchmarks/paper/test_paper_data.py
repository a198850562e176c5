"""Data sets of the paper: subsets and order of rows, and the scaling of pixels."""

import numpy as np
import pytest

from benchmarks.paper import paper_data
from benchmarks.paper.paper_data import PaperData, load_paper_data, sample_rows, select_rows, unit_pixels
from mvlvm.datasets import Dataset
from tests.benchmarks.paper.stored_results import tiny_images
from tests.datasets.real_data import need

LABELS = np.repeat([0, 1, 2], 20)


@pytest.fixture(params=[False, True])
def shuffled(request, monkeypatch):
    sorted_rows = Dataset({"a": np.arange(60.0)[:, None]}, labels=LABELS)
    monkeypatch.setattr(paper_data, "load", lambda name, **options: sorted_rows)
    known = PaperData("bridges", quick_rows=25, shuffled=request.param)
    monkeypatch.setitem(paper_data.PAPER_DATA, "BRIDGES", known)
    return request.param


@pytest.mark.parametrize("max_rows", [None, 30, 100])
def test_rows_keep_labels_and_are_shuffled_only_on_request(shuffled, max_rows):
    first, again, other = (
        load_paper_data("BRIDGES", seed=seed, quick=False, max_rows=max_rows) for seed in (0, 0, 1)
    )  # fmt: skip
    rows = first.views["a"][:, 0].astype(int)
    assert len(rows) == len(set(rows.tolist())) == min(60, max_rows or 60)
    np.testing.assert_array_equal(first.labels, LABELS[rows])
    np.testing.assert_array_equal(rows, again.views["a"][:, 0])
    assert (np.diff(rows) > 0).all() != shuffled
    if shuffled:
        assert rows.tolist() != other.views["a"][:, 0].tolist()


@pytest.mark.parametrize(("max_rows", "n_rows"), [(None, 25), (10, 10), (40, 25)])
@pytest.mark.usefixtures("shuffled")
def test_quick_cells_have_fewer_rows(max_rows, n_rows):
    assert len(load_paper_data("BRIDGES", seed=0, quick=True, max_rows=max_rows).labels) == n_rows


def test_duplicates_sorted_by_class_are_shuffled():
    assert paper_data.PAPER_DATA["NEWSGROUPS"].shuffled


@need("newsgroups3.jsonl.gz")
def test_newsgroups_has_the_shape_stated_in_the_paper():
    data = load_paper_data("NEWSGROUPS", seed=0, quick=False)
    assert data.views["words"].shape == (2752, 19)


def test_pixels_are_scaled_to_the_unit_interval():
    assert unit_pixels({"a": np.array([[0, 51, 255]], dtype=np.uint8)})["a"][0] == pytest.approx([0, 0.2, 1.0])


def test_smaller_sample_of_rows_is_a_subset_of_a_larger_one():
    small, large = sample_rows(50, 5, 3), sample_rows(50, 20, 3)
    assert len(small) == 5
    assert set(small) < set(large)
    assert (np.diff(large) > 0).all()
    assert sample_rows(50, None, 3).tolist() == sample_rows(50, 60, 3).tolist() == list(range(50))
    data = tiny_images()
    some = select_rows(data, np.array([3, 5]))
    assert some["image"].tolist() == data["image"][[3, 5]].tolist()
    assert some.labels.tolist() == data.labels[[3, 5]].tolist()
