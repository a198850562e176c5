"""Real cells are written to a file, read and fitted, and the fit is written into the same object."""

import mudata
import numpy as np
import pytest

from mvlvm import NGMVLVM, to_mudata
from mvlvm.datasets import load
from mvlvm.views import read
from tests.datasets.real_data import need

N_CELLS, N_GENES, N_PROTEINS = 500, 500, 49
pytestmark = [
    need("citeseq_pbmc.npz"),
    # some proteins have the names of their genes, of which mudata warns at every write and read
    pytest.mark.filterwarnings("ignore:var_names are not unique"),
]


def load_cells():
    """Return log-normalised RNA of the most variable genes, and the logarithm of protein counts."""
    return load("citeseq-pbmc", views=("rna", "protein"), values="log", n_genes=N_GENES).as_mudata()


def test_cells_are_unchanged_by_saving_loading_and_fitting(tmp_path):
    with mudata.set_options(pull_on_update=False):
        mdata = load_cells()
        mdata.write(tmp_path / "cells.h5mu")
    views = read(tmp_path / "cells.h5mu")
    assert {name: frame.shape for name, frame in views.items()} == {
        "rna": (N_CELLS, N_GENES),
        "protein": (N_CELLS, N_PROTEINS),
    }
    for name, frame in views.items():
        assert list(frame.index) == list(mdata.obs_names)
        assert list(frame.columns) == list(mdata[name].var_names)
        np.testing.assert_array_equal(frame, mdata[name].X)

    est = NGMVLVM(max_iter=50, tol=0.0, random_state=0).fit(views)
    in_memory = NGMVLVM(**est.get_params()).fit(mdata)
    np.testing.assert_array_equal(in_memory.embedding_, est.embedding_)
    assert all(share > 0 for share in est.explained_variance_.values())

    with mudata.set_options(pull_on_update=False):
        reversed_rows = mdata[mdata.obs_names[::-1]].copy()
        to_mudata(est, reversed_rows).write(tmp_path / "fitted.h5mu")
        fitted = mudata.read_h5mu(tmp_path / "fitted.h5mu")
    assert list(fitted.obs_names) == list(mdata.obs_names[::-1])
    np.testing.assert_array_equal(fitted.obsm["X_mvlvm"], est.embedding_[::-1])
    np.testing.assert_array_equal(fitted.obsm["X_mvlvm_std"], est.embedding_std_[::-1])
    assert fitted.uns["mvlvm"]["elbo"] == est.elbo_
    assert fitted.uns["mvlvm"]["noise_variance"] == est.noise_variance_
    np.testing.assert_array_equal(fitted.uns["mvlvm"]["history"]["elbo"], est.history_["elbo"])
    np.testing.assert_array_equal(fitted["rna"].X, mdata["rna"].X[::-1])
