"""Input types accepted by `fit` and by the methods of a fitted estimator."""

import subprocess
import sys

import anndata
import numpy as np
import pandas as pd
import pytest

import mvlvm
from mvlvm import NGMVLVM

QUICK = {"max_iter": 5, "tol": 0.0, "n_points": 5, "random_state": 0}
RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(4.0, size=(20, 4))
Y = RNG.normal(size=(20, 3))


def test_integers_are_fitted_and_transformed_like_equal_floats():
    rows = pd.DataFrame(index=[f"cell {i}" for i in range(20)])
    genes = pd.DataFrame(index=list("wxyz"))
    expected = NGMVLVM(**QUICK).fit(COUNTS.astype(float)).transform(COUNTS[:3].astype(float))
    table = pd.DataFrame(COUNTS, columns=list("wxyz"))
    for counts in (table, table.astype("Int64"), anndata.AnnData(COUNTS, obs=rows, var=genes)):
        np.testing.assert_array_equal(NGMVLVM(**QUICK).fit(counts).transform(counts[:3]), expected)


def test_impute_returns_a_list_with_none_for_missing_views():
    est = NGMVLVM(**QUICK).fit([COUNTS, Y])
    incomplete = np.where(Y[:4] > 0.5, np.nan, Y[:4])
    no_view, imputed = est.impute([None, incomplete])
    assert no_view is None
    np.testing.assert_array_equal(imputed, est.impute({"view1": incomplete, "view0": None})["view1"])
    np.testing.assert_array_equal(imputed[~np.isnan(incomplete)], incomplete[~np.isnan(incomplete)])
    _, (no_std, std) = est.impute([None, incomplete], return_std=True)
    assert no_std is None
    assert (std[np.isnan(incomplete)] > 0).all()


@pytest.mark.parametrize(
    "labels",
    [pd.date_range("2020", periods=3), pd.MultiIndex.from_product([["x"], [1, 2, 3]]), [None, True, "x"]],
    ids=["dates", "pairs", "others"],
)
def test_column_labels_of_any_type_are_saved(labels, tmp_path):
    frame = pd.DataFrame(Y, columns=labels)
    est = NGMVLVM(**QUICK).fit(frame)
    est.save(tmp_path)
    np.testing.assert_array_equal(mvlvm.load(tmp_path).transform(frame[:4]), est.transform(frame[:4]))


def test_warnings_point_to_the_line_that_calls_fit(tmp_path):
    """Runs in a new process, because the run-time type checks of the test suite add frames between caller and `fit`."""
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, torch, mvlvm\n"
        "torch.set_num_threads(1)\n"
        "Y = np.random.default_rng(0).normal(size=(20, 3))\n"
        "Y[2] = np.nan\n"
        "mvlvm.NGMVLVM(max_iter=50, tol=1e-9, n_points=5, random_state=0).fit(Y)\n"
    )
    stderr = subprocess.run([sys.executable, str(script)], check=True, capture_output=True, text=True).stderr
    assert f"{script}:5: ViewWarning: There are 1 row(s) without an entry" in stderr
    assert f"{script}:5: ConvergenceWarning: Training reached" in stderr
