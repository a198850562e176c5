"""AnnData and MuData as input, and as the format of results.

Sparse views are validated like dense ones.
"""

import subprocess
import sys

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import mvlvm
from mvlvm import NGMVLVM, ViewError
from mvlvm.views import as_views

RNG = np.random.default_rng(0)
CELLS, GENES, PROTEINS = [f"c{i}" for i in range(12)], ["g1", "g2", "g3"], ["p1", "p2"]
RNA, PROTEIN = RNG.normal(size=(12, 3)), RNG.normal(size=(12, 2))


def annotated(X, rows=CELLS, columns=GENES):
    return anndata.AnnData(X, obs=pd.DataFrame(index=rows), var=pd.DataFrame(index=columns))


def make_mudata(**modalities):
    with mudata.set_options(pull_on_update=False):
        return mudata.MuData(modalities)


def two_modalities():
    return make_mudata(rna=annotated(RNA), protein=annotated(PROTEIN, columns=PROTEINS))


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.csc_matrix])
def test_an_anndata_is_one_view_and_is_restored(kind):
    views = as_views(annotated(kind(RNA)))
    assert views.names == ["view0"]
    np.testing.assert_array_equal(views.arrays["view0"], RNA)
    restored = views.layout.restore(views.arrays)
    assert isinstance(restored, anndata.AnnData)
    np.testing.assert_array_equal(restored.X, RNA)
    assert (list(restored.obs_names), list(restored.var_names)) == (CELLS, GENES)


def test_a_mudata_has_one_view_per_modality_and_is_restored():
    views = as_views(two_modalities())
    assert views.names == ["rna", "protein"]
    restored = views.layout.restore(views.arrays)
    assert isinstance(restored, mudata.MuData)
    assert list(restored.mod) == ["rna", "protein"]
    assert list(restored.obs_names) == CELLS
    np.testing.assert_array_equal(restored["protein"].X, PROTEIN)
    assert list(restored["protein"].var_names) == PROTEINS


def test_indexing_a_mudata_selects_rows_of_all_views():
    views = as_views(two_modalities()[CELLS[3:7]])
    assert list(views.layout.index) == CELLS[3:7]
    np.testing.assert_array_equal(views.arrays["protein"], PROTEIN[3:7])


def test_new_rows_without_names_are_numbered():
    views = as_views(two_modalities())
    restored = views.layout.of_rows(None).restore({name: array[:2] for name, array in views.arrays.items()})
    assert list(restored.obs_names) == list(restored["rna"].obs_names) == ["0", "1"]


def test_modalities_in_different_row_order_are_matched_by_name():
    order = RNG.permutation(12)
    views = as_views(
        make_mudata(rna=annotated(RNA), protein=annotated(PROTEIN[order], [CELLS[i] for i in order], PROTEINS))
    )  # fmt: skip
    for name, source in (("rna", RNA), ("protein", PROTEIN)):
        by_name = dict(zip(views.layout.index, views.arrays[name], strict=True))
        np.testing.assert_array_equal([by_name[cell] for cell in CELLS], source)


def test_rows_absent_from_a_modality_are_missing():
    views = as_views(make_mudata(rna=annotated(RNA), protein=annotated(PROTEIN[5:], CELLS[5:], PROTEINS)))
    by_name = dict(zip(views.layout.index, views.arrays["protein"], strict=True))
    assert all(np.isnan(by_name[cell]).all() for cell in CELLS[:5])
    np.testing.assert_array_equal([by_name[cell] for cell in CELLS[5:]], PROTEIN[5:])


def test_duplicate_gene_names_are_kept_without_a_further_warning():
    with pytest.warns(UserWarning, match="not unique"):
        adata = annotated(RNA, columns=["g", "g", "h"])
    views = as_views(adata)
    assert list(views.layout.restore(views.arrays).var_names) == ["g", "g", "h"]
    with pytest.warns(UserWarning, match="not unique"):
        mdata = make_mudata(rna=adata)
    views = as_views(mdata)
    assert list(views.layout.restore(views.arrays)["rna"].var_names) == ["g", "g", "h"]


def backed(folder):
    annotated(RNA).write_h5ad(folder / "a.h5ad")
    return anndata.read_h5ad(folder / "a.h5ad", backed="r")


def stale():
    mdata = two_modalities()
    mdata["rna"].obs_names = [f"new {cell}" for cell in CELLS]
    return mdata


def stale_and_repeated():
    mdata = two_modalities()
    mdata["rna"].obs_names = [CELLS[0], *CELLS[:-1]]
    return mdata


def repeated():
    with pytest.warns(UserWarning, match="not unique|should not be present"):
        return make_mudata(rna=annotated(RNA, ["a", "a", *CELLS[2:]]), protein=annotated(PROTEIN, columns=PROTEINS))


def sharing_columns():
    with mudata.set_options(pull_on_update=False):
        return mudata.MuData({"a": annotated(RNA), "b": annotated(RNA, [f"d{i}" for i in range(12)])}, axis=1)


BAD = {
    "no X": (lambda: anndata.AnnData(obs=pd.DataFrame(index=CELLS)), "View 'view0' is an AnnData without X"),
    "no columns": (lambda: annotated(np.empty((12, 0)), columns=[]), r"has 0 feature\(s\)"),
    "no rows": (lambda: annotated(np.empty((0, 3)), rows=[]), r"0 sample\(s\)"),
    "no modalities": (lambda: make_mudata(), "At least one view is needed"),
    "a modality without X": (
        lambda: make_mudata(rna=annotated(RNA), empty=anndata.AnnData(obs=pd.DataFrame(index=CELLS))),
        "View 'empty' is an AnnData without X",
    ),
    "AnnData in a dict": (lambda: {"rna": annotated(RNA)}, r"'rna' must be a matrix.*Got AnnData.*mudata\.MuData"),
    "AnnData in a list": (lambda: [annotated(RNA), annotated(RNA)], "'view0' must be a matrix.*Got AnnData"),
    "MuData inside MuData": (
        lambda: make_mudata(outer=two_modalities()),
        "View 'outer' must be an AnnData. Got MuData",
    ),
    "repeated rows": (repeated, "observation names of a MuData must be unique. Got duplicates: 'a'"),
    "repeated rows in a modality": (stale_and_repeated, "names of modality 'rna' must be unique. Got duplicates: 'c0'"),
    "rows absent from the MuData": (stale, r"Modality 'rna' has rows.*'new c0'.*mdata\.update\(\)"),
    "shared columns": (sharing_columns, r"must share their rows \(axis=0\). Got axis=1"),
}


@pytest.mark.parametrize("case", BAD)
def test_unusable_objects_are_rejected_with_a_specific_message(case):
    make, message = BAD[case]
    views = make()
    with pytest.raises(ViewError, match=message):
        as_views(views)


def test_backed_data_are_rejected_with_a_remedy(tmp_path):
    adata = backed(tmp_path)
    with pytest.raises(ViewError, match=r"still on disk \(backed\).*to_memory"):
        as_views(adata)
    adata.file.close()


@pytest.fixture(scope="module")
def fits():
    est = NGMVLVM(max_iter=3, tol=0.0, n_points=5, random_state=0)
    return {"anndata": est.fit(annotated(RNA)), "mudata": NGMVLVM(**est.get_params()).fit(two_modalities())}


def test_an_estimator_returns_results_in_the_type_of_its_input(fits):
    mean, std = fits["anndata"].reconstruct(return_std=True)
    assert isinstance(mean, anndata.AnnData)
    assert list(std.obs_names) == CELLS
    assert list(fits["anndata"].feature_names_in_) == GENES
    assert fits["anndata"].n_features_in_ == 3
    sample = fits["mudata"].sample(4)
    assert isinstance(sample, mudata.MuData)
    assert sample.shape == (4, 5)
    assert fits["mudata"].n_features_in_ == {"rna": 3, "protein": 2}
    plain = NGMVLVM(**fits["anndata"].get_params()).fit(RNA)
    np.testing.assert_array_equal(fits["anndata"].embedding_, plain.embedding_)


@pytest.mark.parametrize("kind", ["anndata", "mudata"])
def test_a_loaded_model_returns_results_in_the_type_of_its_input(fits, kind, tmp_path):
    fits[kind].save(tmp_path / "m")
    loaded, fitted = mvlvm.load(tmp_path / "m").reconstruct(), fits[kind].reconstruct()
    assert type(loaded) is type(fitted)
    assert list(loaded.obs_names) == CELLS
    assert list(loaded.var_names) == list(fitted.var_names)
    for one, other in (
        [(loaded, fitted)] if kind == "anndata" else [(loaded[name], fitted[name]) for name in fitted.mod]
    ):
        np.testing.assert_array_equal(one.X, other.X)


def test_a_saved_model_loads_where_mudata_is_not_installed(fits, tmp_path):
    fits["mudata"].save(tmp_path / "m")
    code = (
        "import sys; sys.modules['mudata'] = sys.modules['anndata'] = None; import mvlvm;"
        "est = mvlvm.load(sys.argv[1]); print(est.embedding_.shape); est.reconstruct()"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path / "m")], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "(12, 2)"
    assert "ModuleNotFoundError: Returning results as MuData needs mudata" in run.stderr
    assert 'pip install "mvlvm[files]"' in run.stderr


def test_optional_packages_are_not_imported_with_the_views_package():
    code = "import sys, mvlvm.views; sys.exit(any(name in sys.modules for name in ('anndata', 'mudata', 'h5py')))"
    subprocess.run([sys.executable, "-c", code], check=True)


GOOD = np.arange(12.0).reshape(4, 3)
SPARSE = [scipy.sparse.csr_matrix, scipy.sparse.dok_matrix, scipy.sparse.coo_array, scipy.sparse.lil_array]


@pytest.mark.parametrize("kind", SPARSE)
def test_sparse_views_are_converted_to_dense_arrays(kind):
    counts = kind(GOOD.astype(np.int16))
    for views in (counts, {"counts": counts}, [counts, GOOD]):
        array = next(iter(as_views(views).arrays.values()))
        np.testing.assert_array_equal(array, GOOD)
        assert array.dtype == np.float64


def test_sparse_columns_of_a_dataframe_are_converted_to_dense_arrays():
    counts = pd.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_matrix(GOOD.astype(int)), columns=list("xyz"))
    mixed = counts.assign(dense=[1.5, 2.5, 3.5, 4.5])
    views = as_views({"counts": counts, "mixed": mixed})
    np.testing.assert_array_equal(views.arrays["counts"], GOOD)
    np.testing.assert_array_equal(views.arrays["mixed"], np.column_stack([GOOD, [1.5, 2.5, 3.5, 4.5]]))
    assert list(views.layout.columns["counts"]) == ["x", "y", "z"]


def test_an_invalid_sparse_view_is_rejected_as_a_dense_one():
    with pytest.raises(ViewError, match="contains infinity: 1 of its 12"):
        as_views(scipy.sparse.csr_matrix(np.where(GOOD == 5, np.inf, GOOD)))
    with pytest.raises(ViewError, match="real and imaginary parts"):
        as_views(scipy.sparse.csr_matrix(GOOD + 1j))


@pytest.mark.usefixtures("no_type_checks")
def test_a_sparse_view_too_large_for_memory_is_rejected_with_its_size(monkeypatch):
    huge = scipy.sparse.coo_matrix(([1.0], ([0], [0])), shape=(2**31 - 1, 2**20))
    with pytest.raises(ViewError, match=r"^View 'words' is sparse.*need 16,777,216.0 GiB.*TruncatedSVD"):
        as_views({"words": huge})
    small = scipy.sparse.csr_matrix(GOOD)

    def out_of_memory():
        raise MemoryError

    monkeypatch.setattr(small, "toarray", out_of_memory)
    with pytest.raises(ViewError, match="its 4 x 3 entries must fit into memory"):
        as_views({"words": small})


def test_a_sparse_view_may_need_all_of_the_physical_memory(monkeypatch):
    small = scipy.sparse.csr_matrix(GOOD)
    monkeypatch.setattr("mvlvm.views.interop.physical_memory", lambda: 8.0 * GOOD.size)
    np.testing.assert_array_equal(as_views(small).arrays["view0"], GOOD)
    monkeypatch.setattr("mvlvm.views.interop.physical_memory", lambda: 8.0 * GOOD.size - 1)
    with pytest.raises(ViewError, match="^View 'view0' is sparse, and its 4 x 3 entries must fit into memory"):
        as_views(small)


def test_text_next_to_sparse_columns_is_rejected_as_text():
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([1, 0]), "b": [None, "y"]})
    with pytest.raises(ViewError, match="^View 'cells' must hold numbers only. Got 'y'"):
        as_views({"cells": frame})
