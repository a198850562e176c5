import numpy as np
import pytest
import torch

from mvlvm.datasets import load
from mvlvm.errors import ViewError
from mvlvm.init.private import private_init
from mvlvm.models.multiview import Dimensions
from tests.mixtures import normal

DIMENSIONS = Dimensions(1, {"a": 1, "b": 1})


def centred(data):
    return [torch.as_tensor(Y - Y.mean(axis=0)) for Y in data.values()]


@pytest.mark.parametrize("seed", range(5))
def test_shared_and_private_factors_are_told_apart_before_training(seed):
    data = load("shared-private", random_state=seed)
    truth = np.hstack([data.truth["shared"], data.truth["private"]["a"], data.truth["private"]["b"]])
    start = private_init(centred(data), ["a", "b"], DIMENSIONS).numpy()
    correlations = np.abs(np.corrcoef(start.T, truth.T)[:3, 3:])
    assert correlations.diagonal().min() > 0.9
    assert (correlations - np.diag(correlations.diagonal())).max() < 0.2


def test_every_start_has_mean_zero_and_unit_variance_and_private_ones_add_to_the_shared(generator):
    views = centred({"a": normal((40, 6), generator).numpy(), "b": normal((40, 5), generator).numpy()})
    start = private_init(views, ["a", "b"], Dimensions(2, {"b": 2}))
    torch.testing.assert_close(start.T @ start / 40, torch.eye(4, dtype=torch.float64), rtol=0.0, atol=1e-8)


def test_a_shared_start_that_is_known_is_kept_and_explained_away_before_the_private_one(generator):
    Z = torch.linalg.qr(normal((50, 3), generator) - 0.1).Q
    Z = torch.linalg.qr(Z - Z.mean(dim=0)).Q
    views = [Z @ normal((3, 8), generator) * 0.01 + 5.0 * Z[:, :1] + 2.0 * Z[:, 1:2] * torch.ones(8)]
    shared = 3.0 * Z[:, :1]
    start = private_init(views, ["a"], Dimensions(1, {"a": 1}), shared=shared)
    assert torch.equal(start[:, :1], shared)
    assert abs(float(start[:, 1] @ Z[:, 1])) / 50**0.5 == pytest.approx(1, abs=1e-3)


def test_a_view_without_a_direction_left_is_refused(generator):
    z = normal((30, 1), generator)
    z = z - z.mean()
    with pytest.raises(ViewError, match=r"n_private=1 is too large for view 'a'.*0 direction\(s\) left"):
        private_init([z, z @ normal((1, 4), generator)], ["a", "b"], Dimensions(1, {"a": 1}))


def test_more_shared_dimensions_than_directions_are_refused(generator):
    z = normal((30, 1), generator)
    z = z - z.mean()
    with pytest.raises(ViewError, match=r"n_components=2 is too large.*only 1 direction"):
        private_init([z, z @ normal((1, 4), generator)], ["a", "b"], Dimensions(2, {"b": 1}))
