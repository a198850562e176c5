"""PCA compared with a singular value decomposition, LDA with Fisher's formula, and MCCA with singular values."""

import numpy as np
import pytest

from mvlvm import baselines
from tests.baselines.linear.test_factor_analysis import share_explained, views_of_one_factor


def standardised(Y):
    return (Y - Y.mean(0)) / Y.std(0)


def test_pca_components_are_singular_vectors_of_equally_scaled_views():
    draws = np.random.default_rng(0)
    # columns of very different scale, which are standardised separately
    views = {"a": draws.normal(size=(40, 3)) * [1, 20, 300], "b": draws.normal(size=(40, 6)) * 10.0 ** np.arange(6)}
    # a has half the columns of b, and the same total variance
    joined = np.hstack([standardised(views["a"]) * np.sqrt(2), standardised(views["b"])])
    U, s, Vt = np.linalg.svd(joined, full_matrices=False)
    est = baselines.get("PCA")(n_components=2).fit(views)
    signs = np.sign((est.embedding_ * U[:, :2]).sum(0))
    np.testing.assert_allclose(est.embedding_, U[:, :2] * s[:2] * signs)
    np.testing.assert_allclose(est.transform(views), est.embedding_)
    low_rank = (U[:, :2] * s[:2]) @ Vt[:2]
    expected = views["b"].mean(0) + views["b"].std(0) * low_rank[:, 3:]
    np.testing.assert_allclose(est.reconstruct()["b"], expected)


LDA = baselines.get("linear discriminant analysis")


def shifted_classes(n_classes, seed=0):
    """Return classes whose means are more than eight standard deviations apart in any linear combination of columns."""
    draws = np.random.default_rng(seed)
    labels = np.arange(60) % n_classes
    return (draws.normal(size=(60, 4)) + 6 * np.eye(4)[labels]) @ draws.normal(size=(4, 4)), labels


def test_lda_of_two_classes_is_fisher_direction():
    Y, labels = shifted_classes(2)
    means = np.array([Y[labels == c].mean(0) for c in (0, 1)])
    within = sum(np.cov(Y[labels == c].T) for c in (0, 1))
    expected = Y @ np.linalg.solve(within, means[1] - means[0])
    scores = LDA(n_components=1).fit_transform({"a": Y[:, :1], "b": Y[:, 1:]}, labels)
    assert abs(np.corrcoef(scores[:, 0], expected)[0, 1]) == pytest.approx(1, abs=1e-9)


def test_lda_separates_classes_of_new_rows():
    Y, labels = shifted_classes(3)
    est = LDA(n_components=2).fit(Y, labels.astype(str))
    np.testing.assert_allclose(est.transform(Y), est.embedding_)
    centres = np.array([est.embedding_[labels == c].mean(0) for c in range(3)])
    nearest = ((est.embedding_[:, None] - centres) ** 2).sum(2).argmin(1)
    assert (nearest == labels).all()


def test_single_lda_component_separates_classes_best():
    Y, labels = shifted_classes(3)
    one, two = (LDA(n_components=D).fit_transform(Y, labels) for D in (1, 2))
    between = [np.var([two[labels == c, d].mean() for c in range(3)]) for d in range(2)]
    assert between[0] > between[1]
    np.testing.assert_allclose(one[:, 0], two[:, 0])


def test_too_many_lda_components_are_rejected():
    Y, labels = shifted_classes(2)
    with pytest.raises(ValueError, match="Got n_components=2 for 2 classes and 4 columns, which allow 1"):
        LDA(n_components=2).fit(Y, labels)


def test_one_class_label_per_row_is_required():
    Y, labels = shifted_classes(3)
    with pytest.raises(ValueError, match="needs y, one class label per row"):
        LDA().fit(Y)
    with pytest.raises(ValueError, match=r"Got an array of shape \(59,\) for 60 rows"):
        LDA().fit(Y, labels[1:])


def test_collinear_class_means_allow_one_component():
    draws = np.random.default_rng(0)
    labels = np.arange(60) % 3
    within = np.repeat(
        draws.normal(size=(20, 4)), 3, axis=0
    )  # identical in all classes, so that they differ only by the shift
    with pytest.raises(ValueError, match=r"differ along 1 direction\(s\) only. Got n_components=2"):
        LDA(n_components=2).fit(within + 3.0 * labels[:, None] * [1, 0, 0, 0], labels)


pytest.importorskip("cca_zoo")
MCCA = baselines.get("MCCA")


def basis(Y):
    """Return an orthonormal basis of the centred columns."""
    return np.linalg.qr(Y - Y.mean(0))[0]


def test_mcca_scores_have_canonical_correlations():
    draws = np.random.default_rng(0)
    Y = draws.normal(size=(100, 7)) @ draws.normal(size=(7, 7))
    views = {"a": Y[:, :3], "b": Y[:, 3:] + draws.normal(size=(100, 4))}
    expected = np.linalg.svd(basis(views["a"]).T @ basis(views["b"]), compute_uv=False)
    est = MCCA(n_components=2).fit(views)
    a, b = (est.transform({name: views[name]}) for name in ("a", "b"))
    correlations = [np.corrcoef(a[:, d], b[:, d])[0, 1] for d in range(2)]
    # cca-zoo adds 1e-6 of the largest eigenvalue to small ones
    np.testing.assert_allclose(correlations, expected[:2], atol=1e-4)
    np.testing.assert_allclose(est.embedding_, (a + b) / 2)


def test_mcca_recovers_shared_factor_first_and_predicts():
    views, truth = views_of_one_factor()
    est = MCCA(n_components=1, shrinkage=0.1, random_state=0).fit(views)
    assert share_explained(truth, est.embedding_) > 0.95
    predicted = est.predict({"a": views["a"]}, target="b")
    assert 1 - np.var(predicted - views["b"]) / np.var(views["b"]) > 0.9


def test_mcca_reconstructs_views_by_least_squares():
    views, _ = views_of_one_factor()
    est = MCCA(n_components=2).fit(views)
    design = np.column_stack([est.embedding_, np.ones(80)])
    for name, Y in est.reconstruct().items():
        np.testing.assert_allclose(Y, design @ np.linalg.lstsq(design, views[name])[0], atol=1e-8)
