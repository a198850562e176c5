import numpy as np
import pytest
import torch

from mvlvm import row_blocks
from mvlvm.models.conditioning import infer_weights_complete, infer_weights_missing, n_latent_draws_for
from mvlvm.models.data import ViewData
from tests.mixtures import normal, uniform
from tests.models.fixed_features import fixed_view

S = torch.tensor(0.3, dtype=torch.float64)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("numbers", [2_000_000, 50], ids=["one block", "many blocks"])
def test_weights_solve_the_normal_equations(weighted, numbers, generator, monkeypatch):
    monkeypatch.setattr(row_blocks, "NUMBERS_PER_BLOCK", numbers)
    Y, draws = normal((70, 3), generator), [normal((70, 2), generator) for _ in range(3)]
    weight = 0.5 + torch.rand(70, generator=generator, dtype=torch.float64) if weighted else None
    features = fixed_view(generator).draw_features(generator)
    with torch.no_grad():
        mean, covariance = infer_weights_complete(ViewData.from_array(Y, weight), features, draws, S)
        Phis = [features(X).numpy() for X in draws]
    counts = np.ones(70) if weight is None else weight.numpy()
    A = np.mean([(Phi * counts[:, None]).T @ Phi for Phi in Phis], axis=0) + S.item() * np.eye(Phis[0].shape[1])
    target = np.mean(Phis, axis=0).T @ (counts[:, None] * Y.numpy())
    np.testing.assert_allclose(mean, np.linalg.solve(A, target), rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(covariance, S.item() * np.linalg.inv(A), rtol=0.0, atol=1e-10)


def test_number_of_draws_decreases_with_the_number_of_rows():
    numbers = [n_latent_draws_for(n_rows) for n_rows in (1, 100, 2_500, 10_000, 1_000_000)]
    assert numbers == sorted(numbers, reverse=True)
    assert (numbers[0], numbers[-1]) == (8, 1)


def draw_problem(generator, share=0.3):
    Phis = [normal((40, 6), generator) for _ in range(3)]
    return normal((40, 5), generator), uniform(0.0, 1.0, (40, 5), generator) > share, Phis


def test_weights_of_a_column_solve_the_system_of_its_observed_rows(generator):
    Y, observed, Phis = draw_problem(generator)
    s = torch.tensor(0.2, dtype=torch.float64)
    mean, _, _ = infer_weights_missing(Y, observed, Phis, s)
    for m in range(5):
        rows = observed[:, m]
        A = sum(Phi[rows].T @ Phi[rows] for Phi in Phis) / 3 + s * torch.eye(6, dtype=torch.float64)
        expected = torch.linalg.solve(A, sum(Phi[rows].T for Phi in Phis) @ Y[rows, m] / 3)
        torch.testing.assert_close(mean[:, m], expected, rtol=1e-8, atol=1e-10)


def test_missing_entries_are_ignored(generator):
    Y, observed, Phis = draw_problem(generator)
    s = torch.tensor(0.2, dtype=torch.float64)
    one, other = (infer_weights_missing(Z, observed, Phis, s)[0] for Z in (Y, Y.masked_fill(~observed, 1e6)))
    torch.testing.assert_close(one, other, rtol=1e-10, atol=0.0)


def test_covariance_is_that_of_an_average_column_and_grows_with_missing_entries(generator):
    N = 4000
    Phi, s = normal((N, 6), generator), torch.tensor(0.2, dtype=torch.float64)
    observed = uniform(0.0, 1.0, (N, 2), generator) > torch.tensor([0.2, 0.6], dtype=torch.float64)
    _, covariance, inflation = infer_weights_missing(normal((N, 2), generator), observed, [Phi], s)
    for m in range(2):
        rows = observed[:, m]
        exact = s * torch.linalg.inv(Phi[rows].T @ Phi[rows] + s * torch.eye(6, dtype=torch.float64))
        # rows are random, so the sums of a column vary by about 4 / sqrt(observed rows)
        torch.testing.assert_close(
            (covariance * inflation[m]).diagonal(), exact.diagonal(), rtol=4 / rows.sum().item() ** 0.5, atol=0.0
        )


def test_column_without_observed_entries_has_a_large_but_finite_covariance(generator):
    Y, observed, Phis = draw_problem(generator)
    observed[:, 2], observed[:, 3] = False, False
    observed[7, 3] = True
    mean, _, inflation = infer_weights_missing(Y, observed, Phis, torch.tensor(0.2, dtype=torch.float64))
    assert (mean[:, 2] == 0).all()
    assert inflation[2] == inflation[3] > inflation[[0, 1, 4]].max()
    assert torch.isfinite(inflation).all()
