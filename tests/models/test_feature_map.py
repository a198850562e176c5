import torch

from mvlvm.models.feature_map import FeatureMap
from mvlvm.spectral import SpectralPoints
from tests.mixtures import draw_points, normal, random_mixture
from tests.monte_carlo import assert_mean
from tests.oracles import printed_features


def test_map_gives_the_printed_features_of_its_points(generator):
    density, X = random_mixture(2, 2, generator), normal((5, 2), generator)
    points = draw_points(density, 6, generator)
    Phi = FeatureMap(points, density.alpha)(X)
    printed = printed_features(X.numpy(), points.w1.numpy(), points.w2.numpy(), density.alpha.numpy())
    torch.testing.assert_close(Phi @ Phi.T, torch.as_tensor(printed @ printed.T), rtol=0.0, atol=1e-12)


def test_expectation_is_the_mean_of_the_map_over_latents(generator):
    density = random_mixture(2, 2, generator)
    features = FeatureMap(draw_points(density, 6, generator), density.alpha)
    mean, std = normal((5, 2), generator), torch.full((5, 2), 0.5, dtype=torch.float64)
    draws = torch.stack([features(mean + std * normal((5, 2), generator)) for _ in range(2000)])
    assert_mean(draws, features.expectation(mean, std))


def test_slopes_are_those_of_automatic_differentiation(generator):
    density, X = random_mixture(2, 2, generator), normal((5, 2), generator)
    features = FeatureMap(draw_points(density, 6, generator), density.alpha)
    expected = torch.autograd.functional.jacobian(lambda Z: features(Z).sum(dim=0), X).permute(2, 1, 0)
    Phi, slopes = features.with_slopes(X)
    torch.testing.assert_close(Phi, features(X), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(slopes, expected, rtol=1e-12, atol=1e-12)


def test_doubled_map_is_the_same_map_of_latents_in_double(generator):
    density, X = random_mixture(2, 2, generator), normal((5, 2), generator)
    points = SpectralPoints(*(w.float() for w in draw_points(density, 6, generator)))
    features = FeatureMap(points, density.alpha.float())
    doubled = features.double()
    same_points = points.w1.numpy().astype(float), points.w2.numpy().astype(float)
    printed = printed_features(X.numpy(), *same_points, features.alpha.numpy().astype(float))
    Phi = doubled(X)
    torch.testing.assert_close(Phi @ Phi.T, torch.as_tensor(printed @ printed.T), rtol=0.0, atol=1e-12)
    assert features.points.w1.dtype == torch.float32


def test_constant_feature_comes_last_and_has_no_slope(generator):
    density, X = random_mixture(2, 2, generator), normal((5, 2), generator)
    points = draw_points(density, 6, generator)
    plain, with_constant = FeatureMap(points, density.alpha), FeatureMap(points, density.alpha, constant=3.0)
    std = torch.full((5, 2), 0.5, dtype=torch.float64)
    (Phi, slopes), (plain_Phi, plain_slopes) = with_constant.with_slopes(X), plain.with_slopes(X)
    for got, expected, last in (
        (with_constant(X), plain(X), 3.0),
        (with_constant.double()(X), plain(X), 3.0),
        (with_constant.expectation(X, std), plain.expectation(X, std), 3.0),
        (Phi, plain_Phi, 3.0),
        (slopes, plain_slopes, 0.0),
    ):
        assert torch.equal(got[..., :-1], expected)
        assert (got[..., -1] == last).all()
