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
def test_shared_and_private_factors_are_separated_before_training(seed):
    data = load("shared-private", random_state=seed)
    truth = np.hstack([data.truth["shared"], data.truth["private"]["a"], data.truth["private"]["b"]])
    latents = private_init(centred(data), ["a", "b"], DIMENSIONS).numpy()
    correlations = np.abs(np.corrcoef(latents.T, truth.T)[:3, 3:])
    assert correlations.diagonal().min() > 0.9
    assert (correlations - np.diag(correlations.diagonal())).max() < 0.2


def test_initial_latents_are_whitened(generator):
    views = centred({"a": normal((40, 6), generator).numpy(), "b": normal((40, 5), generator).numpy()})
    latents = private_init(views, ["a", "b"], Dimensions(2, {"b": 2}))
    torch.testing.assert_close(latents.T @ latents / 40, torch.eye(4, dtype=torch.float64), rtol=0.0, atol=1e-8)


def test_given_shared_latents_are_kept_and_regressed_out(generator):
    Z = torch.linalg.qr(normal((50, 3), generator) - 0.1).Q
    Z = torch.linalg.qr(Z - Z.mean(dim=0)).Q
    views = [Z @ normal((3, 8), generator) * 0.01 + 5.0 * Z[:, :1] + 2.0 * Z[:, 1:2] * torch.ones(8)]
    shared = 3.0 * Z[:, :1]
    latents = private_init(views, ["a"], Dimensions(1, {"a": 1}), shared=shared)
    assert torch.equal(latents[:, :1], shared)
    assert abs(float(latents[:, 1] @ Z[:, 1])) / 50**0.5 == pytest.approx(1, abs=1e-3)


def test_view_without_residual_rank_raises_an_error(generator):
    z = normal((30, 1), generator)
    z = z - z.mean()
    with pytest.raises(ViewError, match=r"n_private=1 is too large for view 'a'.*residual has rank 0"):
        private_init([z, z @ normal((1, 4), generator)], ["a", "b"], Dimensions(1, {"a": 1}))


def test_more_shared_dimensions_than_the_rank_raise_an_error(generator):
    z = normal((30, 1), generator)
    z = z - z.mean()
    with pytest.raises(ViewError, match=r"n_components=2 is too large.*only rank 1"):
        private_init([z, z @ normal((1, 4), generator)], ["a", "b"], Dimensions(2, {"b": 1}))
