import numpy as np
import pytest
import torch

from mvlvm import row_blocks
from mvlvm.models.complete_weights import infer_complete, n_latent_draws_for
from mvlvm.models.observed import ObservedView
from tests.mixtures import normal
from tests.models.fixed_features import fixed_view

S = torch.tensor(0.3, dtype=torch.float64)


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("numbers", [2_000_000, 50], ids=["one block", "many blocks"])
def test_weights_solve_the_normal_equations(weighed, numbers, generator, monkeypatch):
    monkeypatch.setattr(row_blocks, "NUMBERS_PER_BLOCK", numbers)
    Y, draws = normal((70, 3), generator), [normal((70, 2), generator) for _ in range(3)]
    weight = 0.5 + torch.rand(70, generator=generator, dtype=torch.float64) if weighed else None
    features = fixed_view(generator).draw_features(generator)
    with torch.no_grad():
        mean, covariance = infer_complete(ObservedView(Y, weight), features, draws, S)
        Phis = [features(X).numpy() for X in draws]
    counts = np.ones(70) if weight is None else weight.numpy()
    A = np.mean([(Phi * counts[:, None]).T @ Phi for Phi in Phis], axis=0) + S.item() * np.eye(Phis[0].shape[1])
    target = np.mean(Phis, axis=0).T @ (counts[:, None] * Y.numpy())
    np.testing.assert_allclose(mean, np.linalg.solve(A, target), rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(covariance, S.item() * np.linalg.inv(A), rtol=0.0, atol=1e-10)


def test_draws_become_fewer_as_rows_become_more():
    numbers = [n_latent_draws_for(n_rows) for n_rows in (1, 100, 2_500, 10_000, 1_000_000)]
    assert numbers == sorted(numbers, reverse=True)
    assert (numbers[0], numbers[-1]) == (8, 1)
