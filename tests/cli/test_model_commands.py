import json

import numpy as np
import pytest

import mvlvm
from mvlvm.io import read
from tests.cli.conftest import read_csv

NEW = ["--view", "rna=new/rna.csv"]
BOTH = [*NEW, "--view", "protein=new/protein.csv"]


@pytest.fixture
def est(model):
    return mvlvm.load(model)


@pytest.fixture
def new(files):
    return read({"rna": files / "new" / "rna.csv"})


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_latents_of_new_rows_are_written_with_row_names(run, est, new, files, suffix):
    run("transform", "model", *NEW, "--out", f"latents.{suffix}", "--quiet")
    table = read(files / f"latents.{suffix}")["latents"]
    assert (table.index.name, table.index[0]) == ("cell", "c50")
    mean, std = est.transform(new, return_std=True)
    np.testing.assert_array_equal(table[["x0", "x1"]], mean)
    np.testing.assert_array_equal(table[["x0_std", "x1_std"]], std)


def test_a_view_is_predicted_with_standard_deviations(run, est, new, files):
    run("predict", "model", *NEW, "--target", "protein", "--out", "p.csv", "--std", "s.csv", "--quiet")
    mean, std = est.predict(new, target="protein", return_std=True)
    np.testing.assert_array_equal(read_csv(files / "p.csv", index_col="cell"), mean)
    np.testing.assert_array_equal(read_csv(files / "s.csv", index_col="cell"), std)
    assert list(read_csv(files / "p.csv").columns) == ["cell", *"wxyz"]
    run("predict", "model", *NEW, "--target", "protein", "--out", "q.csv", "--std", "n.csv", "--no-noise", "--quiet")
    assert (read_csv(files / "n.csv", index_col=0) < read_csv(files / "s.csv", index_col=0)).all(axis=None)


def test_all_views_are_predicted_into_a_folder_or_an_h5mu_file(run, est, new, files):
    run("predict", "model", *NEW, "--out", "all", "--quiet")
    run("predict", "model", *NEW, "--out", "all.h5mu", "--quiet")
    expected, stored = est.predict(new), read(files / "all.h5mu")
    for name, table in expected.items():
        np.testing.assert_array_equal(read_csv(files / "all" / f"{name}.csv", index_col="cell"), table)
        np.testing.assert_array_equal(stored[name], table)
        assert list(stored[name].index) == list(new["rna"].index)


def test_missing_entries_of_new_and_of_training_rows_are_filled(run, est, tables, files):
    run("impute", "model", "--out", "filled.h5mu", "--std", "std.h5mu", "--quiet")
    filled = read(files / "filled.h5mu")
    expected = est.impute()
    for name in expected:
        np.testing.assert_array_equal(filled[name], expected[name])
    assert filled["rna"].loc["c1", "g1"] == tables["rna"].loc["c1", "g1"]
    assert not filled["rna"].isna().any(axis=None)
    gaps = tables["rna"][-4:].copy()
    gaps.iloc[1, 1] = np.nan
    gaps.to_csv(files / "gaps.csv")
    run("impute", "model", "--view", "rna=gaps.csv", "--out", "gaps-filled.csv", "--quiet")
    np.testing.assert_array_equal(read_csv(files / "gaps-filled.csv", index_col=0), est.impute({"rna": gaps})["rna"])


def test_imputing_training_rows_requires_a_model_with_data(run, est, files):
    est.prepare()
    (files / "model" / "model.safetensors").unlink()
    est.save(files / "model" / "model.safetensors")
    message = run("impute", "model", "--out", "x.h5mu", code=2).stderr
    assert "does not contain training rows with missing entries" in message
    assert "--data" in message


def test_scores_are_those_of_the_estimator(run, run_json, est, files):
    views = read({name: files / "new" / f"{name}.csv" for name in ("rna", "protein")})
    assert float(run("score", "model", *BOTH, "--quiet").stdout) == pytest.approx(est.score(views), rel=1e-5)
    values = run_json("score", "model", *BOTH, "--target", "protein")
    assert values == {"log_density_per_entry": est.score(views, target="protein"), "rows": 10, "target": "protein"}


def test_drawn_rows_are_those_of_the_estimator(run, est, files):
    run("sample", "model", "-n", 4, "--seed", 3, "--out", "drawn", "--quiet")
    for name, table in est.sample(4, random_state=3).items():
        np.testing.assert_array_equal(read_csv(files / "drawn" / f"{name}.csv"), table)


def test_the_summary_shows_views_and_relevance(run, run_json, est, model):
    shown = run("show", "model").stdout
    for text in ("NGMVLVM in model: 50 rows, 2 views", "rna", "protein", "gaussian", "x1"):
        assert text in shown
    values = run_json("show", "model")
    assert values["elbo"] == est.elbo_
    assert values["views"]["protein"]["missing_rows"] == 5
    assert values["relevance"]["rna"]["x0"] == est.relevance_[0, 0]
    (model / "views.csv").unlink()  # of a model that was saved from Python, sizes of the views are not known
    assert "missing_rows" not in run_json("show", "model")["views"]["protein"]


def test_relevance_is_shown_as_a_heat_map(est):
    from mvlvm.cli.model_summary import _heat_cell

    assert str(_heat_cell(0.0).style) != str(_heat_cell(1.0).style)
    assert _heat_cell(0.314).plain.strip() == "31.4%"


CASES = {
    "no model": (["transform", "none", *NEW, "--out", "t.csv"], 2, "There is no model at none"),
    "a file that is no model": (["transform", "rna.csv", *NEW, "--out", "t.csv"], 1, "is not a saved mvlvm model"),
    "no view": (["transform", "model", "--out", "t.csv"], 2, "At least one view is needed"),
    "an unknown view": (["transform", "model", "--view", "dna=rna.csv", "--out", "t.csv"], 2,
                        "The model has no view 'dna'. Did you mean 'rna'?"),
    "an unknown target": (["predict", "model", *NEW, "--target", "proten", "--out", "t.csv"], 2, "mean 'protein'?"),
    "a given target": (["predict", "model", *BOTH, "--target", "protein", "--out", "t.csv"], 2, "given as a view too"),
    "an unknown format": (["predict", "model", *NEW, "--target", "protein", "--out", "t.xlsx"], 2, "must end in .csv"),
    "one file for two views": (["predict", "model", *NEW, "--out", "t.csv"], 2, "can hold one view, and there are 2"),
    "a folder for a table": (["transform", "model", *NEW, "--out", "t"], 2, "must end in .csv"),
    "an output that exists": (["transform", "model", *NEW, "--out", "rna.csv"], 2, "rna.csv exists"),
    "a folder that does not exist": (["transform", "model", *NEW, "--out", "a/b.csv"], 2, "There is no folder"),
    "the same output twice": (["predict", "model", *NEW, "--target", "protein", "--out", "t.csv", "--std", "t.csv"], 2,
                              "must be different"),
    "other columns": (["transform", "model", "--view", "rna=new/protein.csv", "--out", "t.csv"], 1, "feature names"),
    "a target that is not scored": (["score", "model", *NEW, "--target", "protein"], 2, "its file is needed"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_mistakes_are_reported_in_a_sentence_and_nothing_is_written(run, model, files, case):
    arguments, code, message = CASES[case]
    before = {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}
    result = run(*arguments, "--quiet", code=code)
    assert message in " ".join(result.stderr.replace("│", "").split())
    assert "Traceback" not in result.output
    assert {path: path.read_bytes() for path in files.rglob("*") if path.is_file()} == before


def test_outputs_are_replaced_on_request(run, model, files):
    run("transform", "model", *NEW, "--out", "t.csv", "--quiet")
    first = (files / "t.csv").read_bytes()
    (files / "t.csv").write_text("old")
    run("transform", "model", *NEW, "--out", "t.csv", "--force", "--quiet")
    assert (files / "t.csv").read_bytes() == first


def test_a_model_of_a_single_matrix_takes_a_view_of_any_name(run, files):
    run("fit", "--view", "rna.csv", "--out", "one", "--max-iter", 3, "--tol", 0, "--n-points", 5, "--quiet")
    run("transform", "one", "--view", "rna=new/rna.csv", "--out", "t.csv", "--quiet")
    matrix = np.random.default_rng(0).normal(size=(20, 3))
    mvlvm.NGMVLVM(max_iter=3, tol=0.0, n_points=5, random_state=0).fit(matrix).save(files / "matrix")
    np.save(files / "rows.npy", matrix[:2])
    run("transform", "matrix", "--view", "rows.npy", "--out", "v.csv", "--quiet")
    assert read_csv(files / "v.csv").shape == (2, 4)


def test_results_are_reported_as_json(run_json, model):
    assert run_json("transform", "model", *NEW, "--out", "t.csv") == {"out": "t.csv", "shapes": {"latents": [10, 4]}}
    assert json.dumps(run_json("sample", "model", "--out", "d"))
