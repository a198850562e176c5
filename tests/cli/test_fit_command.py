import json
import os
import signal
import subprocess
import sys
import time
import tomllib

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest

import mvlvm
from mvlvm import NGMVLVM
from mvlvm.io import read
from tests.cli.conftest import QUICK, read_csv

VIEWS = ["--view", "rna=rna.csv", "--view", "protein=protein.csv"]
PARAMETERS = {"max_iter": 10, "tol": 0.0, "n_points": 5, "n_draws_predict": 1, "random_state": 0}
CONTENTS = {"model.safetensors", "embedding.csv", "relevance.csv", "views.csv", "history.csv", "fit.toml"}


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_the_folder_holds_the_model_and_its_results(run, files, tables):
    run("fit", *VIEWS, "--labels", "labels.csv:type", "--out", "model", *QUICK)
    assert names(files / "model") == CONTENTS | {"labels.csv"}
    est = mvlvm.load(files / "model")
    embedding = read_csv(files / "model" / "embedding.csv", index_col="cell")
    assert list(embedding.columns) == ["x0", "x1", "x0_std", "x1_std"]
    np.testing.assert_array_equal(embedding[["x0", "x1"]], est.embedding_)
    np.testing.assert_array_equal(embedding[["x0_std", "x1_std"]], est.embedding_std_)
    views = read_csv(files / "model" / "views.csv", index_col="view")
    assert list(views["missing_rows"]) == [0, 5]
    assert list(views["rows"]) == [50, 45]
    assert views.loc["rna", "missing_entries"] == pytest.approx(1 / 300)
    assert views.loc["protein", "explained_variance"] == est.explained_variance_["protein"]
    labels = read_csv(files / "model" / "labels.csv", index_col="cell")["type"]
    pd.testing.assert_series_equal(labels, tables["labels"]["type"][:50], check_dtype=False)
    history = read_csv(files / "model" / "history.csv")
    np.testing.assert_array_equal(history["elbo"], est.history_["elbo"])


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "h5mu"])
def test_results_are_those_of_the_python_interface_bit_for_bit(run, files, tables, kind):
    given = {name: tables[name] for name in ("rna", "protein")}
    if kind == "h5mu":
        parts = {name: anndata.AnnData(table) for name, table in given.items()}
        with mudata.set_options(pull_on_update=False):
            mudata.MuData(parts).write(files / "cells.h5mu")
        arguments, source = ["--view", "cells.h5mu"], files / "cells.h5mu"
    else:
        for name, table in given.items():
            if kind == "parquet":
                table.to_parquet(files / f"{name}.parquet")
            else:
                table.to_csv(files / f"{name}.{kind}", sep="," if kind == "csv" else "\t")
        arguments = [part for name in given for part in ("--view", f"{name}={name}.{kind}")]
        source = {name: files / f"{name}.{kind}" for name in given}
    run("fit", *arguments, "--out", "model", *QUICK)
    expected = NGMVLVM(**PARAMETERS).fit(read(source))
    loaded = mvlvm.load(files / "model")
    np.testing.assert_array_equal(loaded.embedding_, expected.embedding_)
    assert np.isnan(read(source)["protein"]).any(axis=None)
    for name, table in expected.reconstruct().items():
        np.testing.assert_array_equal(loaded.reconstruct()[name], table)


def test_a_saved_configuration_repeats_the_fit_bit_for_bit(run, files):
    run("fit", *VIEWS, "--labels", "labels.csv:type", "--out", "model", "--kernel", "rna=sm", "--scale", "none", *QUICK)
    options = tomllib.loads((files / "model" / "fit.toml").read_text())
    assert options["parameters"]["kernel"] == {"rna": "sm", "protein": "ngsm"}
    assert options["parameters"]["scale"] == "none"
    assert options["fit"]["mvlvm"] == mvlvm.__version__
    run("fit", "--config", "model/fit.toml", "--out", "again", "--quiet")
    for name in ("embedding.csv", "views.csv", "relevance.csv", "labels.csv"):
        assert (files / "again" / name).read_bytes() == (files / "model" / name).read_bytes()
    first, second = (mvlvm.load(files / name) for name in ("model", "again"))
    assert first.get_params() == second.get_params()
    new = read(files / "new" / "rna.csv")
    pd.testing.assert_frame_equal(first.predict(new, target="protein"), second.predict(new, target="protein"))


def test_changed_inputs_are_reported_when_a_configuration_is_repeated(run, files):
    run("fit", *VIEWS, "--out", "model", *QUICK)
    (files / "rna.csv").write_text((files / "rna.csv").read_text().replace("c0,", "c0,9"))
    message = run("fit", "--config", "model/fit.toml", "--out", "again", code=2).stderr
    assert "rna.csv has changed since the fit that the configuration describes" in message


def test_options_of_the_command_line_have_precedence_over_the_configuration(run, files):
    (files / "config.toml").write_text(
        '[input]\nviews = ["rna=rna.csv", "protein=protein.csv"]\njoin = "inner"\n'
        "[parameters]\nn_components = 1\nmax_iter = 3\ntol = 0\nn_points = 5\nlikelihood = { rna = 'student-t' }\n"
    )
    run("fit", "--config", "config.toml", "--n-components", 2, "--out", "model", "--quiet")
    est = mvlvm.load(files / "model")
    assert (est.n_components, est.max_iter, len(est.embedding_)) == (2, 3, 45)
    assert est.likelihood_ == {"rna": "student-t", "protein": "gaussian"}
    run(
        "fit",
        "--config",
        "config.toml",
        "--view",
        "protein.csv",
        "--out",
        "other",
        "--likelihood",
        "gaussian",
        "--quiet",
    )
    assert mvlvm.load(files / "other").view_names_ == ["protein"]


def test_maps_have_the_recommended_settings_unless_options_say_otherwise(run, files):
    run("fit", *VIEWS, "--map", "--neighbor-weight", 30, "--out", "model", *QUICK)
    est = mvlvm.load(files / "model")
    assert (est.init, est.view_weights, est.neighbor_weight) == ("tsne", "balanced", 30.0)
    assert "neighbors" in est.history_
    run("fit", "--config", "model/fit.toml", "--map", "--out", "again", "--quiet")
    assert mvlvm.load(files / "again").neighbor_weight == "auto"


def test_json_is_the_only_output_on_stdout(run_json, files):
    values = run_json("fit", *VIEWS, "--out", "model", "--max-iter", 5, "--tol", 0, "--n-points", 5)
    assert values["views"] == ["rna", "protein"]
    assert (values["rows"], values["n_iter"], values["stop_reason"]) == (50, 5, "max_iter")
    assert values["elbo"] == mvlvm.load(files / "model").elbo_


USAGE = {
    "no view": ([], "At least one view is needed"),
    "a missing file": (["--view", "rna=nothing.csv"], "nothing.csv does not exist"),
    "a folder": (["--view", "rna=new"], "new is a folder, and must be a file"),
    "a view twice": (["--view", "a=rna.csv", "--view", "a=protein.csv"], "--view a=... was given twice"),
    "an empty name of a file": (["--view", "a="], "--view must have the form NAME=FILE"),
    "another join": ([*VIEWS, "--join", "left"], "--join must be outer or inner. Got 'left'"),
    "an unknown option": ([*VIEWS, "--max-itr", "5"], "--max-iter"),
    "an unknown view of an option": ([*VIEWS, "--kernel", "dna=sm"], "there is no view 'dna'. Did you mean 'rna'?"),
    "a view of an option twice": ([*VIEWS, "--kernel", "sm", "--kernel", "ngsm"], "--kernel was given twice"),
    "an unknown kernel": ([*VIEWS, "--kernel", "rbf"], "kernel must be one of"),
    "a word for a number": ([*VIEWS, "--max-iter", "many"], "max_iter must be an integer of at least 1. Got 'many'"),
    "a missing init": ([*VIEWS, "--init", "start.npy"], "--init: there is no file start.npy"),
    "a missing configuration": (["--config", "no.toml"], "--config: no.toml cannot be read"),
    "a configuration that is not TOML": (["--config", "rna.csv"], "--config: rna.csv is not a TOML file"),
    "missing labels": ([*VIEWS, "--labels", "none.csv:type"], "none.csv does not exist"),
}  # fmt: skip
DATA = {
    "an unknown column of labels": ([*VIEWS, "--labels", "labels.csv:kind"], "no column 'kind' for the labels"),
    "labels of other rows": ([*VIEWS, "--labels", "others.csv"], "others.csv have no row name of the views"),
    "text in a column": (["--view", "text.csv"], "Column 'b' of text.csv must hold numbers only. Got 'high'"),
    "duplicate row names": (["--view", "twice.csv"], "The row names of twice.csv must be unique"),
    "no shared rows": (["--view", "rna.csv", "--view", "apart.csv", "--join", "inner"], "have no row in common"),
    "a layer of a CSV file": ([*VIEWS, "--layer", "counts"], "Only files of type .h5ad and .h5mu have layers"),
    "more dimensions than columns": (["--view", "text2.csv", "--n-components", "9"], "n_components"),
}


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(("case", "code"), [*((name, 2) for name in USAGE), *((name, 1) for name in DATA)])
def test_mistakes_are_reported_in_a_sentence_and_nothing_is_written(run, files, case, code):
    (files / "text.csv").write_text("id,a,b\nr1,1,2\nr2,3,high\n")
    (files / "text2.csv").write_text("id,a,b\nr1,1,2\nr2,3,4\nr3,2,2\n")
    (files / "twice.csv").write_text("id,a\nr1,1\nr1,3\n")
    (files / "apart.csv").write_text("id,a\nr1,1\nr2,3\n")
    (files / "others.csv").write_text("id,kind\nr1,x\nr2,y\n")
    before = names(files)
    arguments, message = (USAGE | DATA)[case]
    result = run("fit", *arguments, "--out", "model", "--quiet", code=code)
    assert message in " ".join(result.stderr.replace("│", "").split())
    assert "Traceback" not in result.output
    assert result.stdout == ""
    assert names(files) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[paramters]\n", "the unknown section 'paramters'. Did you mean 'parameters'?"),
        ("[parameters]\nmax_itr = 3\n", "the unknown entry 'max_itr' in [parameters]. Did you mean 'max_iter'?"),
        ("max_iter = 3\n", "the unknown section 'max_iter'"),
    ],
)
def test_unknown_entries_of_a_configuration_are_named_with_the_closest_one(run, files, text, message):
    (files / "config.toml").write_text(text)
    assert message in run("fit", "--config", "config.toml", "--out", "model", code=2).stderr


def test_only_models_are_replaced_and_only_on_request(run, files):
    run("fit", *VIEWS, "--out", "model", *QUICK)
    before = (files / "model" / "model.safetensors").read_bytes()
    assert "model holds a model already" in run("fit", *VIEWS, "--out", "model", *QUICK, code=2).stderr
    assert (files / "model" / "model.safetensors").read_bytes() == before
    run("fit", *VIEWS, "--out", "model", "--force", *QUICK, "--n-components", 1)
    assert mvlvm.load(files / "model").n_components == 1
    message = run("fit", *VIEWS, "--out", "new", "--force", *QUICK, code=2).stderr
    assert "new exists and holds other files than a model, which are never replaced" in message
    assert "rna.csv is a file, and must be a folder" in run("fit", *VIEWS, "--out", "rna.csv", code=2).stderr
    assert "There is no folder" in run("fit", *VIEWS, "--out", "far/away", code=2).stderr


def test_an_error_while_writing_leaves_the_old_model(run, files, monkeypatch):
    run("fit", *VIEWS, "--out", "model", *QUICK)
    before = {path.name: path.read_bytes() for path in (files / "model").iterdir()}

    def full_disk(*args, **kwargs):
        raise OSError(28, "No space left on device", "embedding.csv")

    monkeypatch.setattr("mvlvm.cli.model_folder.write", full_disk)
    message = run("fit", *VIEWS, "--out", "model", "--force", *QUICK, code=1).stderr
    assert message.strip() == "mvlvm: embedding.csv: No space left on device"
    assert {path.name: path.read_bytes() for path in (files / "model").iterdir()} == before
    assert not [path for path in files.iterdir() if path.name.endswith(".part")]


def test_debug_shows_the_traceback_and_json_the_message(run, run_json, files):
    assert "Traceback" in run("fit", "--view", "none.csv", "--out", "m", "--debug", code=2).stderr
    values = run_json("fit", "--view", "none.csv", "--out", "m", code=2)
    assert (values["exit_code"], "none.csv does not exist" in values["error"]) == (2, True)


def test_initial_latents_are_read_from_a_file_and_repeated(run, files):
    np.save(files / "start.npy", np.random.default_rng(0).normal(size=(50, 2)))
    run("fit", *VIEWS, "--init", "start.npy", "--out", "model", *QUICK)
    assert mvlvm.load(files / "model").init_ == "array"
    assert tomllib.loads((files / "model" / "fit.toml").read_text())["parameters"]["init"] == "../start.npy"
    run("fit", "--config", "model/fit.toml", "--out", "again", "--quiet")
    assert (files / "again" / "embedding.csv").read_bytes() == (files / "model" / "embedding.csv").read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_writes_the_model_so_far(files):
    arguments = ["--max-iter", "1000000", "--tol", "0", "--n-points", "5", "--out", "model", "--json"]
    command = [sys.executable, "-m", "mvlvm", "fit", *VIEWS, *arguments]
    process = subprocess.Popen(
        command, cwd=files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    time.sleep(8)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert json.loads(out)["stop_reason"] == "interrupted"
    assert "Training was interrupted after" in err
    assert names(files / "model") == CONTENTS
    assert mvlvm.load(files / "model").stop_reason_ == "interrupted"


@pytest.mark.slow
def test_small_views_are_fitted_in_seconds(run_json, files):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    for name in "ab":
        pd.DataFrame(np.sin(X @ rng.normal(size=(2, 10)))).to_csv(files / f"{name}.csv")
    begin = time.perf_counter()
    run_json("fit", "--view", "a.csv", "--view", "b.csv", "--out", "m")
    assert time.perf_counter() - begin < 60  # 5 s on an idle machine


def test_text_files_need_no_optional_dependency(files):
    optional = ["anndata", "h5py", "matplotlib", "mudata", "pyarrow", "rdata", "sionna", "umap", "gpytorch", "mofapy2"]
    arguments = ["fit", *VIEWS, "--out", "model", "--max-iter", "3", "--tol", "0", "--n-points", "3", "--quiet"]
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({optional}))\n"
        f"from mvlvm.cli.main import app; app({arguments}, standalone_mode=False)\n"
        "app(['transform', 'model', '--view', 'rna=new/rna.csv', '--out', 't.tsv', '--quiet'], standalone_mode=False)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=files, check=True)
    assert names(files / "model") == CONTENTS
