""" """

import numpy as np
import pytest
import torch

from mvlvm.models.data import EntriesByRow, ObservedView, block_of_entries
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import ViewPlan, build_model
from tests.mixtures import normal
from tests.models.fixed_features import fixed_view
from tests.oracles import normal_log_density, view_log_density

NO_ROWS, NO_ENTRIES = [], ([], [])


@pytest.mark.parametrize("rows", [NO_ROWS, [0, 3, 5]], ids=["all rows", "rows missing"])
@pytest.mark.parametrize("entries", [NO_ENTRIES, ([1, 2, 4], [0, 2, 1])], ids=["no gaps", "gaps"])
def test_closed_gaps_can_be_opened_again(rows, entries, generator):
    Y = normal((6, 3), generator)
    Y[rows] = torch.nan
    Y[entries] = torch.nan
    view = ObservedView(Y.clone())
    torch.testing.assert_close(view.with_gaps(6), Y, rtol=0.0, atol=0.0, equal_nan=True)


def test_better_guesses_do_not_close_the_gaps(generator):
    Y = normal((6, 3), generator)
    Y[2, 1], Y[4] = torch.nan, torch.nan
    view = ObservedView(Y.clone())
    view.guess(view.Y + view.hidden * 7.0)
    torch.testing.assert_close(view.with_gaps(6), Y, rtol=0.0, atol=0.0, equal_nan=True)


ROWS = torch.tensor([7, 0, 3, 3, 11])


@pytest.mark.parametrize("gaps", ["none", "rows", "entries", "both"])
def test_rows_are_those_of_the_view_with_its_gaps(gaps, generator):
    Y = normal((12, 4), generator)
    if gaps in ("rows", "both"):
        Y[[0, 5]] = torch.nan
    if gaps in ("entries", "both"):
        Y[3, 1] = Y[7, 2] = torch.nan
    seen = ObservedView(Y)
    entries = EntriesByRow(seen, 12)
    torch.testing.assert_close(entries.of(ROWS), Y[ROWS], rtol=0.0, atol=0.0, equal_nan=True)
    assert torch.equal(entries.has, ~torch.isnan(Y).all(dim=1))
    observed = Y[entries.has]
    torch.testing.assert_close(block_of_entries(seen, slice(2, 9)), observed[2:9], rtol=0.0, atol=0.0, equal_nan=True)
    torch.testing.assert_close(seen.with_gaps(12), Y, rtol=0.0, atol=0.0, equal_nan=True)  # nothing was written to


COPIES = torch.tensor([1, 3, 2, 1, 1, 4, 1, 2])
N = len(COPIES)


def evidence(view, X, Y, weight=None, n_steps=1):
    seen = ObservedView(Y, weight)
    for _ in range(n_steps):
        value = view.log_evidence(seen, X, torch.Generator())
    return value


@pytest.mark.parametrize("n_points", [1, 4], ids=["F < N", "F > N"])
def test_a_row_of_weight_a_counts_like_a_copies(n_points, generator):
    view, X, Y = fixed_view(generator, n_points=n_points), normal((N, 2), generator), normal((N, 3), generator)
    Y[4] = torch.nan
    rows = torch.arange(N).repeat_interleave(COPIES)
    weighed, repeated = evidence(view, X, Y, COPIES.double()), evidence(view, X[rows], Y[rows])
    assert weighed.item() == pytest.approx(repeated.item(), rel=1e-10)
    slopes = []
    for value in (weighed, repeated):
        view.likelihood.raw_noise_variance.grad = None
        value.backward()
        slopes.append(view.likelihood.raw_noise_variance.grad.item())
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-8)


def test_the_evidence_of_weighed_rows_is_the_normal_density_of_their_copies(generator):
    view, X, Y = fixed_view(generator), normal((N, 2), generator), normal((N, 3), generator)
    rows = torch.arange(N).repeat_interleave(COPIES)
    Phi = view.draw_features(generator)(X)[rows]
    covariance = (
        (Phi @ Phi.T + view.noise_variance.double() * torch.eye(len(rows), dtype=torch.float64)).detach().numpy()
    )
    expected = view_log_density(Y[rows].numpy(), covariance)
    assert evidence(view, X, Y, COPIES.double()).item() == pytest.approx(expected, rel=1e-10)


def test_with_hidden_entries_the_bound_lies_between_that_of_copies_and_the_truth(generator):
    view, X, Y = fixed_view(generator), normal((N, 2), generator), normal((N, 3), generator)
    Y[1, 0], Y[5, 1], Y[5, 2], Y[0, 0] = (torch.nan,) * 4
    rows = torch.arange(N).repeat_interleave(COPIES)
    Phi = view.draw_features(generator)(X)[rows]
    K = (Phi @ Phi.T + view.noise_variance.double() * torch.eye(len(rows), dtype=torch.float64)).detach().numpy()
    exact = 0.0
    for column in Y[rows].numpy().T:
        seen = ~np.isnan(column)
        exact += normal_log_density(column[seen], np.zeros(seen.sum()), K[np.ix_(seen, seen)])
    weighed = evidence(view, X, Y, COPIES.double(), n_steps=300).item()
    repeated = evidence(view, X[rows], Y[rows], n_steps=300).item()
    assert repeated <= weighed <= exact
    assert weighed == pytest.approx(exact, abs=0.2)


def test_guesses_for_hidden_entries_are_in_the_units_of_the_view(generator):
    view, X, Y = fixed_view(generator), normal((N, 2), generator), normal((N, 3), generator)
    Y[5, 1] = torch.nan
    weighed = ObservedView(Y, COPIES.double())
    for _ in range(300):
        view.log_evidence(weighed, X, generator)
    rows = torch.arange(N).repeat_interleave(COPIES)
    Phi = view.draw_features(generator)(X).detach()
    A = Phi[rows][rows != 5].T @ Phi[rows][rows != 5] + view.noise_variance.item() * torch.eye(
        Phi.shape[1], dtype=torch.float64
    )
    expected = Phi[5] @ torch.linalg.solve(A, Phi[rows][rows != 5].T @ Y[rows][rows != 5][:, 1])
    assert weighed.Y[5, 1].item() == pytest.approx(expected.item(), abs=1e-6)


@pytest.mark.parametrize("with_gaps", [False, True])
def test_weights_of_features_given_weighed_rows_are_those_given_copies(with_gaps, generator):
    view, Y = fixed_view(generator), normal((N, 3), generator)
    if with_gaps:
        Y[1, 0], Y[5, 1] = torch.nan, torch.nan
    rows = torch.arange(N).repeat_interleave(COPIES)
    mean = normal((N, 2), generator)
    with torch.no_grad():
        weighed, repeated = (
            view.infer_weights(GaussianLatent(X, 1e-9), seen, n_latent_draws=2, generator=generator)
            for X, seen in ((mean, ObservedView(Y, COPIES.double())), (mean[rows], ObservedView(Y[rows])))
        )
    torch.testing.assert_close(weighed.mean, repeated.mean, rtol=0.0, atol=1e-6)
    if not with_gaps:
        torch.testing.assert_close(weighed.covariance, repeated.covariance, rtol=0.0, atol=1e-6)


def test_the_divergence_counts_rows_by_their_weights(generator):
    mean, rows = normal((N, 2), generator), torch.arange(N).repeat_interleave(COPIES)
    latent = GaussianLatent(mean, 0.4)
    latent.weigh_rows(COPIES.double())
    assert latent.kl().item() == pytest.approx(GaussianLatent(mean[rows], 0.4).kl().item(), rel=1e-12)


def test_a_muted_view_teaches_the_latent_nothing_and_learns_itself(generator):
    mixtures = {"a": ViewPlan("ngsm", 1), "b": ViewPlan("ngsm", 1)}
    model = build_model(normal((N, 2), generator), mixtures, n_points=3, generator=generator)
    views = [ObservedView(normal((N, 3), generator)) for _ in mixtures]
    elbo = model.elbo(views, generator, mute={"b"})
    elbo.reconstruction[1].backward()
    assert model.latent.mean.grad.abs().max() == 0
    assert model.feature_views[1].mixture.mu1.grad.abs().max() > 0
