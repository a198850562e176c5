"""Loading by name: suggestions, options, labels as a view and descriptions."""

import numpy as np
import pytest

from mvlvm import datasets
from mvlvm.datasets import load
from mvlvm.datasets.loader import one_hot
from tests.datasets.raw_files import write_mnist


@pytest.mark.parametrize(
    ("given", "suggested"), [("mnits", "mnist"), ("S_Curve", "s-curve"), ("citeseq", "citeseq-pbmc"), ("yal", "yale")]
)
def test_unknown_name_suggests_the_closest_and_lists_all(given, suggested):
    with pytest.raises(
        ValueError, match=f"Unknown data set '{given}'. Did you mean '{suggested}'. Available data sets: s-curve"
    ):
        load(given)


def test_dissimilar_name_gets_no_suggestion():
    with pytest.raises(ValueError, match="Unknown data set 'qqqq'. Available data sets"):
        load("qqqq")


def test_unknown_option_lists_the_available_ones():
    with pytest.raises(
        ValueError, match="'r-mnist' has no option 'n_sample'. Did you mean 'n_samples'. Available options: n_samples"
    ):
        load("r-mnist", n_sample=3)
    with pytest.raises(ValueError, match="'bridges' has no option 'n_samples'. It has no options"):
        load("bridges", n_samples=3)


def test_labels_as_a_one_hot_view(folders):
    write_mnist(folders["home"])
    data = load("mnist", data_home=folders["home"], with_labels_as_view=True)
    assert list(data) == ["image", "label"]
    np.testing.assert_array_equal(data["label"].argmax(axis=1), data.labels)
    np.testing.assert_array_equal(data["label"].sum(axis=1), 1)


def test_unknown_label_is_a_missing_row_of_the_label_view():
    view = one_hot(np.array([1, -1, 0]), 2)
    np.testing.assert_array_equal(view, [[0, 1], [np.nan, np.nan], [1, 0]])


def test_label_view_of_unlabelled_data_is_rejected():
    with pytest.raises(ValueError, match="'s-curve' has no labels"):
        load("s-curve", with_labels_as_view=True)


@pytest.mark.parametrize(
    ("options", "ending"),
    [
        ({"n_samples": 4, "split": "test"}, "training set. Loaded with n_samples=4, split='test'."),
        ({"with_labels_as_view": True}, "training set. Loaded with with_labels_as_view=True."),
        ({"n_samples": None, "split": "all"}, "training set."),
        ({}, "training set."),
    ],
)
def test_description_lists_non_default_options(folders, options, ending):
    write_mnist(folders["home"])
    assert load("mnist", data_home=folders["home"], **options).description.endswith(ending)


def test_list_equal_to_a_default_tuple_is_not_listed_in_the_description():
    assert "Loaded with" not in load("s-curve", kernels=["rbf", "gibbs"]).description
    assert load("s-curve", kernels=("gibbs",)).description.endswith(" Loaded with kernels=['gibbs'].")


def test_options_are_listed_with_their_defaults():
    assert datasets.options("s-curve")["kernels"] == ("rbf", "gibbs")
    assert datasets.options("brendan") == {}


@pytest.mark.parametrize(
    ("given", "suggested"),
    [("randomstate", "random_state"), ("with_label_as_view", "with_labels_as_view"), ("data_hom", "data_home")],
)
def test_parameters_of_load_are_suggested_too(given, suggested):
    with pytest.raises(ValueError, match=f"no option '{given}'. Did you mean '{suggested}'"):
        load("mnist", **{given: 1})


@pytest.mark.usefixtures("no_type_checks")
def test_numpy_scalars_are_accepted_as_options(tmp_path):
    images = np.zeros((5, 28, 28), np.uint8)
    np.savez(tmp_path / "mnist.npz", X=images, y=np.arange(5), n_train=3)
    data = load("mnist", n_samples=np.int64(2), data_home=tmp_path, with_labels_as_view=np.True_)
    assert data.description.endswith(" Loaded with n_samples=2, with_labels_as_view=True.")
