import statistics

import numpy as np
import pytest
import torch

from mvlvm import NGMVLVM, defaults
from mvlvm.datasets import load
from mvlvm.evidence.elbo import Elbo
from mvlvm.kernels import ngsm_kernel
from mvlvm.likelihoods import Gaussian
from mvlvm.likelihoods.counts import Poisson
from mvlvm.models.data import ViewData
from mvlvm.models.diagnostics import (
    MIN_SHARE,
    ExplainedVariance,
    expected_bound,
    explained_variance,
    keep_dimensions,
    learned_gram,
    used_dimensions,
)
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import Dimensions, MultiViewLVM, ViewPlan, build_model, states_of
from mvlvm.models.spectral_mixture import SpectralMixture
from mvlvm.models.variational_view import VariationalView
from mvlvm.models.views import ModelView
from tests.mixtures import normal
from tests.models.fixed_features import fixed_view
from tests.models.model_views import gaussian_view, model_views
from tests.monte_carlo import assert_mean


def linear(W):
    return lambda mean, std: mean @ W


def make_view_and_latent(generator, std):
    view = gaussian_view("view", SpectralMixture(2, 2, generator), n_points=5).double()
    return view, GaussianLatent(normal((4, 2), generator), std)


def test_lost_variance_of_a_linear_function_matches_its_definition(generator):
    X, W = normal((40, 3), generator), normal((3, 5), generator)
    W[1] = 0.0
    Y = X @ W + 0.1 * normal((40, 5), generator)
    explained = explained_variance(linear(W), GaussianLatent(X, 0.1), ViewData.from_array(Y))
    y, x, w = Y.numpy(), X.numpy(), W.numpy()
    total = ((y - y.mean(axis=0)) ** 2).sum()
    assert explained.total == pytest.approx(1 - ((y - x @ w) ** 2).sum() / total)
    for d in range(3):
        fixed = x.copy()
        fixed[:, d] = x[:, d].mean()
        without = 1 - ((y - fixed @ w) ** 2).sum() / total
        assert explained.lost[d].item() == pytest.approx(explained.total - without, abs=1e-12)
    assert explained.lost[1].item() == 0
    assert explained.lost[[0, 2]].min() > 0.1


def test_explained_variance_uses_only_observed_entries(generator):
    X, W = normal((40, 2), generator), normal((2, 5), generator)
    Y = X @ W + 0.1 * normal((40, 5), generator)
    Y[normal((40, 5), generator) > 1] = torch.nan
    Y[7] = torch.nan
    explained = explained_variance(linear(W), GaussianLatent(X, 0.1), ViewData.from_array(Y))
    y, f = Y.numpy(), (X @ W).numpy()
    assert explained.total == pytest.approx(1 - np.nansum((y - f) ** 2) / np.nansum((y - np.nanmean(y, axis=0)) ** 2))


def test_a_fixed_dimension_has_standard_deviation_zero(generator):
    latent = GaussianLatent(normal((10, 2), generator), 0.3)
    stds = []

    def expected(mean, std):
        stds.append(std.detach().clone())
        return mean

    explained_variance(expected, latent, ViewData.from_array(normal((10, 2), generator)))
    assert [(std == 0).all(dim=0).tolist() for std in stds] == [[False, False], [True, False], [False, True]]


def test_explained_variance_with_sample_weights_equals_that_of_copies(generator):
    X, W = normal((10, 2), generator), normal((2, 3), generator)
    Y = X @ W + normal((10, 3), generator)
    Y[2, 1] = torch.nan
    copies = torch.tensor([1, 2, 3, 1, 1, 5, 1, 1, 2, 1])
    weighted = explained_variance(linear(W), GaussianLatent(X, 0.1), ViewData.from_array(Y, copies.double()))
    rows = torch.arange(10).repeat_interleave(copies)
    repeated = explained_variance(linear(W), GaussianLatent(X[rows], 0.1), ViewData.from_array(Y[rows]))
    assert weighted.total == pytest.approx(repeated.total, rel=1e-10)


@pytest.mark.parametrize(("precision", "n_draws"), [(1e9, 4), (0.0, 20)])
def test_draws_of_the_bound_end_at_the_required_precision(precision, n_draws, generator, monkeypatch):
    model = MultiViewLVM(GaussianLatent(normal((30, 2), generator), 0.3), [fixed_view(generator)])
    views = model_views(model, [normal((30, 3), generator)])
    values, elbo = [], model.elbo

    def record(*arguments):
        bound, states = elbo(*arguments)
        values.append(bound.value.item())
        return bound, states

    monkeypatch.setattr(model, "elbo", record)
    monkeypatch.setattr(defaults, "BOUND_PRECISION", precision)
    estimate = expected_bound(model, views, torch.Generator().manual_seed(0), n_entries=90)
    assert len(values) == n_draws
    assert statistics.stdev(values) > 0
    assert estimate == pytest.approx(statistics.fmean(values), rel=1e-12)


def test_precision_of_the_bound_is_the_standard_error_of_the_mean(generator, monkeypatch):
    """Draws alternate between 0 and 2: the standard error of their mean, stdev / sqrt(n), falls below 0.3 at n = 13."""
    model = MultiViewLVM(GaussianLatent(normal((30, 2), generator), 0.3), [fixed_view(generator)])
    values, drawn = [0.0, 2.0] * 10, []

    def alternate(views, generator):
        drawn.append(values[len(drawn)])
        return Elbo({"view": torch.tensor(drawn[-1])}, torch.zeros(())), states_of(views)

    monkeypatch.setattr(model, "elbo", alternate)
    monkeypatch.setattr(defaults, "BOUND_PRECISION", 0.3 / 90)
    views = model_views(model, [normal((30, 3), generator)])
    estimate = expected_bound(model, views, generator, n_entries=90)
    precise = [n for n in range(4, 21) if statistics.stdev(values[:n]) / n**0.5 <= 0.3]
    assert len(drawn) == precise[0] == 13
    assert estimate == statistics.fmean(drawn)


@torch.no_grad()
def test_gram_of_certain_latents_estimates_the_kernel(generator):
    view, latent = make_view_and_latent(generator, std=1e-9)
    draws = torch.stack([learned_gram(view, latent, 1, generator) for _ in range(1000)])
    assert_mean(draws, ngsm_kernel(latent.mean, latent.mean, view.mixture.density()))


@torch.no_grad()
def test_off_diagonal_gram_of_uncertain_latents_is_that_of_expected_features(generator):
    view, latent = fixed_view(generator), GaussianLatent(normal((4, 2), generator), 0.8)
    draws = torch.stack([learned_gram(view, latent, 1, generator) for _ in range(2000)])
    # rows are independent, so the expectation of their product is the product of their expectations
    Phi = view.draw_features(generator).expectation(latent.mean, latent.std)
    row, column = torch.triu_indices(4, 4, offset=1)
    assert_mean(draws[:, row, column], (Phi @ Phi.T)[row, column])


@torch.no_grad()
def test_gram_is_averaged_over_draws(generator):
    view, latent = make_view_and_latent(generator, std=0.5)
    together, one_by_one = (torch.Generator().manual_seed(5) for _ in range(2))
    averaged = learned_gram(view, latent, 3, together)
    singles = torch.stack([learned_gram(view, latent, 1, one_by_one) for _ in range(3)])
    torch.testing.assert_close(averaged, singles.mean(dim=0), rtol=1e-12, atol=1e-14)


@torch.no_grad()
def test_constant_feature_is_not_part_of_the_kernel(generator):
    mixture, latent = SpectralMixture(2, 2, generator), GaussianLatent(normal((4, 2), generator), 0.5)
    view = VariationalView("view", mixture, Poisson(), n_points=200, generator=generator).double()
    gram = learned_gram(view, latent, 1, generator)
    # without the constant feature, entries are at most k(0, 0), the sum of the mixture weights
    assert gram.abs().max() <= mixture.density().alpha.sum() + 1e-9


def test_a_dimension_is_used_if_its_share_in_one_view_exceeds_the_minimum(generator):
    Z = normal((50, 4), generator)
    X = torch.linalg.qr(Z - Z.mean(dim=0)).Q * 50**0.5
    shares = torch.tensor(
        [[0.9, 0.0, 2 * MIN_SHARE, 0.5 * MIN_SHARE], [0.0, 0.9, 0.0, 0.5 * MIN_SHARE]]
    )  # of a total of about one
    functions, views = {}, {}
    for name, share in zip("ab", shares.double(), strict=True):
        W = torch.diag(share.sqrt())
        functions[name] = lambda mean, std, W=W: mean @ W
        views[name] = ModelView(fixed_view(generator), ViewData.from_array(X @ W))
    assert used_dimensions(functions, GaussianLatent(X, 0.1), views).tolist() == [True, True, True, False]


def test_one_dimension_is_kept_if_none_is_used(generator):
    X, Y = normal((50, 3), generator), normal((50, 2), generator)
    views = {"a": ModelView(fixed_view(generator), ViewData.from_array(Y))}
    used = used_dimensions({"a": lambda mean, std: torch.zeros_like(Y)}, GaussianLatent(X, 0.1), views)
    assert used.sum() == 1


def test_parameters_of_kept_dimensions_are_unchanged(generator):
    initial, kept = normal((6, 4), generator), torch.tensor([True, False, True, True])
    dimensions = Dimensions(3, {"b": 1})
    mixtures = {"a": ViewPlan("ngsm", 2, Gaussian(0.1)), "b": ViewPlan("sm", 3, Gaussian(0.1))}
    model = build_model(initial, mixtures, n_points=3, generator=generator, dimensions=dimensions)
    before = [view.mixture.density() for view in model.views]
    keep_dimensions(model, kept)
    assert torch.equal(model.latent.mean, initial[:, kept])
    assert model.latent.std.shape == (6, 3)
    for view, old in zip(model.views, before, strict=True):
        new = view.mixture.density()
        for name, values in vars(old).items():
            assert torch.equal(getattr(new, name), values[:, kept] if values.ndim > 1 else values)
        assert view.draw_features(generator)(model.latent.mean).shape[0] == 6
    assert all(parameter.requires_grad and parameter.is_leaf for parameter in model.parameters())


def test_explained_variance_of_a_dimension_never_exceeds_the_total():
    shares = ExplainedVariance(0.3, torch.tensor([1.6, 0.1, -0.2], dtype=torch.float64))
    assert shares.per_dimension().tolist() == [0.3, 0.1, -0.2]


def test_reported_shares_of_dimensions_are_bounded_by_the_explained_variance():
    """Without one of the interacting dimensions the reconstruction is worse than the column means."""
    data = load("shared-private", n_samples=80, n_features=8, random_state=0)
    est = NGMVLVM(n_components=3, max_iter=100, tol=0.0, n_points=10, random_state=0).fit(data)
    total = np.array(list(est.explained_variance_.values()))[:, None]
    assert (est.explained_variance_per_dimension_ <= total).all()
    assert (est.explained_variance_per_dimension_ > 0).any()
