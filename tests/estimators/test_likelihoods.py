"""A fit with views of every likelihood, and all methods of the fitted estimator."""

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest

import mvlvm
from mvlvm import MVARFLVM, NGMVLVM, ConvergenceWarning, ViewError, ViewWarning, to_mudata
from mvlvm.inference import predictor as predictor_module
from mvlvm.inference.tempering import LEVELS, Tempering, learn_tempering
from mvlvm.models.multiview import MultiViewLVM
from tests.estimators.mixed_views import CLASSES, LIKELIHOODS, draw_views, without

N = 80
QUICK = {"max_iter": 5, "tol": 0.0, "n_points": 4, "random_state": 0}


@pytest.fixture(scope="module")
def no_tempering():
    """Replace the learning of the tempering by constants: it dominates the time of a small fit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            predictor_module,
            "learn_tempering",
            lambda latent, views, generator: {name: Tempering(0.5, 0.5) for name in views},
        )
        yield


def with_missing(views):
    views = {name: Y.copy() for name, Y in views.items()}
    for name in without(views, "kind"):
        views[name][2, 1] = views[name][7, 3] = np.nan
    views["marks"][4] = views["cells"][5] = np.nan
    views["kind"][[6, 9]] = [None, np.nan]
    return views


@pytest.fixture(scope="module")
def views():
    return with_missing(draw_views(N))


@pytest.fixture(scope="module")
def est(views, no_tempering):
    return NGMVLVM(likelihood=LIKELIHOODS, n_points=8, max_iter=100, tol=0.0, random_state=0).fit(views)


@pytest.fixture(scope="module")
def new():
    return draw_views(slice(N, N + 10))


def test_fitted_attributes_describe_the_likelihood_of_every_view(est):
    assert est.likelihood_ == LIKELIHOODS
    assert est.classes_ == {"kind": list(CLASSES)}
    assert set(est.noise_variance_) == {"size"}
    assert 0.01 < est.noise_variance_["size"] < 1
    assert est.n_features_in_ == {name: 1 if name == "kind" else 5 for name in LIKELIHOODS}
    assert {name: sorted(values) for name, values in est.likelihood_parameters_.items()} == {
        "size": ["noise_variance"],
        "price": ["degrees_of_freedom", "scale"],
        "marks": [],
        "cells": [],
        "reads": ["dispersion"],
        "kind": [],
    }
    assert est.likelihood_parameters_["reads"]["dispersion"].shape == (5,)
    assert (est.likelihood_parameters_["reads"]["dispersion"] > 0).all()
    assert {name: est.scale_[name] for name in ("marks", "cells", "reads", "kind")} == dict.fromkeys(
        ("marks", "cells", "reads", "kind")
    )


def test_explained_variance_of_every_view_is_positive(est):
    assert min(est.explained_variance_.values()) > 0.15
    assert np.isfinite(est.explained_variance_per_dimension_).all()
    np.testing.assert_allclose(est.relevance_.sum(axis=1), 1)
    assert est.history_["objective"][-1] > est.history_["objective"][0] + N


def test_latents_of_new_rows_are_inferred(est, new):
    mean, std = est.transform(new, return_std=True)
    assert mean.shape == std.shape == (10, 2)
    assert np.isfinite(mean).all()
    assert ((std > 0) & (std <= 1)).all()
    # the views agree on the latents of a row
    one = est.transform(without(new, "cells"))
    assert np.median(np.abs(one - mean)) < 0.5 * np.median(np.abs(mean[1:] - mean[:-1]))


@pytest.mark.parametrize("target", LIKELIHOODS)
def test_each_view_is_predicted_from_the_others(est, new, target):
    mean, std = (np.asarray(part) for part in est.predict(without(new, target), target=target, return_std=True))
    _, function_std = est.predict(without(new, target), target=target, return_std=True, include_noise=False)
    assert mean.shape == std.shape == (10, 3 if target == "kind" else 5)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert ((np.asarray(function_std) > 0) & (np.asarray(function_std) < std)).all()
    match target:
        case "kind":
            np.testing.assert_allclose(mean.sum(axis=1), 1, rtol=0.0, atol=1e-6)
            np.testing.assert_allclose(std, np.sqrt(mean * (1 - mean)), rtol=1e-6)
        case "marks":
            assert ((mean > 0) & (mean < 1)).all()
            np.testing.assert_allclose(std, np.sqrt(mean * (1 - mean)), rtol=1e-6)
        case "cells" | "reads":
            assert (mean > 0).all()
            assert (std > np.sqrt(mean)).all(), "wider than a Poisson distribution with known mean"


def test_columns_of_class_probabilities_are_the_classes(est, new):
    P = est.predict(without(new, "kind"), target="kind")
    assert list(P.columns) == list(CLASSES)
    predictions = est.predict(without(new, "kind"))
    pd.testing.assert_frame_equal(predictions["kind"], P)
    assert predictions["cells"].shape == (10, 5)


def test_classes_are_predicted_from_the_other_views(est):
    truth = draw_views(N)
    predicted_labels = est.predict(without(truth, "kind"), target="kind").idxmax(axis=1)
    most_common = max(np.mean(truth["kind"] == kind) for kind in CLASSES)
    assert np.mean(predicted_labels == truth["kind"]) > most_common + 0.15


def test_missing_entries_are_imputed_with_valid_values_of_the_view(est, views):
    imputed, std = est.impute(return_std=True)
    for name in without(views, "kind"):
        missing = np.isnan(views[name])
        np.testing.assert_array_equal(imputed[name][~missing], views[name][~missing])
        assert np.isfinite(imputed[name][missing]).all()
        assert (std[name][missing] > 0).all()
        assert (std[name][~missing] == 0).all()
    assert set(imputed["marks"].ravel()) == {0.0, 1.0}
    assert (imputed["cells"] >= 0).all()
    missing = pd.isna(views["kind"])
    assert missing.sum() == 2
    assert (imputed["kind"][~missing] == views["kind"][~missing]).all()
    assert set(imputed["kind"]) <= set(CLASSES)
    assert list(std["kind"].columns) == list(CLASSES)
    assert ((std["kind"].to_numpy() > 0).any(axis=1) == missing).all()


def test_impute_returns_observed_entries_of_new_rows_unchanged(est, new):
    labels = np.array([None, *new["kind"][1:]], dtype=object)
    imputed = est.impute({**new, "kind": labels})
    assert imputed["kind"][0] in CLASSES
    assert (imputed["kind"][1:] == new["kind"][1:]).all()
    np.testing.assert_array_equal(imputed["cells"], new["cells"])


def test_score_is_finite_and_higher_for_matching_rows(est, new):
    shuffled = {name: Y if name == "size" else np.roll(Y, 3, axis=0) for name, Y in new.items()}
    assert np.isfinite(est.score(new))
    assert est.score(new) > est.score(shuffled)
    for name in LIKELIHOODS:
        assert np.isfinite(est.score({name: new[name]}))
        assert np.isfinite(est.score(new, target=name))
    assert est.score(new, target="kind") > np.log(1 / 3)


def test_samples_are_valid_values_of_the_views(est):
    samples = est.sample(200, random_state=1)
    assert list(samples) == list(LIKELIHOODS)
    assert set(samples["marks"].ravel()) == {0.0, 1.0}
    for name in ("cells", "reads"):
        assert (samples[name] >= 0).all()
        assert (samples[name] == np.rint(samples[name])).all()
        assert samples[name].std() > 0
    assert samples["kind"].shape == (200,)
    assert set(samples["kind"]) == set(CLASSES)
    assert np.isfinite(samples["price"]).all()


def test_means_of_samples_are_close_to_those_of_the_data(est, views):
    samples = est.sample(2000, random_state=1)
    for name in ("marks", "cells", "reads"):
        spread = np.nanstd(views[name], axis=0)
        assert (np.abs(samples[name].mean(axis=0) - np.nanmean(views[name], axis=0)) < spread).all()
    for kind in CLASSES:
        assert np.mean(samples["kind"] == kind) == pytest.approx(np.mean(views["kind"] == kind), abs=0.2)


def test_training_rows_are_reconstructed(est, views):
    mean, std = est.reconstruct(return_std=True)
    _, function_std = est.reconstruct(return_std=True, include_noise=False)
    for name in LIKELIHOODS:
        assert np.isfinite(np.asarray(mean[name])).all()
        assert (np.asarray(function_std[name]) < np.asarray(std[name])).all()
        pd.testing.assert_frame_equal(pd.DataFrame(est.reconstruct()[name]), pd.DataFrame(mean[name]))
    for name in ("marks", "cells", "reads"):
        observed = ~np.isnan(views[name])
        baseline = np.broadcast_to(np.nanmean(views[name], axis=0), observed.shape)
        error, baseline_error = (
            np.mean((values[observed] - views[name][observed]) ** 2) for values in (mean[name], baseline)
        )
        assert error < 0.85 * baseline_error
    np.testing.assert_allclose(np.asarray(mean["kind"]).sum(axis=1), 1, rtol=0.0, atol=1e-6)


def test_a_saved_model_gives_bit_identical_results(est, new, tmp_path):
    est.save(tmp_path)
    loaded = mvlvm.load(tmp_path)
    assert loaded.get_params() == est.get_params()
    for attribute in ("likelihood_", "classes_", "noise_variance_", "scale_", "n_features_in_", "elbo_",
                      "explained_variance_"):  # fmt: skip
        assert getattr(loaded, attribute) == getattr(est, attribute)
    np.testing.assert_equal(loaded.likelihood_parameters_, est.likelihood_parameters_)
    np.testing.assert_array_equal(loaded.transform(new), est.transform(new))
    for results in (
        lambda model: model.predict(without(new, "kind"), return_std=True),
        lambda model: model.reconstruct(return_std=True),
        lambda model: (model.sample(5), model.impute(new)),
    ):
        for one, other in zip(results(loaded), results(est), strict=True):
            for name in LIKELIHOODS:
                np.testing.assert_array_equal(np.asarray(one[name]), np.asarray(other[name]), err_msg=name)
    assert loaded.score(new) == est.score(new)
    np.testing.assert_array_equal(loaded.kernel_matrix("cells"), est.kernel_matrix("cells"))


def test_likelihoods_are_written_into_an_anndata(est, tmp_path):
    target = anndata.AnnData(np.zeros((N, 1)))
    to_mudata(est, target).write_h5ad(tmp_path / "x.h5ad")
    fit = anndata.read_h5ad(tmp_path / "x.h5ad").uns["mvlvm"]
    assert fit["likelihood"] == LIKELIHOODS
    assert fit["noise_variance"] == est.noise_variance_


def test_new_rows_with_invalid_values_are_rejected(est, new):
    with pytest.raises(ViewError, match=r"View 'kind' must hold classes that occur in training. Got 'never'"):
        est.transform({**new, "kind": np.array(["never"] + ["late"] * 9, dtype=object)})
    with pytest.raises(ViewError, match=r"View 'marks' must hold values that occur in training. Got 2"):
        est.transform({**new, "marks": new["marks"] + 1})
    with pytest.raises(ViewError, match="View 'cells' must hold counts"):
        est.transform({**new, "cells": -1 - new["cells"]})
    with pytest.raises(ViewError, match="View 'reads' must hold counts.*not integers"):
        est.score({**new, "reads": new["reads"] + 0.5})


def test_a_row_without_any_entry_is_predicted_from_the_prior(est, new):
    empty = {name: Y.copy() for name, Y in new.items()}
    for name, Y in empty.items():
        Y[0] = None if name == "kind" else np.nan
    with pytest.warns(ViewWarning, match=r"1 row\(s\) without an entry"):
        P = est.predict(empty)
    np.testing.assert_allclose(np.asarray(P["kind"]).sum(axis=1), 1, rtol=0.0, atol=1e-6)
    assert np.isfinite(P["cells"]).all()


@pytest.mark.usefixtures("no_tempering")
class TestSmallFits:
    def test_equal_seeds_give_equal_fits(self, views):
        one, other, third = (
            NGMVLVM(likelihood=LIKELIHOODS, **{**QUICK, "random_state": seed}).fit(views) for seed in (0, 0, 1)
        )
        np.testing.assert_array_equal(one.embedding_, other.embedding_)
        assert one.elbo_ == other.elbo_ != third.elbo_
        for name in LIKELIHOODS:
            np.testing.assert_array_equal(np.asarray(one.reconstruct()[name]), np.asarray(other.reconstruct()[name]))

    def test_auto_infers_likelihoods_and_prints_them(self, views, capsys):
        est = NGMVLVM(likelihood="auto", verbose=1, **QUICK).fit(views)
        assert {name: est.likelihood_[name] for name in ("marks", "reads", "kind")} == {
            "marks": "bernoulli", "reads": "negative-binomial", "kind": "categorical",
        }  # fmt: skip
        assert est.likelihood_["cells"] in ("poisson", "negative-binomial")
        assert "View 'marks': bernoulli (two distinct values, 0 and 1)" in capsys.readouterr().out

    def test_stationary_kernels_and_private_dimensions_are_supported(self, views, new):
        est = MVARFLVM(likelihood=LIKELIHOODS, **QUICK).fit(views)
        assert est.likelihood_ == LIKELIHOODS
        np.testing.assert_allclose(np.asarray(est.predict(new)["kind"]).sum(axis=1), 1, rtol=0.0, atol=1e-6)
        est = NGMVLVM(likelihood=LIKELIHOODS, n_private={"cells": 1}, **QUICK).fit(views)
        assert est.private_embedding_["cells"].shape == (N, 1)
        assert est.relevance_[list(LIKELIHOODS).index("kind"), 2] == 0

    def test_float64_is_close_to_the_default(self, views):
        rough, exact = (NGMVLVM(likelihood=LIKELIHOODS, dtype=d, **QUICK).fit(views) for d in ("auto", "float64"))
        assert rough.elbo_ == pytest.approx(exact.elbo_, rel=1e-2)

    def test_an_interrupted_fit_keeps_the_model(self, views, monkeypatch):
        elbo, steps = MultiViewLVM.elbo_gradients, []

        def interrupted(*args, **options):
            steps.append(1)
            if len(steps) == 4:
                raise KeyboardInterrupt
            return elbo(*args, **options)

        monkeypatch.setattr(MultiViewLVM, "elbo_gradients", interrupted)
        with pytest.warns(ConvergenceWarning, match="interrupted after 3 of 5 steps"):
            est = NGMVLVM(likelihood=LIKELIHOODS, **QUICK).fit(views)
        assert est.stop_reason_ == "interrupted"
        assert np.isfinite(est.predict(without(views, "kind"), target="kind").to_numpy()).all()

    def test_mudata_of_counts_can_be_fitted(self):
        with mudata.set_options(pull_on_update=False):
            data = {name: anndata.AnnData(draw_views(20)[name]) for name in ("cells", "reads")}
            for name, adata in data.items():
                adata.var_names = [f"{name} {i}" for i in range(5)]
            mdata = mudata.MuData(data)
            est = NGMVLVM(likelihood={"cells": "poisson", "reads": "negative-binomial"}, **QUICK).fit(mdata)
            to_mudata(est, mdata)
        assert mdata.uns["mvlvm"]["likelihood"] == {"cells": "poisson", "reads": "negative-binomial"}

    @pytest.mark.parametrize("name", ["marks", "cells"])
    def test_held_out_entries_are_predicted_better_than_by_column_means(self, name):
        truth = draw_views(150, widths=12)
        held_out = np.random.default_rng(0).random(truth[name].shape) < 0.1
        views = {other: truth[other].copy() for other in ("size", name)}
        views[name][held_out] = np.nan
        est = NGMVLVM(
            likelihood={"size": "gaussian", name: LIKELIHOODS[name]}, n_points=10, max_iter=500, tol=0.0, random_state=0
        ).fit(views)
        predicted = est.predict(views)[name][held_out]
        baseline = np.broadcast_to(np.nanmean(views[name], axis=0), held_out.shape)[held_out]
        y = truth[name][held_out]

        def log_density(mean):
            return np.where(y == 1, np.log(mean), np.log1p(-mean)) if name == "marks" else y * np.log(mean) - mean

        gain = log_density(predicted) - log_density(baseline)
        assert gain.mean() > 3 * gain.std() / np.sqrt(len(gain))


def test_tempering_is_learned_for_every_likelihood(monkeypatch):
    monkeypatch.setattr(predictor_module, "learn_tempering", learn_tempering)
    views = {name: draw_views(30)[name] for name in ("cells", "kind")}
    est = NGMVLVM(likelihood="auto", **QUICK).fit(views)
    levels = est.model_.predictor.tempering
    assert {level.from_others for level in levels.values()} <= set(LEVELS)
    assert levels["kind"].from_itself == 1.0, "a label cannot be split to learn the tempering"
