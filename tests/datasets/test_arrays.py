"""A digest knows arrays again, and nothing else."""

import numpy as np

from mvlvm.datasets.arrays import content_digest, write_arrays


def test_the_digest_changes_with_every_value_dtype_shape_and_name(tmp_path):
    X = np.arange(6, dtype=np.int16)
    cases = {
        "as it is": {"X": X, "y": X},
        "value": {"X": X, "y": X + (X == 3)},
        "dtype": {"X": X, "y": X.astype(np.uint16)},
        "shape": {"X": X, "y": X.reshape(2, 3)},
        "name": {"X": X, "z": X},
        "less": {"X": X},
        "text": {"X": X, "y": X.astype(str)},
    }
    digests = set()
    for name, arrays in cases.items():
        write_arrays(tmp_path / name, arrays)
        digests.add(content_digest(tmp_path / name))
    assert len(digests) == len(cases)


def test_the_digest_does_not_change_with_compression_order_and_memory_layout(tmp_path):
    X, scalar = np.arange(6.0).reshape(2, 3), np.array(7)
    write_arrays(tmp_path / "a", {"X": X, "scalar": scalar})
    with (tmp_path / "b").open("wb") as stream:
        np.savez(stream, scalar=scalar, X=np.asfortranarray(X.astype(">f8")))
    assert content_digest(tmp_path / "a") == content_digest(tmp_path / "b")
