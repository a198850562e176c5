import json

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import mvlvm
from mvlvm import NGMVLVM, ViewError, to_mudata

CELLS = [f"cell {i}" for i in range(20)]
RNG = np.random.default_rng(0)
RNA = pd.DataFrame(RNG.normal(size=(20, 3)), index=CELLS, columns=["g1", "g2", "g3"])
PROTEIN = pd.DataFrame(RNG.normal(size=(20, 2)), index=CELLS, columns=["p1", "p2"])


def as_anndata(frame):
    return anndata.AnnData(
        frame.to_numpy(), obs=pd.DataFrame(index=frame.index), var=pd.DataFrame(index=frame.columns)
    )  # fmt: skip


def as_mudata(rows=CELLS):
    with mudata.set_options(pull_on_update=False):
        return mudata.MuData({"rna": as_anndata(RNA.loc[rows]), "protein": as_anndata(PROTEIN.loc[rows])})


def quick(**parameters):
    return NGMVLVM(max_iter=3, tol=0.0, n_points=5, random_state=0, **parameters)


@pytest.fixture(scope="module")
def named():
    return quick(n_mixtures={"rna": 1, "protein": 2}).fit({"rna": RNA, "protein": PROTEIN})


@pytest.fixture(scope="module")
def unnamed():
    return quick().fit([RNA.to_numpy(), PROTEIN.to_numpy()])


def assert_stores(stored, est):
    fit = stored.uns["mvlvm"]
    assert (fit["version"], fit["estimator"]) == (mvlvm.__version__, "NGMVLVM")
    assert (fit["elbo"], fit["n_iter"], fit["stop_reason"]) == (est.elbo_, est.n_iter_, est.stop_reason_)
    assert list(fit["view_names"]) == est.view_names_
    assert fit["noise_variance"] == est.noise_variance_
    assert fit["explained_variance"] == est.explained_variance_
    np.testing.assert_array_equal([fit["relevance"][name] for name in est.view_names_], est.relevance_)
    np.testing.assert_equal(fit["history"], est.history_)
    parameters = fit["parameters"]
    assert parameters.keys() == est.get_params().keys()
    assert (parameters["kernel"], parameters["max_iter"], parameters["tol"]) == ("ngsm", 3, 0.0)
    assert json.loads(parameters["view_weights"]) is None


@pytest.mark.parametrize("file_type", ["h5mu", "h5ad"])
def test_a_fit_is_written_in_place_and_can_be_saved(named, file_type, tmp_path):
    target = as_mudata() if file_type == "h5mu" else as_anndata(RNA)
    assert to_mudata(named, target) is target
    path = tmp_path / f"x.{file_type}"
    with mudata.set_options(pull_on_update=False):
        target.write(path)
        stored = mudata.read_h5mu(path) if file_type == "h5mu" else anndata.read_h5ad(path)
    for written in (target, stored):
        np.testing.assert_array_equal(written.obsm["X_mvlvm"], named.embedding_)
        np.testing.assert_array_equal(written.obsm["X_mvlvm_std"], named.embedding_std_)
        assert_stores(written, named)
        assert json.loads(written.uns["mvlvm"]["parameters"]["n_mixtures"]) == {"rna": 1, "protein": 2}


def test_rows_are_matched_by_name(named, tmp_path):
    shuffled = [CELLS[i] for i in RNG.permutation(20)]
    named.save(tmp_path / "m")
    for est in (named, mvlvm.load(tmp_path / "m")):
        target = to_mudata(est, as_mudata(shuffled))
        by_name = dict(zip(target.obs_names, target.obsm["X_mvlvm"], strict=True))
        np.testing.assert_array_equal([by_name[cell] for cell in CELLS], est.embedding_)
        by_name = dict(zip(target.obs_names, target.obsm["X_mvlvm_std"], strict=True))
        np.testing.assert_array_equal([by_name[cell] for cell in CELLS], est.embedding_std_)


@pytest.mark.parametrize("make_target", [as_mudata, lambda: as_anndata(RNA)], ids=["MuData", "AnnData"])
def test_writing_into_a_view_of_an_object_copies_it(make_target):
    target = make_target()[CELLS[:15]]
    est = quick().fit(target)
    with pytest.warns(anndata.ImplicitModificationWarning):
        to_mudata(est, target)
    np.testing.assert_array_equal(target.obsm["X_mvlvm"], est.embedding_)
    assert target.uns["mvlvm"]["elbo"] == est.elbo_


def test_rows_without_names_are_matched_by_position(unnamed):
    np.testing.assert_array_equal(to_mudata(unnamed, as_mudata()).obsm["X_mvlvm"], unnamed.embedding_)
    numbered = quick().fit(RNA.reset_index(drop=True))
    np.testing.assert_array_equal(to_mudata(numbered, as_anndata(RNA)).obsm["X_mvlvm"], numbered.embedding_)
    with pytest.raises(ViewError, match="20 rows without names, so the AnnData must have as many. Got 19"):
        to_mudata(unnamed, as_anndata(RNA[1:]))


def test_rows_named_by_their_positions_are_matched_by_name(unnamed):
    order = RNG.permutation(20)
    target = as_anndata(RNA.set_axis([str(i) for i in order], axis=0))
    np.testing.assert_array_equal(to_mudata(unnamed, target).obsm["X_mvlvm"], unnamed.embedding_[order])


def test_other_rows_are_rejected_and_nothing_is_written(named):
    target = as_anndata(RNA.rename(index={"cell 1": "cell x"})[:17])
    with pytest.raises(
        ViewError,
        match=r"20 rows of the fit it lacks 4 \('cell 1', 'cell 17', 'cell 18', 'cell 19'\); "
        r"of its 17 rows the fit does not have 1 \('cell x'\)",
    ):
        to_mudata(named, target)
    assert "X_mvlvm" not in target.obsm
    assert "mvlvm" not in target.uns


def test_repeated_names_are_matched_only_in_the_same_order():
    rows = ["a", "a", *CELLS[2:]]
    with pytest.warns(UserWarning, match="not unique"):
        adata = as_anndata(RNA.set_axis(rows, axis=0))
    est = quick().fit(adata)
    np.testing.assert_array_equal(to_mudata(est, adata).obsm["X_mvlvm"], est.embedding_)
    with pytest.warns(UserWarning, match="not unique"):
        reversed_rows = adata[::-1].copy()
    with pytest.raises(ViewError, match="Got duplicate names"):
        to_mudata(est, reversed_rows)


def test_repeated_names_in_the_target_are_rejected(named):
    with pytest.warns(UserWarning, match="not unique"):
        target = as_anndata(RNA.rename(index={"cell 1": "cell 0"}))
    with pytest.raises(ViewError, match="Got duplicate names"):
        to_mudata(named, target)


def test_special_characters_in_view_names_and_an_initial_array_can_be_saved(tmp_path):
    initial = RNG.normal(size=(20, 2))
    est = quick(init=initial).fit({"rna/raw": RNA, "100 %": PROTEIN, ".": RNA})
    to_mudata(est, as_anndata(RNA)).write_h5ad(tmp_path / "x.h5ad")
    fit = anndata.read_h5ad(tmp_path / "x.h5ad").uns["mvlvm"]
    assert list(fit["view_names"]) == ["rna/raw", "100 %", "."]
    keys = {"rna%2Fraw": "rna/raw", "100 %": "100 %", "%2E": "."}
    assert fit["noise_variance"] == {key: est.noise_variance_[view] for key, view in keys.items()}
    np.testing.assert_array_equal(fit["parameters"]["init"], initial)


def test_unfitted_estimators_and_invalid_targets_are_rejected(named):
    with pytest.raises(NotFittedError):
        to_mudata(NGMVLVM(), as_mudata())
    with pytest.raises(TypeError, match=r"writes into a MuData or AnnData. Got DataFrame.*est\.embedding_"):
        to_mudata(named, RNA)
