import numpy as np
import pytest
import torch

from mvlvm import MVARFLVM, NGMVLVM, defaults, load
from mvlvm.estimators import train
from mvlvm.evaluation import nearest_neighbour_accuracy
from mvlvm.init import tsne
from mvlvm.init.tsne import tsne_objective
from mvlvm.training.interrupts import Interrupts

QUICK = {"max_iter": 20, "tol": 0.0, "n_points": 5, "random_state": 0}
TERM = {"init": "tsne", "neighbor_weight": 50.0}


@pytest.fixture(scope="module")
def clusters():
    """Return two views of 15 clusters that overlap in every plane, and the cluster of every row."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(15), 8)
    Y = 2 * rng.normal(size=(15, 20))[labels] + rng.normal(size=(120, 20))
    return {"a": Y[:, :12], "b": Y[:, 12:]}, labels


@pytest.fixture
def objectives(monkeypatch):
    """Record the training state and the objective of every run."""
    recorded = []
    original = train.train

    def record(state, objective, *rest, **options):
        recorded.append((state, objective))
        return original(state, objective, *rest, **options)

    monkeypatch.setattr(train, "train", record)
    return recorded


def with_gaps(views):
    views = {name: Y.copy() for name, Y in views.items()}
    views["a"][3, 2], views["b"][7:9], views["a"][7] = np.nan, np.nan, np.nan
    weight = np.ones(120)
    weight[20:30] = 0
    return views, weight


@pytest.mark.filterwarnings("ignore::mvlvm.ViewWarning")
@pytest.mark.parametrize("options", [{}, {"n_private": {"a": 1}}, {"n_components": 1}])
def test_gradients_of_the_training_objective_match_finite_differences(clusters, objectives, options):
    views, weight = with_gaps(clusters[0])
    NGMVLVM(dtype="float64", compress=None, **TERM, **options, **QUICK).fit(views, sample_weight=weight)
    (state, objective), step = objectives[0], 1e-5

    def evaluate():
        return objective(state.view_states, torch.Generator().manual_seed(0))

    gradients, vector = evaluate().gradients, state.parameters.vector
    mean = state.parameters.parameters[0]
    assert mean in gradients
    assert mean.shape[0] == 120
    for n, d in ((0, 0), (40, mean.shape[1] - 1), (119, 0)):
        entry = int(mean.storage_offset() + mean.stride(0) * n + mean.stride(1) * d)
        values = []
        for sign in (1, -1):
            vector[entry] += sign * step
            values.append(torch.as_tensor(evaluate().bound.value).item())
            vector[entry] -= sign * step
        assert float(gradients[mean][n, d]) == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("estimator", [NGMVLVM, MVARFLVM])
def test_history_holds_the_term_and_the_bound_does_not(clusters, estimator):
    est = estimator(**TERM, **QUICK).fit(clusters[0])
    history = est.history_
    difference = history["objective"] - history["elbo"]
    np.testing.assert_allclose(difference, 50.0 * 120 * history["neighbors"], rtol=1e-5)
    entries = sum(Y.size for Y in clusters[0].values())
    assert abs(est.elbo_ - history["elbo"][-1]) < 0.1 * entries
    assert "neighbors" not in estimator(init="tsne", **QUICK).fit(clusters[0]).history_


def test_the_term_begins_at_the_objective_of_the_layout_and_preserves_it(clusters):
    views, labels = clusters
    settings = {"init": "tsne", "max_iter": 300, "tol": 0.0, "random_state": 0}
    far, near = (NGMVLVM(neighbor_weight=c, **settings).fit(views) for c in (1e-3, 100.0))
    assert near.history_["neighbors"][0] == pytest.approx(far.history_["neighbors"][0])
    assert near.history_["neighbors"][-1] > far.history_["neighbors"][-1]
    accuracies = [nearest_neighbour_accuracy(est.embedding_, labels) for est in (far, near)]
    assert accuracies[1] >= accuracies[0] - 0.01


def test_the_unit_of_the_latents_is_that_of_the_layout(clusters):
    term = NGMVLVM(**TERM, max_iter=1, learning_rate=1e-9, tol=0.0, n_points=5, random_state=0).fit(clusters[0])
    arrays = [torch.as_tensor(Y - Y.mean(axis=0)) for Y in clusters[0].values()]
    Z = torch.cat([Y / torch.linalg.matrix_norm(Y) for Y in arrays], dim=1)
    affinities = tsne.tsne_affinities(Z.float(), torch.Generator().manual_seed(0))
    U, s, _ = torch.linalg.svd(Z, full_matrices=False)
    layout = tsne.tsne_layout(affinities, (U * s)[:, :2])
    spread = float((layout - layout.mean(dim=0)).square().mean().sqrt())
    X = spread * torch.as_tensor(term.embedding_).T.contiguous()
    value, _ = tsne_objective(X, affinities)
    assert term.history_["neighbors"][0] == pytest.approx(value, abs=0.02)


@pytest.mark.filterwarnings("ignore::mvlvm.ViewWarning")
def test_rows_without_entries_and_private_dimensions_do_not_take_part(clusters):
    views, weight = with_gaps(clusters[0])
    seen = []
    est = NGMVLVM(n_private={"a": 1}, view_weights="balanced", **TERM, **QUICK)
    est._fit(views, weight, Interrupts(), callbacks=[lambda problem, state: seen.append((problem, state.run.model))])
    problem, model = seen[-1]
    gradient = problem.terms["neighbors"].evaluate(model)[1][model.latent.mean]
    takes_part = np.ones(120, dtype=bool)
    takes_part[[7, *range(20, 30)]] = False
    assert (gradient[:, 2:] == 0).all()
    assert (gradient[~takes_part] == 0).all()
    assert (gradient[takes_part, :2] != 0).any(dim=1).all()
    assert np.isfinite(est.embedding_).all()
    assert est.private_embedding_["a"].shape == (120, 1)


def test_the_steps_of_many_rows_are_interpolated(clusters, monkeypatch):
    exact = NGMVLVM(**TERM, **QUICK).fit(clusters[0])
    monkeypatch.setattr(tsne, "MAX_ROWS_EXACT", 50)
    interpolated = NGMVLVM(**TERM, **QUICK).fit(clusters[0])
    first, second = (est.history_["neighbors"][-1] for est in (exact, interpolated))
    assert second == pytest.approx(first, abs=0.1)


def test_initialisations_are_compared_without_the_term(clusters):
    steps = []

    def store(problem, state):
        if state.is_trial:
            history = state.run.state.history
            steps.append((train._weighted_bounds(problem, history)[-1], history.bound[-1], history.parts["elbo"][-1]))

    est = NGMVLVM(init="auto", neighbor_weight=100.0, **QUICK)
    est._fit(clusters[0], None, Interrupts(), callbacks=[store])
    compared, objective, elbo = np.array(steps).T
    np.testing.assert_allclose(compared, elbo, rtol=1e-9)
    assert (np.abs(objective - elbo) > 1e4).all()


def test_maps_have_the_recommended_settings(clusters, monkeypatch):
    fitted = []
    monkeypatch.setattr(NGMVLVM, "fit", lambda self, views: fitted.append(self) or self)
    est = NGMVLVM.map(clusters[0], random_state=3)
    assert fitted == [est]
    assert est.get_params() == NGMVLVM(**defaults.MAP_SETTINGS, random_state=3).get_params()
    assert est.neighbor_weight == "auto"


def test_saved_maps_give_the_same_latents(clusters, tmp_path):
    est = NGMVLVM(**defaults.MAP_SETTINGS, **QUICK).fit(clusters[0])
    est.save(tmp_path / "map.safetensors")
    again = load(tmp_path / "map.safetensors")
    assert again.neighbor_weight == "auto"
    new = {name: Y[:5] for name, Y in clusters[0].items()}
    np.testing.assert_array_equal(again.transform(new), est.transform(new))
    np.testing.assert_array_equal(again.history_["neighbors"], est.history_["neighbors"])


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"neighbor_weight": -1.0}, "neighbor_weight must be .* Got -1"),
        ({"neighbor_weight": float("nan")}, "neighbor_weight"),
        ({"neighbor_weight": "much"}, "neighbor_weight must be a non-negative number, or 'auto'. Got 'much'"),
        ({"n_components": 3}, "needs n_components of 1 or 2. Got n_components=3"),
        ({"n_components": "auto"}, "Got n_components='auto'"),
    ],
)
def test_bad_options_are_refused(clusters, options, message):
    with pytest.raises(ValueError, match=message):
        NGMVLVM(**{**TERM, **QUICK, **options}).fit(clusters[0])


def test_memory_of_affinities_is_estimated():
    views = {"a": np.zeros((4000, 10))}
    without, with_term = (NGMVLVM(neighbor_weight=c).estimate_memory(views) for c in (0.0, "auto"))
    assert with_term.total > without.total + 4000 * 90 * 20
