import numpy as np
import pytest
import torch

import mvlvm
from mvlvm import NGMVLVM
from mvlvm.likelihoods import LIKELIHOODS
from mvlvm.views.balance import balance_views, covariance_eigenvalues, effective_columns

FIT = {"max_iter": 20, "tol": 0.0, "n_points": 10, "n_draws_predict": 1, "random_state": 0}


def low_rank(rng, N, M, rank, noise):
    basis = np.linalg.qr(rng.normal(size=(M, rank)))[0]
    return torch.tensor(M**0.5 * rng.normal(size=(N, rank)) @ basis.T + noise * rng.normal(size=(N, M)))


def weights_of(Ys, generator, **likelihoods):
    chosen = {name: LIKELIHOODS[likelihoods.get(name, "gaussian")].start(Y) for name, Y in Ys.items()}
    return balance_views(Ys, chosen, generator)


@pytest.mark.parametrize("shape", [(60, 7), (7, 60)])
def test_eigenvalues_are_those_of_the_covariance(shape):
    Y = np.random.default_rng(0).normal(size=shape)
    expected = np.linalg.eigvalsh(np.cov(Y.T))
    found = covariance_eigenvalues(torch.tensor(Y)).numpy()
    np.testing.assert_allclose(found, expected[-len(found) :], rtol=1e-8)
    assert found.sum() == pytest.approx(expected.sum())


@pytest.mark.parametrize("rank", [1, 3, 8])
@pytest.mark.parametrize("M", [40, 900])
def test_effective_columns_of_a_low_rank_view_are_its_rank(rank, M, generator):
    Y = low_rank(np.random.default_rng(rank), 600, M, rank, noise=0.05)
    assert effective_columns(Y, generator) == pytest.approx(rank, rel=0.1)


def test_noise_has_few_effective_columns(generator):
    """The participation ratio of noise is 83, but hardly any of its eigenvalues is above the edge."""
    Y = torch.tensor(np.random.default_rng(0).normal(size=(500, 100)))
    values = covariance_eigenvalues(Y)
    assert values.sum() ** 2 / values.square().sum() > 80
    assert effective_columns(Y, generator) < 5


def test_views_of_equal_rank_have_equal_influence(generator):
    rng = np.random.default_rng(0)
    balance = weights_of({"wide": low_rank(rng, 400, 500, 4, 0.1), "narrow": low_rank(rng, 400, 20, 4, 0.1)}, generator)
    assert balance.weights["narrow"] == 1
    assert balance.weights["wide"] == pytest.approx(20 / 500, rel=0.1)
    assert balance.norms["wide"] == pytest.approx(balance.norms["narrow"], rel=0.1)


def test_labels_count_as_one_column(generator):
    labels = torch.eye(5)[torch.arange(200) % 5].double()
    Y = low_rank(np.random.default_rng(0), 200, 50, 3, 0.05)
    balance = weights_of({"Y": Y, "labels": labels}, generator, labels="categorical")
    assert balance.weights["labels"] == 1
    assert balance.weights["Y"] == pytest.approx(3 / 50, rel=0.1)


def test_weights_do_not_depend_on_units_or_on_rows_without_the_view(generator):
    rng = np.random.default_rng(0)
    Ys = {"a": low_rank(rng, 300, 60, 3, 0.1), "b": low_rank(rng, 300, 30, 2, 0.1)}
    expected = weights_of(Ys, generator).weights
    large = {"a": 1e6 * Ys["a"], "b": Ys["b"]}
    gaps = {"a": torch.where(torch.arange(300)[:, None] < 150, torch.nan, Ys["a"]), "b": Ys["b"]}
    assert weights_of(large, generator).weights == pytest.approx(expected)
    assert weights_of(gaps, generator).weights == pytest.approx(expected, rel=0.15)


def test_rows_are_drawn_if_there_are_many(generator):
    Y = low_rank(np.random.default_rng(0), 5000, 30, 3, 0.1)
    assert effective_columns(Y, generator) == pytest.approx(effective_columns(Y[:1000], generator), rel=0.1)


def two_views():
    rng = np.random.default_rng(0)
    return {"wide": low_rank(rng, 60, 80, 3, 0.3).numpy(), "narrow": low_rank(rng, 60, 8, 3, 0.3).numpy()}


def test_balanced_weights_are_those_of_the_objective(tmp_path):
    views = two_views()
    est = NGMVLVM(view_weights="balanced", **FIT).fit(views)
    assert est.view_weights_["narrow"] == 1
    assert 0.05 < est.view_weights_["wide"] < 0.5
    evidence = sum(weight * est.history_[f"evidence:{name}"] for name, weight in est.view_weights_.items())
    np.testing.assert_allclose(est.history_["objective"], evidence - est.history_["latent_kl"], rtol=1e-6)
    est.save(tmp_path)
    loaded = mvlvm.load(tmp_path)
    assert loaded.view_weights == "balanced"
    assert loaded.view_weights_ == est.view_weights_


def test_given_weights_are_reported():
    views = two_views()
    assert NGMVLVM(**FIT).fit(views).view_weights_ == {"wide": 1.0, "narrow": 1.0}
    given = {"wide": 0.0, "narrow": 2.0}
    assert NGMVLVM(view_weights=given, **FIT).fit(views).view_weights_ == given


def test_a_single_view_has_weight_one():
    Y = two_views()["wide"]
    plain, balanced = NGMVLVM(**FIT).fit(Y), NGMVLVM(view_weights="balanced", **FIT).fit(Y)
    assert balanced.view_weights_ == {"view0": 1.0}
    np.testing.assert_array_equal(plain.embedding_, balanced.embedding_)


@pytest.mark.parametrize("init", ["pca", "tsne"])
def test_initial_latents_are_balanced(init):
    """A view of one effective column hardly affects initial latents beside one of several."""
    rng = np.random.default_rng(1)
    views = {"line": low_rank(rng, 80, 30, 1, 0.05).numpy(), "rich": low_rank(rng, 80, 30, 8, 0.05).numpy()}
    balanced = NGMVLVM(view_weights="balanced", init=init, **FIT | {"max_iter": 1}).fit(views)
    alone = NGMVLVM(init=init, **FIT | {"max_iter": 1}).fit(views["line"])
    plain = NGMVLVM(init=init, **FIT | {"max_iter": 1}).fit(views)

    def shared(est):
        line = views["line"] @ np.linalg.svd(views["line"], full_matrices=False)[2][0]
        return np.corrcoef(np.c_[line, est.embedding_].T)[0, 1:].__abs__().max()

    assert shared(balanced) < shared(plain) < shared(alone) + 0.1


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("equal", r"view_weights must be None, 'balanced', or a dict.*'equal'"),
        ({"wide": -1.0, "narrow": 1.0}, "view_weights"),
        ({"wide": np.nan, "narrow": 1.0}, "view_weights"),
    ],
)
def test_invalid_weights_are_rejected(weights, message):
    with pytest.raises(ValueError, match=message):
        NGMVLVM(view_weights=weights, **FIT).fit(two_views())
