"""Encodings and their inverses."""

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


def with_missing_rows(Y, rows=(1, 4)):
    Y = np.array(Y, dtype=np.float64)
    Y[list(rows)] = NAN
    return Y


PAIRS = RNG.integers(2, size=(20, 3))
CASES = {
    "measurements": (RNG.normal(size=(20, 3)), "gaussian", IdentityEncoding()),
    "heavy tails": (RNG.standard_t(2, size=(20, 3)), "student-t", IdentityEncoding()),
    "counts": (RNG.poisson(3, size=(20, 3)), "poisson", CountEncoding("poisson")),
    "overdispersed counts": (RNG.poisson(3, size=(20, 3)), "negative-binomial", CountEncoding("negative-binomial")),
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
def test_decoding_inverts_encoding_and_keeps_missing_rows(case):
    Y, likelihood, expected = CASES[case]
    Y = with_missing_rows(Y)
    encoding = fit_encoding(Y, likelihood)
    assert encoding == expected
    encoded = encoding.encode("x", Y)
    assert encoding.n_input_columns(encoded.shape[1]) == Y.shape[1]
    np.testing.assert_array_equal(encoding.decode(encoded), Y)
    assert encoding_from_dict(json.loads(json.dumps(encoding_to_dict(encoding)))) == encoding


@pytest.mark.parametrize("case", ["zero and one", "minus one and one", "five and nine", "one-hot", "numbers"])
def test_binary_and_categorical_views_are_encoded_as_zeros_and_ones(case):
    Y, likelihood, encoding = CASES[case]
    encoded = encoding.encode("x", with_missing_rows(Y))
    assert set(np.unique(encoded[~np.isnan(encoded)])) == {0.0, 1.0}
    assert np.isnan(encoded[[1, 4]]).all()
    if likelihood == "categorical":
        np.testing.assert_array_equal(np.delete(encoded, [1, 4], axis=0).sum(axis=1), 1.0)


def test_labels_are_encoded_in_the_columns_of_their_classes():
    encoded = LabelEncoding((2.0, 5.0, 8.0)).encode("x", np.array([[5.0], [8.0], [NAN], [2.0]]))
    np.testing.assert_array_equal(encoded, [[0, 1, 0], [0, 0, 1], [NAN, NAN, NAN], [1, 0, 0]])


def test_probabilities_are_decoded_as_the_most_probable_value():
    P = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [NAN, NAN, NAN]])
    np.testing.assert_array_equal(LabelEncoding((2.0, 5.0, 8.0)).decode(P), [[5.0], [2.0], [NAN]])
    np.testing.assert_array_equal(OneHotEncoding().decode(P), [[0, 1, 0], [1, 0, 0], [NAN, NAN, NAN]])
    np.testing.assert_array_equal(BinaryEncoding(-1.0, 1.0).decode(np.array([[0.2, 0.7, NAN]])), [[-1.0, 1.0, NAN]])


def message(encoding, Y):
    with pytest.raises(ViewError) as caught:
        encoding.encode("x", np.array(Y))
    return str(caught.value)


def test_values_absent_from_training_are_reported_with_the_known_ones():
    assert message(LabelEncoding((1.0, 2.0)), [[1.0], [7.0], [NAN], [3.0]]) == (
        "View 'x' must hold classes that occur in training. Got 3.0, 7.0. The known classes are 1, 2. "
        "Use NaN where the value is unknown, or fit again with such rows."
    )
    assert "must hold values that occur in training. Got 0.0. The known values are -1, 1." in message(
        BinaryEncoding(-1.0, 1.0), [[0.0, 1.0]]
    )
    assert "must hold counts, 0, 1, 2, ..., to be poisson. Got 1 entries that are negative" in message(
        CountEncoding("poisson"), [[-1.0, 1.0]]
    )
    assert "Got 1 other rows, the first is row 1: 1, 1." in message(OneHotEncoding(), [[0.0, 1.0], [1.0, 1.0]])


def test_a_label_view_is_encoded_by_its_class_codes():
    words = np.array(["b", "a", "c", "a"], dtype=object)
    views = as_views({"x": RNG.normal(size=(4, 2)), "label": words})
    encodings = fit_encodings(views, {"x": "gaussian", "label": "categorical"})
    assert encodings == {"x": IdentityEncoding(), "label": LabelEncoding((0.0, 1.0, 2.0))}
    encoded = encodings["label"].encode("label", views.arrays["label"])
    np.testing.assert_array_equal(encoded, [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]])
    decoded = views.layout.table("label", encodings["label"].decode(encoded))
    np.testing.assert_array_equal(decoded, words)
