"""Encodings go there and back."""

import json

import numpy as np
import pytest

from mvlvm import ViewError
from mvlvm.views import as_views
from mvlvm.views.encoding import (
    BinaryEncoding,
    CountEncoding,
    IdentityEncoding,
    LabelEncoding,
    OneHotEncoding,
    encoding_from_dict,
    encoding_to_dict,
    fit_encoding,
    fit_encodings,
)

RNG = np.random.default_rng(0)
NAN = np.nan


def with_gaps(Y, rows=(1, 4)):
    gappy = np.array(Y, dtype=np.float64)
    gappy[list(rows)] = NAN
    return gappy


PAIRS = RNG.integers(2, size=(20, 3))
CASES = {
    "measurements": (RNG.normal(size=(20, 3)), "gaussian", IdentityEncoding()),
    "heavy tails": (RNG.standard_t(2, size=(20, 3)), "student-t", IdentityEncoding()),
    "counts": (RNG.poisson(3, size=(20, 3)), "poisson", CountEncoding("poisson")),
    "dispersed counts": (RNG.poisson(3, size=(20, 3)), "negative-binomial", CountEncoding("negative-binomial")),
    "zero and one": (PAIRS, "bernoulli", BinaryEncoding(0.0, 1.0)),
    "minus one and one": (2 * PAIRS - 1, "bernoulli", BinaryEncoding(-1.0, 1.0)),
    "five and nine": (4 * PAIRS + 5, "bernoulli", BinaryEncoding(5.0, 9.0)),
    "one-hot": (np.eye(4)[RNG.permutation(np.arange(20) % 4)], "categorical", OneHotEncoding()),
    "numbers": (
        (3 * RNG.permutation(np.arange(20) % 4)[:, None] - 1),
        "categorical",
        LabelEncoding((-1.0, 2.0, 5.0, 8.0)),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_view_is_encoded_and_comes_back_gaps_included(case):
    Y, likelihood, expected = CASES[case]
    gappy = with_gaps(Y)
    encoding = fit_encoding(gappy, likelihood)
    assert encoding == expected
    inside = encoding.encode("x", gappy)
    assert encoding.n_input_columns(inside.shape[1]) == gappy.shape[1]
    np.testing.assert_array_equal(encoding.decode(inside), gappy)
    assert encoding_from_dict(json.loads(json.dumps(encoding_to_dict(encoding)))) == encoding


@pytest.mark.parametrize("case", ["zero and one", "minus one and one", "five and nine", "one-hot", "numbers"])
def test_what_is_inside_are_zeros_and_ones(case):
    Y, likelihood, encoding = CASES[case]
    inside = encoding.encode("x", with_gaps(Y))
    assert set(np.unique(inside[~np.isnan(inside)])) == {0.0, 1.0}
    assert np.isnan(inside[[1, 4]]).all()
    if likelihood == "categorical":
        np.testing.assert_array_equal(np.delete(inside, [1, 4], axis=0).sum(axis=1), 1.0)


def test_a_number_stands_in_the_column_of_its_class():
    inside = LabelEncoding((2.0, 5.0, 8.0)).encode("x", np.array([[5.0], [8.0], [NAN], [2.0]]))
    np.testing.assert_array_equal(inside, [[0, 1, 0], [0, 0, 1], [NAN, NAN, NAN], [1, 0, 0]])


def test_probabilities_become_the_most_probable_value():
    P = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [NAN, NAN, NAN]])
    np.testing.assert_array_equal(LabelEncoding((2.0, 5.0, 8.0)).decode(P), [[5.0], [2.0], [NAN]])
    np.testing.assert_array_equal(OneHotEncoding().decode(P), [[0, 1, 0], [1, 0, 0], [NAN, NAN, NAN]])
    np.testing.assert_array_equal(BinaryEncoding(-1.0, 1.0).decode(np.array([[0.2, 0.7, NAN]])), [[-1.0, 1.0, NAN]])


def message(encoding, Y):
    with pytest.raises(ViewError) as caught:
        encoding.encode("x", np.array(Y))
    return str(caught.value)


def test_what_training_has_not_seen_is_named_beside_what_it_has():
    assert message(LabelEncoding((1.0, 2.0)), [[1.0], [7.0], [NAN], [3.0]]) == (
        "View 'x' must hold classes that training has seen. Got 3.0, 7.0. The known ones are 1, 2. "
        "Put NaN where nothing is known, or fit again with such rows."
    )
    assert "must hold values that training has seen. Got 0.0. The known ones are -1, 1." in message(
        BinaryEncoding(-1.0, 1.0), [[0.0, 1.0]]
    )
    assert "must hold counts, 0, 1, 2, ..., to be poisson. Got 1 entries that are negative" in message(
        CountEncoding("poisson"), [[-1.0, 1.0]]
    )
    assert "Got 1 rows that have not, the first is row 1: 1, 1." in message(OneHotEncoding(), [[0.0, 1.0], [1.0, 1.0]])


def test_a_label_view_is_encoded_by_its_codes():
    words = np.array(["b", "a", "c", "a"], dtype=object)
    views = as_views({"x": RNG.normal(size=(4, 2)), "label": words})
    encodings = fit_encodings(views, {"x": "gaussian", "label": "categorical"})
    assert encodings == {"x": IdentityEncoding(), "label": LabelEncoding((0.0, 1.0, 2.0))}
    inside = encodings["label"].encode("label", views.arrays["label"])
    np.testing.assert_array_equal(inside, [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]])
    back = views.layout.table("label", encodings["label"].decode(inside))
    np.testing.assert_array_equal(back, words)
