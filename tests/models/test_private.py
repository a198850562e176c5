import torch

from mvlvm.models.building import ViewPlan, build_model
from mvlvm.models.private import Dimensions
from tests.mixtures import normal

DIMENSIONS = Dimensions(2, {"rna": 1, "image": 2})


def test_shared_dimensions_come_first_and_then_every_views_own():
    assert DIMENSIONS.total == 5
    assert DIMENSIONS.names() == ["x0", "x1", "rna:0", "image:0", "image:1"]
    assert DIMENSIONS.seen_by("rna").tolist() == [True, True, True, False, False]
    assert DIMENSIONS.seen_by("image").tolist() == [True, True, False, True, True]
    assert DIMENSIONS.seen_by("text").tolist() == [True, True, False, False, False]


@torch.no_grad()
def test_features_of_a_view_do_not_change_along_what_it_does_not_see(generator):
    mixtures = {"rna": ViewPlan("ngsm", 2), "image": ViewPlan("sm", 3), "text": ViewPlan("ngsm", 1)}
    model = build_model(normal((6, 5), generator), mixtures, n_points=4, generator=generator, dimensions=DIMENSIONS)
    X = normal((6, 5), generator)
    for view in model.feature_views:
        features = view.draw_features(generator)
        for d, seen in enumerate(DIMENSIONS.seen_by(view.name).tolist()):
            moved = X.clone()
            moved[:, d] += 1.0
            change = (features(moved) - features(X)).abs().max().item()
            assert (change > 0.01) if seen else (change == 0)
            slope = features.with_slopes(X)[1][d].abs().max().item()
            assert (slope > 0.01) if seen else (slope == 0)
            std = torch.full_like(X, 0.1)
            wider = std.clone()
            wider[:, d] = 2.0
            change = (features.expectation(X, wider) - features.expectation(X, std)).abs().max().item()
            assert (change > 0.01) if seen else (change == 0)
