from contextlib import contextmanager

import numpy as np
import pytest
import torch
from sklearn.manifold import TSNE, _t_sne
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from mvlvm.datasets import load
from mvlvm.init import tsne
from mvlvm.init.tsne import Affinities, attraction_of, tsne_affinities, tsne_layout, tsne_objective
from mvlvm.init.tsne_repulsion import exact_repulsion, interpolated_repulsion


def normal(*shape, seed=0, scale=1.0):
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture
def affinities(generator):
    return tsne_affinities(normal(120, 5).float(), generator)


def test_affinities_are_those_of_scikit_learn(generator):
    Z = normal(100, 4)
    found = tsne_affinities(Z.float(), generator, perplexity=10.0).matrix.numpy()
    distances = NearestNeighbors(n_neighbors=30).fit(Z).kneighbors_graph(mode="distance")
    distances.data **= 2
    expected = _t_sne._joint_probabilities_nn(distances, 10.0, 0).toarray()
    np.testing.assert_allclose(found, expected, atol=1e-3 * expected.max())
    assert found.sum() == pytest.approx(1.0, abs=1e-5)


def test_objective_and_gradient_are_those_of_scikit_learn(affinities):
    X = normal(2, 120, seed=1, scale=3.0)
    value, gradient = tsne_objective(X, affinities)
    P = affinities.matrix.double().numpy()
    condensed = np.maximum(P[np.triu_indices(120, 1)], np.finfo(float).tiny)
    divergence, expected = _t_sne._kl_divergence(X.T.numpy().ravel().copy(), condensed, 1.0, 120, 2)
    np.testing.assert_allclose(gradient.numpy(), -expected.reshape(120, 2).T, rtol=1e-5, atol=1e-9)
    entropy = -(P[P > 0] * np.log(P[P > 0])).sum()
    assert value == pytest.approx(-divergence - entropy, rel=1e-5)


@pytest.mark.parametrize("D", [1, 2, 3])
def test_gradient_matches_finite_differences(affinities, D):
    X, step = normal(D, 120, seed=2), 1e-5
    _, gradient = tsne_objective(X, affinities)
    for d, i in ((0, 0), (D - 1, 7), (0, 119)):
        shift = torch.zeros_like(X)
        shift[d, i] = step
        slope = (tsne_objective(X + shift, affinities)[0] - tsne_objective(X - shift, affinities)[0]) / (2 * step)
        assert float(gradient[d, i]) == pytest.approx(slope, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("D", [1, 2])
@pytest.mark.parametrize(("box_width", "limit"), [(1.0, 0.06), (0.5, 0.007)])
def test_interpolated_repulsion_converges_to_the_exact_one(D, box_width, limit):
    X = normal(D, 1500, seed=3, scale=15.0)
    exact = exact_repulsion(X)
    found = interpolated_repulsion(X, box_width)
    error = torch.linalg.vector_norm(found.force - exact.force) / torch.linalg.vector_norm(exact.force)
    assert float(error) < limit
    assert float(found.normalizer) == pytest.approx(float(exact.normalizer), rel=limit)


def all_pairs(X):
    """Return x_i - x_j for all i and j, (D, N, N), and w."""
    difference = X[:, :, None] - X[:, None, :]
    return difference, 1 / (1 + difference.square().sum(dim=0))


@pytest.mark.parametrize("D", [1, 2, 3])
@pytest.mark.parametrize("N", [100, 128, 300])
def test_exact_repulsion_is_the_sum_over_all_pairs(N, D):
    X = normal(D, N, seed=4, scale=2.0)
    difference, w = all_pairs(X)
    found = exact_repulsion(X)
    torch.testing.assert_close(found.force, (w**2 * difference).sum(dim=2), rtol=1e-9, atol=1e-9)
    assert float(found.normalizer) == pytest.approx(float(w.sum()) - N)
    single = exact_repulsion(X.float())
    torch.testing.assert_close(
        single.force.double(), found.force, rtol=1e-3, atol=1e-4 * float(found.force.abs().max())
    )


@pytest.mark.parametrize("D", [1, 2, 3])
@pytest.mark.parametrize("pairs_per_block", [1000, 2**17])
def test_attraction_is_the_sum_over_all_pairs(generator, monkeypatch, D, pairs_per_block):
    monkeypatch.setattr(tsne, "_PAIRS_PER_BLOCK", pairs_per_block)
    affinities = tsne_affinities(normal(120, 5).float(), generator)
    X, P = normal(D, 120, seed=4), affinities.matrix.double()
    difference, w = all_pairs(X)
    for found in (attraction_of(X, affinities), tsne._attraction_on_gpu(X, affinities)):
        torch.testing.assert_close(found.force, (P * w * difference).sum(dim=2), rtol=1e-6, atol=1e-12)
        assert float(found.value) == pytest.approx(float((P * w.log()).sum()), rel=1e-6)
    assert (len(affinities.blocks) == 1) == (pairs_per_block == 2**17)


def test_both_branches_of_the_gradient_agree(affinities, monkeypatch):
    X = normal(2, 120, seed=5, scale=4.0)
    value, gradient = tsne_objective(X, affinities)
    monkeypatch.setattr(tsne, "MAX_ROWS_EXACT", 10)
    other_value, other = tsne_objective(X, affinities)
    assert other_value == pytest.approx(value, abs=0.02)
    assert float(torch.linalg.vector_norm(other - gradient) / torch.linalg.vector_norm(gradient)) < 0.05


@pytest.mark.parametrize("data", ["digits-halves"])
def test_neighbours_are_preserved_as_by_scikit_learn(data, generator):
    dataset = load(data, random_state=0)
    rows = slice(0, 600)
    Z = np.hstack([(Y - Y.mean(axis=0)) / np.linalg.norm(Y) for Y in dataset.values()])[rows]
    U, s, _ = np.linalg.svd(Z, full_matrices=False)
    affinities = tsne_affinities(torch.tensor(Z).float(), generator)
    X = tsne_layout(affinities, torch.tensor(U[:, :2] * s[:2]))
    theirs = TSNE(random_state=0).fit_transform(Z)
    accuracy, expected = (
        cross_val_score(KNeighborsClassifier(1), layout, dataset.labels[rows], cv=5).mean() for layout in (X, theirs)
    )
    assert accuracy > expected - 0.02
    value, expected = (tsne_objective(torch.as_tensor(layout).T.contiguous(), affinities)[0] for layout in (X, theirs))
    assert value > expected - 0.03


@pytest.mark.parametrize("N", [2, 3, 10])
def test_few_rows_and_duplicates_give_finite_layouts(N, generator):
    for Z in (normal(N, 3), torch.ones((N, 3)), normal(N, 3).round()):
        affinities = tsne_affinities(Z.float(), generator)
        assert torch.isfinite(affinities.weight).all()
        assert torch.isfinite(tsne_layout(affinities, normal(N, 2))).all()


def test_layouts_of_many_rows_are_interpolated(monkeypatch, generator):
    monkeypatch.setattr(tsne, "MAX_ROWS_EXACT", 100)
    centres = normal(8, 10, scale=5.0).repeat_interleave(40, dim=0)
    labels = np.repeat(np.arange(8), 40)
    Z = centres + normal(320, 10, seed=1)
    X = tsne_layout(tsne_affinities(Z.float(), generator), Z[:, :2])
    assert cross_val_score(KNeighborsClassifier(1), X.numpy(), labels, cv=4).mean() > 0.99


def test_affinities_are_symmetric(affinities):
    torch.testing.assert_close(affinities.matrix, affinities.matrix.T)
    assert isinstance(affinities, Affinities)
    assert int(affinities.n_pairs.sum()) == len(affinities.weight)


def test_iterations_are_shown(affinities):
    shown = []

    @contextmanager
    def progress(total, title):
        shown.append((total, title))
        yield shown.append

    tsne_layout(affinities, normal(120, 2), progress)
    assert shown == [(750, "t-SNE"), *[1] * 750]
