import numpy as np
import pytest
import torch

from mvlvm.models.rotation import sparsest_rotation, turn_towards_views
from mvlvm.models.starting import turned_start
from tests.mixtures import normal


def orthonormal(N, D, generator):
    Z = normal((N, D), generator)
    return torch.linalg.qr(Z - Z.mean(dim=0)).Q


def views_of(U, patterns, generator, width=15):
    """Views that are linear functions of the components that their pattern names."""
    return [U[:, pattern] @ normal((len(pattern), width), generator) for pattern in patterns]


@pytest.mark.parametrize("seed", range(5))
def test_mixed_components_are_turned_back_to_those_of_the_views(seed):
    generator = torch.Generator().manual_seed(seed)
    U = orthonormal(60, 3, generator)
    views = views_of(U, ([0, 1], [0, 2]), generator)
    mixed = U @ torch.linalg.qr(normal((3, 3), generator)).Q
    found = turn_towards_views(mixed, views)
    match = (found.T @ U).abs().numpy()
    np.testing.assert_allclose(np.sort(match, axis=1)[:, -1], 1, atol=1e-3)
    assert sorted(match.argmax(axis=1)) == [0, 1, 2]


def test_components_that_all_views_use_stay_as_they_are(generator):
    U = orthonormal(60, 3, generator)
    assert turn_towards_views(U, views_of(U, ([0, 1, 2], [0, 1, 2]), generator)) is U


def test_the_rotation_is_one(generator):
    W = normal((4, 5, 7), generator)
    R = sparsest_rotation(W @ W.mT)
    torch.testing.assert_close(R.T @ R, torch.eye(5, dtype=torch.float64), rtol=0.0, atol=1e-12)


def test_the_start_in_three_dimensions_finds_the_axes_of_the_views_and_in_two_is_left_alone(generator):
    U = orthonormal(60, 3, generator)
    views = views_of(U, ([0, 1], [0, 2]), generator)
    match = (turned_start(views, 3).T @ U / 60**0.5).abs().numpy()
    np.testing.assert_allclose(np.sort(match, axis=1)[:, -1], 1, atol=1e-3)
    stacked = np.hstack([Y.numpy() / np.linalg.norm(Y.numpy()) for Y in views])
    expected = np.linalg.svd(stacked, full_matrices=False)[0][:, :2]
    plain = (turned_start(views, 2).numpy().T @ expected / 60**0.5).round(8)
    np.testing.assert_allclose(np.abs(plain), np.eye(2), atol=1e-8)
