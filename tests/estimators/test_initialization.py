import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

import mvlvm
from mvlvm import MVARFLVM, NGMVLVM, ConvergenceWarning, NumericalError
from mvlvm.estimators import train
from mvlvm.init.initializations import EigenmapInitialization, InitViews, NeighbourInitialization
from mvlvm.models.multiview import Dimensions, MultiViewLVM

QUICK = {"max_iter": 5, "tol": 0.0, "n_points": 5, "random_state": 0}
UNTRAINED = QUICK | {"max_iter": 1, "learning_rate": 1e-6}
INITIALISATIONS = ("pca", "spectral", "tsne", "covariance")


@pytest.fixture(scope="module")
def clusters():
    """Return two views of clusters that overlap in every plane."""
    rng = np.random.default_rng(0)
    Y = np.repeat(2 * rng.normal(size=(15, 20)), 8, axis=0) + rng.normal(size=(120, 20))
    return {"a": Y[:, :12], "b": Y[:, 12:]}


@pytest.fixture
def trials(monkeypatch):
    """Record the initial latents and the history of every trial."""
    recorded = []
    original = train.run_training

    def record(problem, run, *rest, **options):
        initial, first = run.model.latent.mean.detach().clone(), run.state.step
        original(problem, run, *rest, **options)
        recorded.append((initial, run.init, first, run.state.step, list(run.state.history.bound)))

    monkeypatch.setattr(train, "run_training", record)
    return recorded


@pytest.mark.parametrize("estimator", [NGMVLVM, MVARFLVM])
@pytest.mark.parametrize("init", ["spectral", "tsne", "covariance"])
def test_initial_latents_have_unit_variance_and_are_reproducible(clusters, estimator, init):
    first, again = (estimator(init=init, n_components=3, **UNTRAINED).fit(clusters) for _ in range(2))
    np.testing.assert_allclose(first.embedding_.var(axis=0), 1, rtol=1e-3)
    np.testing.assert_array_equal(first.embedding_, again.embedding_)
    assert first.init_ == init


def test_fitted_estimators_report_their_initialisation(clusters, fitted):
    assert fitted.init_ == "pca"
    assert NGMVLVM(init=np.random.default_rng(0).normal(size=(120, 2)), **QUICK).fit(clusters).init_ == "array"


@pytest.mark.parametrize("init", ["spectral", "tsne", "covariance", "auto"])
def test_initialisation_supports_missing_entries_private_dimensions_and_zero_sample_weights(clusters, init):
    views = {name: Y.copy() for name, Y in clusters.items()}
    views["a"][3, 2], views["b"][7:9] = np.nan, np.nan
    weight = np.ones(120)
    weight[20:30] = 0
    est = NGMVLVM(init=init, n_private={"a": 1}, n_draws_predict=1, **QUICK).fit(views, sample_weight=weight)
    assert est.embedding_.shape == (120, 2)
    assert est.private_embedding_["a"].shape == (120, 1)
    assert np.isfinite(est.embedding_).all()


@pytest.mark.parametrize("init", ["spectral", "tsne", "covariance", "auto"])
def test_initialisation_supports_counts_and_labels(init):
    rng = np.random.default_rng(0)
    kind = np.repeat(["low", "high"], 20)
    counts = rng.poisson(np.where(kind == "low", 2.0, 9.0)[:, None] * np.ones(6))
    likelihood = {"counts": "poisson", "kind": "categorical"}
    est = NGMVLVM(init=init, likelihood=likelihood, **QUICK).fit({"counts": counts, "kind": kind})
    assert np.isfinite(est.elbo_)


def test_counts_are_initialised_at_principal_components_of_their_logarithms():
    """Latents of counts are initialised at the principal components of log(1 + Y), scaled to unit variance."""
    rng = np.random.default_rng(0)
    Y = rng.poisson(np.exp(rng.normal(size=(40, 2)) @ rng.normal(size=(2, 6)) + 1.0)).astype(float)
    settings = {"max_iter": 1, "tol": 0.0, "learning_rate": 1e-12, "n_points": 2, "dtype": "float64"}
    est = NGMVLVM(likelihood="poisson", random_state=0, **settings).fit(Y)
    logarithms = np.log1p(Y)
    components = np.linalg.svd(logarithms - logarithms.mean(axis=0), full_matrices=False)[0][:, :2]
    np.testing.assert_allclose(np.abs(components.T @ est.embedding_) / 40**0.5, np.eye(2), atol=1e-6)


@pytest.mark.parametrize("init", ["spectral", "tsne", "covariance"])
def test_initialisation_supports_few_rows(init):
    est = NGMVLVM(init=init, **QUICK).fit(np.random.default_rng(0).normal(size=(4, 6)))
    assert np.isfinite(est.embedding_).all()


def test_the_initialisation_with_the_best_bound_is_chosen_by_successive_halving(clusters, trials, monkeypatch):
    monkeypatch.setattr(train, "TRIAL_STEPS", (12, 30))
    est = NGMVLVM(init="auto", **QUICK | {"max_iter": 50}).fit(clusters)
    first, second, last = trials[:4], trials[4:6], trials[6]
    assert [trial[1:4] for trial in first] == [(init, 0, 12) for init in INITIALISATIONS]
    bounds = {init: np.mean(history[-2:]) for _, init, _, _, history in first}
    assert [trial[1:4] for trial in second] == [(init, 12, 30) for init in sorted(bounds, key=bounds.get)[:1:-1]]
    finals = {init: np.mean(history[-6:]) for _, init, _, _, history in second}
    assert last[1:4] == (max(finals, key=finals.get), 30, 50)
    assert est.init_ == last[1]
    expected_latents = [NGMVLVM(init=init, **UNTRAINED).fit(clusters).embedding_ for init in INITIALISATIONS]
    for (initial, *_), expected in zip(first, expected_latents, strict=True):
        np.testing.assert_allclose(initial, expected, atol=1e-5)


@pytest.mark.parametrize("winner", INITIALISATIONS)
def test_whichever_initialisation_has_the_best_bound_is_chosen(clusters, monkeypatch, winner):
    # the first steps of a trial do not count: there, all initialisations except the winner have high bounds
    def trial(problem, run, *_, until=None):
        for bound in [-1e6] * 30 + [-0.5] * 20 if run.init == winner else [1e6] * 30 + [-1.0] * 20:
            run.state.history.record(bound, {}, seconds=0.0, learning_rate=0.1)
        run.state.step = problem.options.max_iter

    monkeypatch.setattr(train, "run_training", trial)
    assert NGMVLVM(init="auto", **QUICK).fit(clusters).init_ == winner


def test_a_fit_with_a_chosen_initialisation_equals_the_fit_with_that_initialisation(clusters):
    chosen = NGMVLVM(init="auto", **QUICK).fit(clusters)
    explicit = NGMVLVM(init=chosen.init_, **QUICK).fit(clusters)
    np.testing.assert_array_equal(chosen.embedding_, explicit.embedding_)
    np.testing.assert_array_equal(chosen.history_["elbo"], explicit.history_["elbo"])
    assert chosen.n_iter_ == QUICK["max_iter"]


def test_imputed_entries_of_one_trial_do_not_influence_the_next(clusters):
    views = {"a": np.where(np.random.default_rng(0).random((120, 12)) < 0.1, np.nan, clusters["a"])}
    chosen = NGMVLVM(init="auto", **QUICK).fit(views)
    explicit = NGMVLVM(init=chosen.init_, **QUICK).fit(views)
    np.testing.assert_array_equal(chosen.embedding_, explicit.embedding_)


def test_verbose_prints_which_initialisation_was_chosen_and_why(clusters, capsys):
    est = NGMVLVM(init="auto", verbose=1, **QUICK).fit(clusters)
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Initialisation: "))
    assert line.startswith(f"Initialisation: {est.init_} (bound in nats per entry: pca ")
    NGMVLVM(init="auto", **QUICK).fit(clusters)
    assert capsys.readouterr().out == ""


def test_an_interrupt_ends_the_trials_and_keeps_the_best_so_far(clusters, monkeypatch):
    calls = iter(range(1000))

    def interrupted(*args, **kwargs):
        if next(calls) == 7:  # in the second trial
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    original = MultiViewLVM.elbo_gradients
    monkeypatch.setattr(MultiViewLVM, "elbo_gradients", interrupted)
    with pytest.warns(ConvergenceWarning, match=r"interrupted after \d of 5 steps"):
        est = NGMVLVM(init="auto", **QUICK).fit(clusters)
    assert next(calls) == 8, "no step follows the interrupt"
    assert est.stop_reason_ == "interrupted"
    assert (est.init_, est.n_iter_) in (("pca", 5), ("spectral", 2))
    np.testing.assert_equal(np.isfinite(est.elbo_), True)
    assert est.predict({"a": clusters["a"][:3]}).keys() == clusters.keys()


def test_an_initialisation_that_fails_numerically_is_not_chosen(clusters, monkeypatch):
    original = train.run_training
    outcomes = iter([True, True, False, True, False])

    def fail_thrice(*args, **options):
        if next(outcomes):
            raise NumericalError("broken for a test")
        original(*args, **options)

    monkeypatch.setattr(train, "run_training", fail_thrice)
    assert NGMVLVM(init="auto", **QUICK).fit(clusters).init_ == "tsne"


@pytest.mark.parametrize("init", ["umap", "PCA", None])
def test_an_unknown_initialisation_raises_an_error_that_lists_the_known_ones(clusters, init):
    known = "'pca', 'spectral', 'tsne', 'covariance', 'auto'"
    message = rf"init must be {known}, an array of shape \(120, 2\), a callable or a transformer. Got "
    with pytest.raises(ValueError, match=message + repr(init)):
        NGMVLVM(init=init, **QUICK).fit(clusters)


def test_initialisation_is_saved(clusters, tmp_path):
    est = NGMVLVM(init="auto", **QUICK).fit(clusters)
    est.save(tmp_path / "model.safetensors")
    loaded = mvlvm.load(tmp_path / "model.safetensors")
    assert (loaded.init, loaded.init_) == ("auto", est.init_)


def test_global_generators_are_not_modified(clusters):
    torch_before, numpy_before = torch.random.get_rng_state(), np.random.get_state()[1].copy()
    NGMVLVM(init="auto", **QUICK).fit(clusters)
    assert torch.equal(torch.random.get_rng_state(), torch_before)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_before)


def test_likelihood_parameters_of_one_trial_do_not_influence_the_next(clusters):
    views = {"a": clusters["a"], "counts": np.round(np.exp(clusters["b"] / 4))}
    settings = QUICK | {"likelihood": {"a": "student-t", "counts": "negative-binomial"}, "learning_rate": 0.5}
    chosen = NGMVLVM(init="auto", **settings).fit(views)
    explicit = NGMVLVM(init=chosen.init_, **settings).fit(views)
    np.testing.assert_array_equal(chosen.embedding_, explicit.embedding_)
    np.testing.assert_equal(chosen.likelihood_parameters_, explicit.likelihood_parameters_)


def test_auto_does_not_try_initialisations_that_are_not_applicable(clusters, trials, monkeypatch):
    monkeypatch.setattr(EigenmapInitialization, "is_applicable", lambda self, views: False)
    assert NGMVLVM(init="auto", **QUICK).fit(clusters).init_ in ("pca", "tsne", "covariance")
    assert {trial[1] for trial in trials} == {"pca", "tsne", "covariance"}
    assert NGMVLVM(init="spectral", **QUICK).fit(clusters).init_ == "spectral"


@pytest.mark.parametrize(("n_shared", "expected"), [(2, True), (3, False)])
def test_graph_embeddings_are_applicable_to_more_rows_than_dimensions(n_shared, expected):
    Y = torch.randn((5, 4), dtype=torch.float64)
    Y[3:] = torch.nan
    views = InitViews({"a": Y, "b": Y[:, :2]}, Dimensions(n_shared), seed=0)
    for kind in (EigenmapInitialization(), NeighbourInitialization()):
        assert kind.is_applicable(views) is expected


def test_neighbors_is_the_former_name_of_tsne(clusters):
    former = NGMVLVM(init="neighbors", **QUICK).fit(clusters)
    assert former.init_ == "tsne"
    np.testing.assert_array_equal(former.embedding_, NGMVLVM(init="tsne", **QUICK).fit(clusters).embedding_)


def two_columns(Z):
    return Z[:, :2]


@pytest.mark.parametrize("init", [two_columns, PCA(2, random_state=0)], ids=["callable", "transformer"])
def test_a_callable_or_transformer_computes_initial_latents(clusters, init, tmp_path):
    est = NGMVLVM(init=init, scale="view", **UNTRAINED).fit(clusters)
    Z = np.hstack([(Y - Y.mean(axis=0)) / np.linalg.norm(Y - Y.mean(axis=0)) for Y in clusters.values()])
    expected = init(Z) if callable(init) else init.fit_transform(Z)
    np.testing.assert_allclose(np.abs(np.corrcoef(expected.T, est.embedding_.T)[:2, 2:].diagonal()), 1, atol=1e-5)
    np.testing.assert_allclose(est.embedding_.std(axis=0), 1, rtol=1e-3)
    assert est.init_ == "custom"
    est.save(tmp_path)
    loaded = mvlvm.load(tmp_path)
    assert (loaded.init, loaded.init_) == ("custom", "custom")
    with pytest.raises(ValueError, match=r"init must be .* Got 'custom'"):
        loaded.fit(clusters)


def test_a_transformer_is_not_fitted_itself(clusters):
    transformer = PCA(2)
    NGMVLVM(init=transformer, **UNTRAINED).fit(clusters)
    assert not hasattr(transformer, "components_")


def test_a_callable_gets_rows_with_entries_only_and_supports_private_dimensions(clusters):
    views = {name: Y.copy() for name, Y in clusters.items()}
    views["a"][5], views["b"][5], views["b"][8] = np.nan, np.nan, np.nan
    seen = []

    def first_columns(Z):
        seen.append(Z)
        return Z[:, :2]

    with pytest.warns(match="without an entry"):
        est = NGMVLVM(init=first_columns, n_private={"a": 1}, **QUICK).fit(views)
    assert seen[0].shape == (119, 20)
    assert np.isfinite(seen[0]).all()
    assert np.isfinite(est.embedding_).all()


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda Z: Z[:, :3], r"must return an array of shape \(120, 2\), rows by n_components. Got \(120, 3\)"),
        (lambda Z: "no", r"must return an array of shape \(120, 2\)"),
        (lambda Z: Z[:, :2] * np.nan, "must return finite values. Got 240"),
        (lambda Z: np.zeros((120, 2)), "must return dimensions that vary"),
    ],
    ids=["shape", "type", "not finite", "constant"],
)
def test_invalid_results_of_a_callable_are_rejected(clusters, result, message):
    with pytest.raises(ValueError, match=message):
        NGMVLVM(init=result, **QUICK).fit(clusters)
