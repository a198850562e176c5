import numpy as np
import pytest
import torch

from mvlvm.errors import ViewError
from mvlvm.init.pca import pca_init, rotate_to_simple_structure, rotated_pca_init, simple_structure_rotation
from tests.mixtures import normal


def centred_views(generator, N=30, widths=(4, 6)):
    """Return views with quickly decaying singular values, so that components are well separated."""
    views = []
    for M in widths:
        Y = normal((N, M), generator) * torch.arange(M, 0, -1) ** 2
        views.append(Y - Y.mean(dim=0))
    return views


def svd_scores(views, n_components):
    stacked = np.hstack([Y.numpy() / np.linalg.norm(Y.numpy()) for Y in views])
    return np.linalg.svd(stacked, full_matrices=False)[0][:, :n_components] * len(stacked) ** 0.5


@pytest.mark.parametrize("widths", [(4, 6), (40, 60)], ids=["more rows", "more columns"])
def test_initial_latents_are_the_principal_components_of_views_of_equal_norm(widths, generator):
    views = centred_views(generator, widths=widths)
    latents, expected = pca_init(views, 3).numpy(), svd_scores(views, 3)
    signs = np.sign((latents * expected).sum(axis=0))
    np.testing.assert_allclose(latents, signs * expected, rtol=0.0, atol=1e-8)


def test_components_have_unit_variance_and_are_uncorrelated(generator):
    latents = pca_init(centred_views(generator), 3)
    torch.testing.assert_close(latents.T @ latents / 30, torch.eye(3, dtype=torch.float64), rtol=0.0, atol=1e-10)


def test_entry_of_largest_magnitude_is_positive(generator):
    latents = pca_init(centred_views(generator), 3)
    assert torch.equal(latents.abs().max(dim=0).values, latents.max(dim=0).values)


def test_initial_latents_do_not_depend_on_the_units_of_views(generator):
    one, other = centred_views(generator)
    torch.testing.assert_close(pca_init([1000 * one, other], 3), pca_init([one, other], 3), rtol=0.0, atol=1e-8)


def test_every_view_influences_the_initial_latents(generator):
    one, other = centred_views(generator)
    assert (pca_init([one, other], 2) - pca_init([one], 2)).abs().max() > 0.1


@pytest.mark.parametrize("N", [30, 5], ids=["more rows", "more columns"])
def test_more_components_than_the_rank_raise_an_error(N, generator):
    root = normal((N, 2), generator)
    root = root - root.mean(dim=0)
    views = [root @ normal((2, M), generator) for M in (4, 6)]
    with pytest.raises(ViewError, match=r"n_components=3 is too large.*rank 2.*n_components <= 2\.$"):
        pca_init(views, 3)
    with pytest.raises(ViewError, match="n_components <= 2, or pass an array as init"):
        rotated_pca_init(views, 3)


def test_missing_entries_are_completed_at_low_rank(generator):
    """With a tenth of the entries and some rows missing, views of rank two have the components of complete views."""
    root = normal((200, 2), generator)
    views = [root @ normal((2, M), generator) for M in (8, 12)]
    views = [Y - Y.mean(dim=0) for Y in views]
    incomplete = [Y.masked_fill(torch.rand(Y.shape, generator=generator) < 0.1, float("nan")) for Y in views]
    incomplete[1][:20] = float("nan")
    complete, found = pca_init(views, 2), pca_init(incomplete, 2)
    fit = torch.linalg.lstsq(found, complete).solution
    unexplained = (complete - found @ fit).square().sum() / complete.square().sum()
    zeros = pca_init([Y.nan_to_num(nan=0.0) for Y in incomplete], 2)
    fit = torch.linalg.lstsq(zeros, complete).solution
    assert unexplained < 0.02
    assert unexplained < 0.5 * (complete - zeros @ fit).square().sum() / complete.square().sum()


@pytest.mark.parametrize("N", [40, 2100], ids=["Gram matrix", "power iteration"])
def test_float32_views_have_the_initial_latents_of_float64_views(N, generator):
    latents, loadings = normal((N, 3), generator), [normal((3, width), generator) for width in (2050, 6)]
    views = [latents @ W + 0.01 * normal((N, W.shape[1]), generator) for W in loadings]
    double = rotated_pca_init(views, 3)
    single = rotated_pca_init([view.float() for view in views], 3)
    torch.testing.assert_close(single.double(), double, rtol=0, atol=2e-3)


def test_missing_entries_of_float32_views_are_completed_as_in_float64(generator):
    views = [normal((60, 2), generator) @ normal((2, M), generator) for M in (8, 12)]
    incomplete = [Y.masked_fill(torch.rand(Y.shape, generator=generator) < 0.1, float("nan")) for Y in views]
    double, single = pca_init(incomplete, 2), pca_init([Y.float() for Y in incomplete], 2)
    torch.testing.assert_close(single.double(), double, rtol=0, atol=1e-3)


def orthonormal(N, D, generator):
    Z = normal((N, D), generator)
    return torch.linalg.qr(Z - Z.mean(dim=0)).Q


def linear_views(U, patterns, generator, width=15):
    """Return views that are linear functions of the components in their pattern."""
    return [U[:, pattern] @ normal((len(pattern), width), generator) for pattern in patterns]


@pytest.mark.parametrize("seed", range(5))
def test_mixed_components_are_rotated_back_to_those_of_the_views(seed):
    generator = torch.Generator().manual_seed(seed)
    U = orthonormal(60, 3, generator)
    views = linear_views(U, ([0, 1], [0, 2]), generator)
    mixed = U @ torch.linalg.qr(normal((3, 3), generator)).Q
    rotated = rotate_to_simple_structure(mixed, views)
    match = (rotated.T @ U).abs().numpy()
    np.testing.assert_allclose(np.sort(match, axis=1)[:, -1], 1, atol=1e-3)
    assert sorted(match.argmax(axis=1)) == [0, 1, 2]


def test_components_that_all_views_use_are_not_rotated(generator):
    U = orthonormal(60, 3, generator)
    assert rotate_to_simple_structure(U, linear_views(U, ([0, 1, 2], [0, 1, 2]), generator)) is U


def test_rotation_is_orthogonal(generator):
    W = normal((4, 5, 7), generator)
    R = simple_structure_rotation(W @ W.mT)
    torch.testing.assert_close(R.T @ R, torch.eye(5, dtype=torch.float64), rtol=0.0, atol=1e-12)


def test_three_components_are_rotated_to_the_axes_of_the_views_but_two_are_not(generator):
    U = orthonormal(60, 3, generator)
    views = linear_views(U, ([0, 1], [0, 2]), generator)
    match = (rotated_pca_init(views, 3).T @ U / 60**0.5).abs().numpy()
    np.testing.assert_allclose(np.sort(match, axis=1)[:, -1], 1, atol=1e-3)
    stacked = np.hstack([Y.numpy() / np.linalg.norm(Y.numpy()) for Y in views])
    expected = np.linalg.svd(stacked, full_matrices=False)[0][:, :2]
    plain = (rotated_pca_init(views, 2).numpy().T @ expected / 60**0.5).round(8)
    np.testing.assert_allclose(np.abs(plain), np.eye(2), atol=1e-8)
