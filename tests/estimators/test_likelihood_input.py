"""Likelihoods of views: input formats, validation, and the format of the results."""

import numpy as np
import pandas as pd
import pytest

import mvlvm
from mvlvm import NGMVLVM, ConvergenceWarning, ViewError, ViewWarning
from mvlvm.estimators import train as train_module
from mvlvm.inference import predictor as predictor_module
from mvlvm.inference.tempering import Tempering
from tests.estimators.mixed_views import CLASSES, draw_views

N = 40
DATA = draw_views(N)
CODES = np.array([CLASSES.index(kind) for kind in DATA["kind"]])


@pytest.fixture(autouse=True)
def no_tempering(monkeypatch):
    """Disable the learning of the tempering: it dominates the time of a small fit and is not tested here."""
    monkeypatch.setattr(
        predictor_module, "learn_tempering", lambda latent, views, generator: {name: Tempering() for name in views}
    )


def quick(**parameters):
    return NGMVLVM(max_iter=3, tol=0.0, n_points=4, random_state=0, **parameters)


def with_value(Y, value, *indices):
    Y = Y.copy()
    for index in indices or ((3, 1),):
        Y[index] = value
    return Y


def fit_with_gaussian_view(Y, likelihood="categorical"):
    return quick(likelihood={"x": "gaussian", "y": likelihood}).fit({"x": DATA["size"], "y": Y})


INVALID = [
    (
        "poisson",
        with_value(DATA["cells"], -2),
        r"'y' must hold counts.*1 entries that are negative, the first, -2, in row 3",
    ),
    (
        "negative-binomial",
        with_value(DATA["reads"], 1.5),
        r"'y' must hold counts.*not integers, the first, 1.5, in row 3, col",
    ),
    ("bernoulli", with_value(DATA["marks"], 2), r"'y' must hold two distinct values to be bernoulli.*Got 3: 0, 1, 2"),
    ("bernoulli", np.ones((N, 2)), r"'y' is constant: none of its 2 columns varies, so it is uninformative as bern"),
    ("categorical", np.ones((N, 1)), r"'y' must have at least two classes. Got one, 1, in every observed row"),
    ("categorical", np.array(["a"] * N, dtype=object), r"'y' must have at least two classes. Got one, 'a'"),
    ("categorical", DATA["size"], r"'y' must be one column of classes, or one-hot"),
    ("categorical", np.arange(N)[:, None], r"'y' must have at least 2 rows per class on average.*Got 40 classes in 40"),
    ("gaussian", DATA["kind"], r"'y' holds labels and must be categorical. Got likelihood 'gaussian'"),
]


@pytest.mark.parametrize(("likelihood", "Y", "message"), INVALID)
def test_data_outside_the_support_of_the_likelihood_are_rejected(likelihood, Y, message):
    with pytest.raises(ViewError, match=message):
        quick(likelihood={"x": "gaussian", "y": likelihood}).fit({"x": DATA["size"], "y": Y})


def test_an_unknown_likelihood_raises_an_error_that_lists_the_known_ones():
    with pytest.raises(
        ValueError,
        match="likelihood must be one of 'gaussian', 'student-t', 'bernoulli', 'poisson', 'negative-binomial', "
        "'categorical', 'auto'. Got 'nb'",
    ):
        quick(likelihood="nb").fit(DATA["cells"])
    with pytest.raises(ValueError, match="likelihood as a dict needs one entry per view. Got no value for 'y'"):
        quick(likelihood={"x": "gaussian"}).fit({"x": DATA["size"], "y": DATA["cells"]})


def test_a_column_of_integers_can_be_categorical():
    Y = np.array([10, 20, 40])[CODES][:, None]
    est = fit_with_gaussian_view(Y)
    assert est.classes_ == {"y": [10, 20, 40]}
    P = est.predict({"x": DATA["size"]}, target="y")
    assert P.shape == (N, 3)
    np.testing.assert_allclose(np.asarray(P).sum(axis=1), 1, rtol=0.0, atol=1e-6)
    incomplete = np.where(np.arange(N)[:, None] < 3, np.nan, Y)
    imputed = est.impute({"x": DATA["size"], "y": incomplete})["y"]
    assert imputed.shape == (N, 1)
    assert (imputed[3:] == Y[3:]).all()
    assert set(imputed[:3, 0]) <= {10, 20, 40}
    assert est.sample(20)["y"].shape == (20, 1)
    assert set(est.sample(200)["y"].ravel()) <= {10, 20, 40}
    with pytest.raises(ViewError, match=r"'y' must hold classes that occur in training. Got 30.*10, 20, 40"):
        est.transform({"y": np.array([[30], [10]])})


def test_a_column_of_classes_with_missing_entries_can_be_saved(tmp_path):
    Y = np.where(np.arange(N) % 7 == 0, np.nan, CODES + 0.5)[:, None]
    est = fit_with_gaussian_view(Y)
    assert est.classes_ == {"y": [0.5, 1.5, 2.5]}
    est.save(tmp_path)
    loaded = mvlvm.load(tmp_path)
    imputed = est.impute()["y"]
    assert not np.isnan(imputed).any()
    np.testing.assert_array_equal(imputed[~np.isnan(Y)], Y[~np.isnan(Y)])
    np.testing.assert_array_equal(loaded.impute({"x": DATA["size"], "y": Y})["y"], imputed)
    np.testing.assert_array_equal(loaded.sample(9)["y"], est.sample(9)["y"])


def test_one_hot_rows_are_categorical_and_are_returned_one_hot():
    Y = np.eye(3)[CODES]
    Y[4] = np.nan
    est = fit_with_gaussian_view(Y, "auto")
    assert est.likelihood_["y"] == "categorical"
    assert est.classes_ == {}
    assert est.n_features_in_["y"] == 3
    P = est.predict({"x": DATA["size"]}, target="y")
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=0.0, atol=1e-6)
    imputed = est.impute()["y"]
    np.testing.assert_array_equal(np.delete(imputed, 4, axis=0), np.delete(Y, 4, axis=0))
    assert sorted(imputed[4]) == [0, 0, 1]
    samples = est.sample(30)["y"]
    assert (samples.sum(axis=1) == 1).all()
    assert set(samples.ravel()) == {0, 1}


def test_equal_classes_in_different_formats_give_equal_fits():
    forms = [DATA["kind"], CODES, CODES[:, None].astype(float), np.eye(3)[CODES], pd.Series(DATA["kind"], name="z"),
             pd.Categorical(DATA["kind"])]  # fmt: skip
    fits = [fit_with_gaussian_view(Y) for Y in forms]
    for est in fits[1:]:
        np.testing.assert_array_equal(est.embedding_, fits[0].embedding_)
        P, expected = (np.asarray(model.reconstruct()["y"]) for model in (est, fits[0]))
        np.testing.assert_array_equal(P, expected)


def test_labels_are_returned_in_their_input_format():
    rows = [f"r{i}" for i in range(N)]
    series = pd.Series(DATA["kind"], index=rows, name="stage", dtype="category")
    incomplete = series.copy()
    incomplete.iloc[5] = None
    x = pd.DataFrame(DATA["size"], index=rows)
    est = quick(likelihood="auto").fit({"x": x, "y": incomplete})
    imputed = est.impute()["y"]
    assert isinstance(imputed, pd.Series)
    assert imputed.dtype == series.dtype
    pd.testing.assert_series_equal(imputed.drop("r5"), incomplete.drop("r5"))
    assert imputed["r5"] in CLASSES
    P = est.predict({"x": x[:4]}, target="y")
    assert list(P.columns) == list(CLASSES)
    assert list(P.index) == rows[:4]
    assert list(est.reconstruct()["y"].index) == rows
    frame = pd.DataFrame({"stage": DATA["kind"]}, index=rows)
    est = quick(likelihood="auto").fit({"x": x, "y": frame})
    assert est.classes_ == {"y": list(CLASSES)}
    assert list(est.sample(3)["y"].columns) == ["stage"]


def test_a_numeric_dataframe_of_classes_keeps_its_column_name():
    frame = pd.DataFrame({"stage": CODES.astype(float)})
    frame.iloc[2, 0] = np.nan
    est = fit_with_gaussian_view(frame)
    imputed = est.impute()["y"]
    assert list(imputed.columns) == ["stage"]
    assert imputed["stage"].drop(2).tolist() == frame["stage"].drop(2).tolist()
    assert list(est.predict({"x": DATA["size"]}, target="y").columns) == est.classes_["y"] == [0, 1, 2]
    np.testing.assert_array_equal(est.transform({"y": frame[3:8]}), est.transform({"y": frame.to_numpy()[3:8]}))


def test_booleans_are_two_classes():
    est = fit_with_gaussian_view(CODES == 1, "auto")
    assert est.classes_ == {"y": [False, True]}
    assert est.sample(50)["y"].dtype == bool


@pytest.mark.parametrize("values", [(-1.0, 1.0), (1.0, 2.0)])
def test_any_two_values_are_binary_and_are_returned(values):
    low, high = values
    Y = np.where(DATA["marks"] == 1, high, low)
    Y[0, 0] = np.nan
    est, of_binary = (
        fit_with_gaussian_view(Y, "bernoulli"),
        fit_with_gaussian_view(with_value(DATA["marks"], np.nan, (0, 0)), "bernoulli"),
    )
    np.testing.assert_array_equal(est.embedding_, of_binary.embedding_)
    assert set(est.sample(50)["y"].ravel()) == {low, high}
    assert set(est.impute()["y"].ravel()) == {low, high}


@pytest.mark.parametrize("likelihood", ["poisson", "bernoulli", "student-t", "categorical"])
def test_a_single_view_of_any_likelihood_can_be_fitted(likelihood):
    Y = {"poisson": DATA["cells"], "bernoulli": DATA["marks"], "student-t": DATA["price"],
         "categorical": np.eye(5)[np.arange(N) % 5]}[likelihood]  # fmt: skip
    est = quick(likelihood=likelihood).fit(Y)
    assert est.likelihood_ == {"view0": likelihood}
    assert est.n_features_in_ == 5
    assert est.transform(Y[:3]).shape == (3, 2)
    assert np.isfinite(est.score(Y[:3]))
    assert np.isfinite(est.reconstruct()).all()


def test_constant_and_empty_columns_of_counts_are_excluded_from_the_fit_and_returned():
    Y = DATA["cells"].copy()
    Y[:, 1], Y[:, 3] = 4.0, np.nan
    with pytest.warns(ViewWarning) as warned:
        est = fit_with_gaussian_view(Y, "poisson")
    assert len(warned) == 2
    mean = est.reconstruct()["y"]
    assert (mean[:, 1] == 4).all()
    assert np.isnan(mean[:, 3]).all()
    samples = est.sample(10)["y"]
    assert (samples[:, 1] == 4).all()
    assert (samples[:, 0] == np.rint(samples[:, 0])).all()


def test_counts_are_not_scaled_but_continuous_views_are():
    est = quick(likelihood={"x": "student-t", "y": "poisson"}, scale="view").fit(
        {"x": 1000 * DATA["price"], "y": DATA["cells"]}
    )
    assert est.scale_ == {"x": "view", "y": None}
    plain = quick(likelihood={"x": "student-t", "y": "poisson"}, scale="view").fit(
        {"x": DATA["price"], "y": DATA["cells"]}
    )
    np.testing.assert_allclose(est.reconstruct()["x"], 1000 * plain.reconstruct()["x"], rtol=1e-3, atol=1.0)


@pytest.mark.parametrize(("columns", "class_name"), [(None, "column 3"), (["a", "b", "c", "d"], "'d'")])
def test_new_rows_of_a_class_without_training_rows_are_rejected(columns, class_name):
    def rows(codes):
        Y = np.eye(4)[codes]
        return Y if columns is None else pd.DataFrame(Y, columns=columns)

    with pytest.warns(ViewWarning, match="constant"):
        est = quick(likelihood={"size": "gaussian", "kind": "categorical"}).fit(
            {"size": DATA["size"], "kind": rows(CODES)}
        )
    new = {"size": DATA["size"][:2], "kind": rows([0, 3])}
    for method in (est.transform, est.score, lambda views: est.score(views, target="kind")):
        with pytest.raises(
            ViewError, match=f"'kind' must hold classes that occur in training. Got {class_name}, which no"
        ):
            method(new)


def test_tol_is_per_observed_entry_and_a_label_is_one_entry(monkeypatch):
    tolerances = []

    def record(state, objective, config, **callbacks):
        tolerances.append(config.tol)
        return train(state, objective, config, **callbacks)

    train = train_module.train
    monkeypatch.setattr(train_module, "train", record)
    cells, kind = DATA["cells"].astype(float), DATA["kind"].astype(object)
    cells[0, 0], kind[1] = np.nan, None
    with pytest.warns(ConvergenceWarning):
        quick(likelihood={"cells": "poisson", "kind": "categorical"}).set_params(tol=0.5).fit(
            {"cells": cells, "kind": kind}
        )
    assert tolerances == [0.5 * (cells.size - 1 + N - 1)]
