import numpy as np
import pytest
import torch

from mvlvm import row_blocks
from mvlvm.models.conditioning import infer_weights_complete, infer_weights_missing, n_latent_draws_for
from mvlvm.models.data import ViewData
from tests.mixtures import normal, uniform
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
        mean, covariance = infer_weights_complete(ViewData.from_array(Y, weight), features, draws, S)
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


def draw_problem(generator, share=0.3):
    Phis = [normal((40, 6), generator) for _ in range(3)]
    return normal((40, 5), generator), uniform(0.0, 1.0, (40, 5), generator) > share, Phis


def test_every_column_has_the_weights_of_the_rows_in_which_it_was_seen(generator):
    Y, seen, Phis = draw_problem(generator)
    s = torch.tensor(0.2, dtype=torch.float64)
    mean, _, _ = infer_weights_missing(Y, seen, Phis, s)
    for m in range(5):
        rows = seen[:, m]
        A = sum(Phi[rows].T @ Phi[rows] for Phi in Phis) / 3 + s * torch.eye(6, dtype=torch.float64)
        expected = torch.linalg.solve(A, sum(Phi[rows].T for Phi in Phis) @ Y[rows, m] / 3)
        torch.testing.assert_close(mean[:, m], expected, rtol=1e-8, atol=1e-10)


def test_hidden_entries_are_not_looked_at(generator):
    Y, seen, Phis = draw_problem(generator)
    s = torch.tensor(0.2, dtype=torch.float64)
    one, other = (infer_weights_missing(Z, seen, Phis, s)[0] for Z in (Y, Y.masked_fill(~seen, 1e6)))
    torch.testing.assert_close(one, other, rtol=1e-10, atol=0.0)


def test_the_covariance_is_that_of_an_average_column_and_larger_for_those_seen_less(generator):
    N = 4000
    Phi, s = normal((N, 6), generator), torch.tensor(0.2, dtype=torch.float64)
    seen = uniform(0.0, 1.0, (N, 2), generator) > torch.tensor([0.2, 0.6], dtype=torch.float64)
    _, covariance, inflation = infer_weights_missing(normal((N, 2), generator), seen, [Phi], s)
    for m in range(2):
        rows = seen[:, m]
        exact = s * torch.linalg.inv(Phi[rows].T @ Phi[rows] + s * torch.eye(6, dtype=torch.float64))
        # rows are drawn, so the sums of a column vary by about 4 / sqrt(rows seen)
        torch.testing.assert_close(
            (covariance * inflation[m]).diagonal(), exact.diagonal(), rtol=4 / rows.sum().item() ** 0.5, atol=0.0
        )


def test_column_that_was_never_seen_is_unknown_and_not_infinitely_so(generator):
    Y, seen, Phis = draw_problem(generator)
    seen[:, 2], seen[:, 3] = False, False
    seen[7, 3] = True
    mean, _, inflation = infer_weights_missing(Y, seen, Phis, torch.tensor(0.2, dtype=torch.float64))
    assert (mean[:, 2] == 0).all()
    assert inflation[2] == inflation[3] > inflation[[0, 1, 4]].max()
    assert torch.isfinite(inflation).all()
