import numpy as np
import pytest

from mvlvm.views.sizes import ViewSize, total_bytes, view_sizes


def test_sizes_of_arrays_lists_and_labels():
    sizes = view_sizes({"a": np.zeros((6, 3), dtype=np.uint8), "b": np.zeros((6, 4)), "y": list("aabbcc")})
    assert sizes == {"a": ViewSize(6, 3, 1), "b": ViewSize(6, 4, 0), "y": ViewSize(6, 1, 1)}
    assert total_bytes(sizes) == 8 * 6 * (3 + 4 + 1)
    assert view_sizes([np.zeros((2, 3)), [[1, 2], [3, 4]]]) == {"view0": ViewSize(2, 3, 0), "view1": ViewSize(2, 2, 1)}


def test_sizes_of_tables_that_are_not_arrays():
    pandas, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    frame = pandas.DataFrame(np.zeros((5, 2)), columns=["a", "b"])
    assert view_sizes(frame) == {"view0": ViewSize(5, 2, 0)}
    assert view_sizes(frame.assign(c=1))["view0"] == ViewSize(5, 3, 1)
    assert view_sizes(sparse.csr_matrix((10**6, 10**6)))["view0"] == ViewSize(10**6, 10**6, 2)  # far too large to read


def test_sizes_of_annotated_data():
    anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    from mvlvm.views.annotated import quietly

    with quietly():
        rna, protein = (anndata.AnnData(np.zeros((4, M), dtype=np.float32)) for M in (7, 2))
        assert view_sizes(rna) == {"view0": ViewSize(4, 7, 2)}
        together = mudata.MuData({"rna": rna, "protein": protein})
    assert view_sizes(together) == {"rna": ViewSize(4, 7, 2), "protein": ViewSize(4, 2, 2)}
