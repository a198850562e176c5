import numpy as np
import pytest
from scipy import sparse

from mvlvm import plots
from mvlvm.errors import ViewError
from mvlvm.plots.matrices import as_matrices

ONES = np.ones((3, 4))
SHAPES = {"a": (2, 2)}


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("views", "sentence"),
    [
        ({}, "There is nothing to show"),
        ({"a": ONES, "b": ONES[:2]}, "the same number in all. Got a: 3, b: 2."),
        ({"a": ONES[:0]}, "View 'a' must be a matrix with at least one row and one column. Got 0 x 4."),
        ({"a": ONES[:, :0]}, "Got 3 x 0."),
        ({"a": ONES[0]}, "Got 4."),
        ({"a": 3.0}, "Got a number."),
        ({"a": np.array([["x"]])}, "View 'a' must be made of numbers. Got <U1."),
        ({"a": np.array([[{}]])}, "View 'a' must be made of numbers. Got object."),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(views, sentence):
    for draw in (plots.plot_overview, lambda views: plots.plot_contact_sheet(views, dict.fromkeys(views, (2, 2)))):
        with pytest.raises(ViewError, match=sentence):
            draw(views)


def test_objects_that_are_numbers_are_shown_as_numbers():
    Y = np.array([[1, None], [np.nan, 2.5]], dtype=object)
    assert plots.plot_overview({"a": Y}).axes[0].get_title() == "a\n50 % missing"
    np.testing.assert_array_equal(as_matrices({"a": Y})["a"], [[1, np.nan], [np.nan, 2.5]])


def test_sparse_views_and_their_values_stay_as_they_are():
    Y = sparse.csr_array(np.eye(2, dtype=np.uint8))
    assert as_matrices({"a": Y})["a"] is Y


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"shapes": {}}, "There is nothing to show"),
        ({"shapes": {"a": (2, 2), "b": (2, 2)}}, "shapes must name views. Got 'b'; the views are: a."),
        ({"shapes": {"a": (2, 3)}}, r"View 'a' has 4 columns, which are no images of shape \(2, 3\)."),
        ({"shapes": {"a": (4,)}}, r"no images of shape \(4,\)"),
        ({"labels": np.zeros(2, int)}, "a label for every sample. Got 2 for 3 samples."),
        ({"labels": np.arange(3), "label_names": ["x", "y"]}, "a name for every class. Got 2; a label is 2."),
    ],
)
def test_a_sheet_whose_parts_do_not_fit_is_one_sentence(change, sentence):
    with pytest.raises(ViewError, match=sentence):
        plots.plot_contact_sheet(**({"views": {"a": ONES}, "shapes": SHAPES} | change))
