"""Hidden pixels: filled in, judged where they were hidden, and shown.

Simple ways to fill gaps do what they say.
"""

import numpy as np
import pytest

from mvlvm.experiments import missing_pixels
from mvlvm.experiments.cells import CellStore, Effort
from mvlvm.experiments.missing_pixels import impute_column_means, impute_neighbours, impute_pca, pca_reconstruction
from tests.experiments.stored_results import cell, found_in, record, tiny_images

# fits of so few steps say that they have not finished
pytestmark = pytest.mark.filterwarnings("ignore::mvlvm.errors.ConvergenceWarning")
OURS, SHARE = "NG-MVLVM", "percent hidden"


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(missing_pixels, "load_paper_data", lambda *_, **__: tiny_images(n=40))


def measured(method, share, **at):
    return missing_pixels.measure(cell(missing_pixels.MISSING, method, **{SHARE: share, **at}))


def test_means_are_judged_where_pixels_were_hidden_and_nowhere_else():
    Y = tiny_images(n=40)["image"] / 255
    hidden = np.random.default_rng(0).random(Y.shape) < 0.4
    means = np.array([Y[~hidden[:, m], m].mean() for m in range(Y.shape[1])])
    expected = np.sqrt(np.mean((np.broadcast_to(means, Y.shape) - Y)[hidden] ** 2))
    assert measured("means of columns", 40).numbers == {"RMSE": pytest.approx(expected, rel=1e-5), "rows": 40}


def test_ours_has_error_bars_and_keeps_images(monkeypatch):
    monkeypatch.setattr(missing_pixels, "_QUICK_STEPS", 60)
    ours = measured(OURS, 40, D=2)
    assert set(ours.numbers) == {"RMSE", "RMSE rebuilt", "log density", "coverage", "rows"}
    assert ours.numbers["RMSE"] < measured("means of columns", 40).numbers["RMSE"]
    assert 0.5 < ours.numbers["coverage"] <= 1
    gaps = np.isnan(ours.arrays["with gaps"])
    assert 0.2 < gaps.mean() < 0.6
    assert (ours.arrays["filled in"][~gaps] == ours.arrays["original"][~gaps]).all()
    assert set(measured(OURS, 0, D=2).numbers) == {"RMSE rebuilt", "rows"}


def test_gaps_as_zeros_are_taken_for_black_pixels(monkeypatch):
    monkeypatch.setattr(missing_pixels, "_QUICK_STEPS", 60)
    as_zeros = measured("NG-MVLVM (gaps as zeros)", 60, D=2).numbers["RMSE"]
    assert as_zeros > measured(OURS, 60, D=2).numbers["RMSE"]


def test_components_without_gaps_are_principal_components():
    Y = tiny_images(n=40)["image"] / 255
    squares = np.linalg.svd(Y - Y.mean(axis=0), compute_uv=False) ** 2
    rebuilt = measured("principal components in rounds", 0, D=2).numbers["RMSE rebuilt"]
    assert rebuilt == pytest.approx(np.sqrt(squares[2:].sum() / Y.size), rel=1e-4)


def test_the_page_has_a_table_for_every_dimension_and_images(tmp_path):
    store = CellStore(tmp_path)
    for share in (0, 20):
        one = cell(missing_pixels.MISSING, OURS, **{SHARE: share, "D": 2})
        images = np.zeros((3, 784), dtype=np.float32)
        store.keep_arrays(one, {name: images for name in ("original", "with gaps", "filled in")})
        store.append(record(one, **({"RMSE": 0.1} if share else {}), **{"RMSE rebuilt": 0.2}))
    numbers = {("R-MNIST", "means of columns", 0, ((SHARE, 20),)): {"RMSE": 0.3}}
    page = missing_pixels.write(found_in(missing_pixels.MISSING, store, numbers, effort=Effort.QUICK))
    hidden, rebuilt = page.tables
    assert hidden.rows == [
        ["method", "percent hidden = 20"],
        [OURS, "**0.1000 (1)**"],
        ["means of columns", "0.3000 (1)"],
    ]
    assert rebuilt.rows[1:] == [[OURS, "**0.2000 (1)**", "**0.2000 (1)**"]]
    assert list(page.figures) == ["rmse", "r-mnist-2"]


def hidden_plane(rng):
    Y = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 8)) + 5.0
    hidden = rng.random(Y.shape) < 0.2
    return Y, hidden, np.where(hidden, np.nan, Y)


def test_components_find_what_lies_in_a_plane_and_means_do_not():
    Y, hidden, with_gaps = hidden_plane(np.random.default_rng(0))
    errors = {way: np.sqrt(np.mean((filled - Y)[hidden] ** 2)) for way, filled in (
        ("components", impute_pca(with_gaps, 2)), ("means", impute_column_means(with_gaps)),
        ("neighbours", impute_neighbours(with_gaps)))}  # fmt: skip
    assert errors["components"] < 0.05 * errors["means"]
    assert errors["neighbours"] < errors["means"]


def test_what_is_there_stays():
    _, hidden, with_gaps = hidden_plane(np.random.default_rng(1))
    for filled in (impute_pca(with_gaps, 2), impute_column_means(with_gaps), impute_neighbours(with_gaps)):
        assert (filled[~hidden] == with_gaps[~hidden]).all()
        assert np.isfinite(filled).all()


def test_a_column_without_entries_is_filled_with_zero():
    assert impute_column_means(np.array([[np.nan, 1.0], [np.nan, 3.0]])).tolist() == [[0.0, 1.0], [0.0, 3.0]]


def test_rebuilding_keeps_the_leading_directions():
    Y = np.array([[3.0, 0.1], [-3.0, 0.1], [3.0, -0.1], [-3.0, -0.1]])
    np.testing.assert_allclose(pca_reconstruction(Y, 1), [[3, 0], [-3, 0], [3, 0], [-3, 0]], atol=1e-12)
