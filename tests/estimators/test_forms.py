"""The forms in which people bring rows to a fit and to a fitted model."""

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


def test_whole_numbers_are_fitted_and_placed_like_the_same_numbers_with_a_point():
    rows = pd.DataFrame(index=[f"cell {i}" for i in range(20)])
    genes = pd.DataFrame(index=list("wxyz"))
    expected = NGMVLVM(**QUICK).fit(COUNTS.astype(float)).transform(COUNTS[:3].astype(float))
    table = pd.DataFrame(COUNTS, columns=list("wxyz"))
    for counts in (table, table.astype("Int64"), anndata.AnnData(COUNTS, obs=rows, var=genes)):
        np.testing.assert_array_equal(NGMVLVM(**QUICK).fit(counts).transform(counts[:3]), expected)


def test_a_list_is_filled_in_its_places():
    est = NGMVLVM(**QUICK).fit([COUNTS, Y])
    gappy = np.where(Y[:4] > 0.5, np.nan, Y[:4])
    nothing, filled = est.impute([None, gappy])
    assert nothing is None
    np.testing.assert_array_equal(filled, est.impute({"view1": gappy, "view0": None})["view1"])
    np.testing.assert_array_equal(filled[~np.isnan(gappy)], gappy[~np.isnan(gappy)])
    _, (no_std, std) = est.impute([None, gappy], return_std=True)
    assert no_std is None
    assert (std[np.isnan(gappy)] > 0).all()


@pytest.mark.parametrize(
    "labels",
    [pd.date_range("2020", periods=3), pd.MultiIndex.from_product([["x"], [1, 2, 3]]), [None, True, "x"]],
    ids=["dates", "pairs", "others"],
)
def test_a_saved_model_knows_the_labels_of_its_columns(labels, tmp_path):
    frame = pd.DataFrame(Y, columns=labels)
    est = NGMVLVM(**QUICK).fit(frame)
    est.save(tmp_path)
    np.testing.assert_array_equal(mvlvm.load(tmp_path).transform(frame[:4]), est.transform(frame[:4]))


def test_warnings_of_a_fit_point_at_the_line_that_calls_it(tmp_path):
    """In a new process: the run-time type checks of the test suite stand between a line and what it calls."""
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, torch, mvlvm\n"
        "torch.set_num_threads(1)\n"
        "Y = np.random.default_rng(0).normal(size=(20, 3))\n"
        "Y[2] = np.nan\n"
        "mvlvm.NGMVLVM(max_iter=50, tol=1e-9, n_points=5, random_state=0).fit(Y)\n"
    )
    said = subprocess.run([sys.executable, str(script)], check=True, capture_output=True, text=True).stderr
    assert f"{script}:5: ViewWarning: There are 1 row(s) without an entry" in said
    assert f"{script}:5: ConvergenceWarning: Training reached" in said
