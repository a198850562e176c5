import numpy as np
import pandas as pd
import pytest

from mvlvm.datasets import load
from mvlvm.io import read, read_labels


def test_views_and_labels_are_read_back_as_they_are(run, tmp_path):
    run("data", "export", "digits-halves", "--out", "digits")
    data = load("digits-halves")
    views = read([tmp_path / "digits" / f"{name}.csv" for name in ("left", "right")])
    for name in ("left", "right"):
        np.testing.assert_array_equal(views[name], data[name])
    labels = read_labels(tmp_path / "digits" / "labels.csv")
    assert labels.index.equals(views["left"].index)
    np.testing.assert_array_equal(labels.astype(int), data.labels)


def test_new_rows_are_a_random_subset_in_a_folder_of_their_own(run, tmp_path):
    options = ["--option", "n_samples=40", "--option", "n_features=3"]
    run("data", "export", "s-curve", *options, "--new-rows", 10, "--out", "curve")
    both = [read(tmp_path / "curve" / part / "view1.csv")["view1"] for part in (".", "new")]
    assert [len(part) for part in both] == [30, 10]
    assert list(both[0].columns) == ["x0", "x1", "x2"]
    whole = pd.concat(both).sort_index()
    np.testing.assert_array_equal(whole, load("s-curve", n_samples=40, n_features=3, random_state=0)["view1"])
    assert not (tmp_path / "curve" / "labels.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bridgs", "--out", "x"], "bridges"),
        (["s-curve", "--new-rows", 500, "--out", "x"], "--new-rows must be less than the number of rows, 500. Got 500"),
        (["s-curve", "--out", "far/away"], "There is no folder"),
        (["s-curve", "--out", "other"], "other holds other files, such as notes.txt, which are never replaced"),
        (["s-curve", "--option", "n=3", "--out", "x"], "n"),
    ],
)
def test_mistakes_are_reported_and_nothing_is_written(run, tmp_path, arguments, message):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("")
    assert message in run("data", "export", *arguments, code=2).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_an_export_is_replaced_on_request(run, tmp_path):
    options = ["s-curve", "--option", "n_samples=20", "--out", "curve"]
    run("data", "export", *options)
    (tmp_path / "curve" / "view1.csv").write_text("old")
    assert "curve exists" in run("data", "export", *options, code=2).stderr
    run("data", "export", *options, "--force")
    assert len(read(tmp_path / "curve" / "view1.csv")["view1"]) == 20
