import torch

from mvlvm.models.feature_map import FeatureMap
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
