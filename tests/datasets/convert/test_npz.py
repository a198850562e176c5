"""Tests of the `.npz` writer and the content digest."""

import numpy as np

from mvlvm.datasets.convert import content_digest, write_arrays


def test_digest_depends_on_values_dtypes_shapes_and_names(tmp_path):
    X = np.arange(6, dtype=np.int16)
    cases = {
        "reference": {"X": X, "y": X},
        "value": {"X": X, "y": X + (X == 3)},
        "dtype": {"X": X, "y": X.astype(np.uint16)},
        "shape": {"X": X, "y": X.reshape(2, 3)},
        "name": {"X": X, "z": X},
        "fewer arrays": {"X": X},
        "text": {"X": X, "y": X.astype(str)},
    }
    digests = set()
    for name, arrays in cases.items():
        write_arrays(tmp_path / name, arrays)
        digests.add(content_digest(tmp_path / name))
    assert len(digests) == len(cases)


def test_digest_is_independent_of_compression_order_and_memory_layout(tmp_path):
    X, scalar = np.arange(6.0).reshape(2, 3), np.array(7)
    write_arrays(tmp_path / "a", {"X": X, "scalar": scalar})
    with (tmp_path / "b").open("wb") as stream:
        np.savez(stream, scalar=scalar, X=np.asfortranarray(X.astype(">f8")))
    assert content_digest(tmp_path / "a") == content_digest(tmp_path / "b")
