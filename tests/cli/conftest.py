import json
import shutil
from functools import partial

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from mvlvm.cli.main import app

read_csv = partial(pd.read_csv, float_precision="round_trip")
QUICK = ["--max-iter", "10", "--tol", "0", "--n-points", "5", "--n-draws-predict", "1", "--quiet"]


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a command in the folder of the test; returns the result, whose code must be the expected one."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, code=0):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, f"{result.exit_code}: {result.output} {result.exception!r}"
        return result

    return invoke


@pytest.fixture
def run_json(run):
    """Run a command with --json, and return the object that it prints, alone on stdout."""
    return lambda *arguments, code=0: json.loads(run(*arguments, "--json", code=code).stdout)


@pytest.fixture(scope="session")
def tables():
    """Two views with names of rows and columns, whose rows overlap, and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    index = pd.Index([f"c{i}" for i in range(60)], name="cell")
    rna = pd.DataFrame(np.sin(X @ rng.normal(size=(2, 6))), index=index, columns=[f"g{k}" for k in range(6)])
    protein = pd.DataFrame(np.cos(X @ rng.normal(size=(2, 4))), index=index, columns=list("wxyz"))[5:]
    rna.iloc[3, 2] = np.nan
    labels = pd.DataFrame({"type": np.where(X[:, 0] > 0, "B", "T"), "age": range(60)}, index=index)
    return {"rna": rna, "protein": protein, "labels": labels}


@pytest.fixture
def files(tables, tmp_path):
    """The tables as CSV files, without the last ten rows, which are in the folder `new`."""
    (tmp_path / "new").mkdir()
    for name, table in tables.items():
        table.loc[[row for row in table.index if int(row[1:]) < 50]].to_csv(tmp_path / f"{name}.csv")
        table[-10:].to_csv(tmp_path / "new" / f"{name}.csv")
    return tmp_path


@pytest.fixture(scope="session")
def _fitted(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    for name in ("rna", "protein"):
        table = tables[name]
        table.loc[[row for row in table.index if int(row[1:]) < 50]].to_csv(folder / f"{name}.csv")
    arguments = ["--view", f"rna={folder / 'rna.csv'}", "--view", f"protein={folder / 'protein.csv'}", "--data"]
    result = CliRunner().invoke(app, ["fit", *arguments, "--out", str(folder / "model"), *QUICK])
    assert result.exit_code == 0, result.output
    return folder / "model"


@pytest.fixture
def model(_fitted, files):
    """A fitted model in the folder of the test."""
    shutil.copytree(_fitted, files / "model")
    return files / "model"
