import numpy as np
import pytest
import torch

from mvlvm.models.data import EntriesBySample, ViewData, samples_without_entries
from mvlvm.models.latent import GaussianLatent
from tests.mixtures import normal
from tests.models.evidence import evaluate, infer_weights
from tests.models.fixed_features import fixed_view
from tests.oracles import normal_log_density, view_log_density

SAMPLES = torch.tensor([7, 0, 3, 3, 11])
NO_ROWS, NO_ENTRIES = [], ([], [])
COPIES = torch.tensor([1, 3, 2, 1, 1, 4, 1, 2])
N = len(COPIES)


def assert_same(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=0.0, atol=0.0, equal_nan=True)


def evidence(view, X, Y, sample_weight=None, n_steps=1):
    return evaluate(view, ViewData.from_array(Y, sample_weight), X, torch.Generator(), n_steps=n_steps)[0]


@pytest.mark.parametrize("rows", [NO_ROWS, [0, 3, 5]], ids=["all rows", "missing rows"])
@pytest.mark.parametrize("entries", [NO_ENTRIES, ([1, 2, 4], [0, 2, 1])], ids=["all entries", "missing entries"])
def test_view_data_contain_all_entries_of_an_array(rows, entries, generator):
    Y = normal((6, 3), generator)
    Y[rows] = torch.nan
    Y[entries] = torch.nan
    data, observed = ViewData.from_array(Y), ~torch.isnan(Y).all(dim=1)
    assert_same(data.entries, Y[observed])
    assert_same(data.select(Y), Y[observed])
    assert_same(data.entries_of(slice(1, 3)), Y[observed][1:3])
    assert torch.isfinite(data.Y).all()
    assert (data.rows is None) == (rows == NO_ROWS)
    assert (data.missing is None) == (entries == NO_ENTRIES)


@pytest.mark.parametrize("missing", ["none", "rows", "entries", "both"])
def test_entries_by_sample_equal_the_rows_of_the_array(missing, generator):
    Y = normal((12, 4), generator)
    if missing in ("rows", "both"):
        Y[[0, 5]] = torch.nan
    if missing in ("entries", "both"):
        Y[3, 1] = Y[7, 2] = torch.nan
    data = ViewData.from_array(Y)
    entries = EntriesBySample(data, 12)
    assert_same(entries[SAMPLES], Y[SAMPLES])
    assert torch.equal(entries.observed, ~torch.isnan(Y).all(dim=1))
    assert_same(data.entries, Y[entries.observed])  # the view is not modified


def test_samples_without_entries_are_observed_in_no_view(generator):
    one, other = normal((5, 2), generator), normal((5, 3), generator)
    one[[0, 2, 4]], other[[1, 2, 4]], other[3, 1] = torch.nan, torch.nan, torch.nan
    views = [ViewData.from_array(Y) for Y in (one, other)]
    assert samples_without_entries(views, 5).tolist() == [2, 4]


@pytest.mark.parametrize("n_points", [1, 4], ids=["F < N", "F > N"])
def test_sample_weights_are_equivalent_to_copies_of_rows(n_points, generator):
    view, X, Y = fixed_view(generator, n_points=n_points), normal((N, 2), generator), normal((N, 3), generator)
    Y[4] = torch.nan
    rows = torch.arange(N).repeat_interleave(COPIES)
    weighted, repeated = evidence(view, X, Y, COPIES.double()), evidence(view, X[rows], Y[rows])
    assert weighted.item() == pytest.approx(repeated.item(), rel=1e-10)
    gradients = []
    for value in (weighted, repeated):
        view.likelihood.raw_noise_variance.grad = None
        value.backward()
        gradients.append(view.likelihood.raw_noise_variance.grad.item())
    assert gradients[0] == pytest.approx(gradients[1], rel=1e-8)


def test_evidence_of_weighted_rows_is_the_normal_density_of_their_copies(generator):
    view, X, Y = fixed_view(generator), normal((N, 2), generator), normal((N, 3), generator)
    rows = torch.arange(N).repeat_interleave(COPIES)
    Phi = view.draw_features(generator)(X)[rows]
    covariance = (
        (Phi @ Phi.T + view.likelihood.noise_variance.double() * torch.eye(len(rows), dtype=torch.float64))
        .detach()
        .numpy()
    )
    expected = view_log_density(Y[rows].numpy(), covariance)
    assert evidence(view, X, Y, COPIES.double()).item() == pytest.approx(expected, rel=1e-10)


def test_bound_with_missing_entries_lies_between_the_bound_of_copies_and_the_exact_evidence(generator):
    view, X, Y = fixed_view(generator), normal((N, 2), generator), normal((N, 3), generator)
    Y[1, 0], Y[5, 1], Y[5, 2], Y[0, 0] = (torch.nan,) * 4
    rows = torch.arange(N).repeat_interleave(COPIES)
    Phi = view.draw_features(generator)(X)[rows]
    K = (
        (Phi @ Phi.T + view.likelihood.noise_variance.double() * torch.eye(len(rows), dtype=torch.float64))
        .detach()
        .numpy()
    )
    exact = 0.0
    for column in Y[rows].numpy().T:
        observed = ~np.isnan(column)
        exact += normal_log_density(column[observed], np.zeros(observed.sum()), K[np.ix_(observed, observed)])
    weighted = evidence(view, X, Y, COPIES.double(), n_steps=300).item()
    repeated = evidence(view, X[rows], Y[rows], n_steps=300).item()
    assert repeated <= weighted <= exact
    assert weighted == pytest.approx(exact, abs=0.2)


def test_imputed_entries_are_in_the_units_of_the_view(generator):
    view, X, Y = fixed_view(generator), normal((N, 2), generator), normal((N, 3), generator)
    Y[5, 1] = torch.nan
    _, state = evaluate(view, ViewData.from_array(Y, COPIES.double()), X, generator, n_steps=300)
    rows = torch.arange(N).repeat_interleave(COPIES)
    Phi = view.draw_features(generator)(X).detach()
    A = Phi[rows][rows != 5].T @ Phi[rows][rows != 5] + view.likelihood.noise_variance.item() * torch.eye(
        Phi.shape[1], dtype=torch.float64
    )
    expected = Phi[5] @ torch.linalg.solve(A, Phi[rows][rows != 5].T @ Y[rows][rows != 5][:, 1])
    assert state.imputed[5, 1].item() == pytest.approx(expected.item(), abs=1e-6)


@pytest.mark.parametrize("with_missing", [False, True])
def test_posterior_of_the_weights_is_equal_for_weighted_rows_and_copies(with_missing, generator):
    view, Y = fixed_view(generator), normal((N, 3), generator)
    if with_missing:
        Y[1, 0], Y[5, 1] = torch.nan, torch.nan
    rows = torch.arange(N).repeat_interleave(COPIES)
    mean = normal((N, 2), generator)
    with torch.no_grad():
        weighted, repeated = (
            infer_weights(
                view, GaussianLatent(X, 1e-9), values, generator, n_latent_draws=2, sample_weight=sample_weight
            )
            for X, values, sample_weight in ((mean, Y, COPIES.double()), (mean[rows], Y[rows], None))
        )
    torch.testing.assert_close(weighted.mean, repeated.mean, rtol=0.0, atol=1e-6)
    if not with_missing:
        torch.testing.assert_close(weighted.covariance, repeated.covariance, rtol=0.0, atol=1e-6)


def test_kl_divergence_is_weighted_by_sample_weights(generator):
    mean, rows = normal((N, 2), generator), torch.arange(N).repeat_interleave(COPIES)
    latent = GaussianLatent(mean, 0.4)
    latent.set_sample_weight(COPIES.double())
    assert latent.kl().item() == pytest.approx(GaussianLatent(mean[rows], 0.4).kl().item(), rel=1e-12)
