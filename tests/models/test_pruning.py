import torch

from mvlvm.models.building import ViewPlan, build_model
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.observed import ObservedView
from mvlvm.models.private import Dimensions
from mvlvm.models.pruning import LEAST_SHARE, keep_dimensions, used_dimensions
from tests.mixtures import normal


def test_a_dimension_is_used_if_one_view_loses_a_fiftieth_without_it(generator):
    Z = normal((50, 4), generator)
    X = torch.linalg.qr(Z - Z.mean(dim=0)).Q * 50**0.5
    shares = torch.tensor(
        [[0.9, 0.0, 2 * LEAST_SHARE, 0.5 * LEAST_SHARE], [0.0, 0.9, 0.0, 0.5 * LEAST_SHARE]]
    )  # of about one
    functions, views = [], []
    for share in shares.double():
        W = torch.diag(share.sqrt())
        functions.append(lambda mean, std, W=W: mean @ W)
        views.append(ObservedView(X @ W))
    assert used_dimensions(functions, GaussianLatent(X, 0.1), views).tolist() == [True, True, True, False]


def test_one_dimension_stays_where_none_is_used(generator):
    X, Y = normal((50, 3), generator), normal((50, 2), generator)
    used = used_dimensions([lambda mean, std: torch.zeros_like(Y)], GaussianLatent(X, 0.1), [ObservedView(Y)])
    assert used.sum() == 1


def test_what_is_kept_stays_as_it_was(generator):
    start, kept = normal((6, 4), generator), torch.tensor([True, False, True, True])
    dimensions = Dimensions(3, {"b": 1})
    mixtures = {"a": ViewPlan("ngsm", 2), "b": ViewPlan("sm", 3)}
    model = build_model(start, mixtures, n_points=3, generator=generator, dimensions=dimensions)
    before = [view.mixture.density() for view in model.feature_views]
    keep_dimensions(model, kept)
    assert torch.equal(model.latent.mean, start[:, kept])
    assert model.latent.std.shape == (6, 3)
    for view, old in zip(model.feature_views, before, strict=True):
        new = view.mixture.density()
        for name, values in vars(old).items():
            assert torch.equal(getattr(new, name), values[:, kept] if values.ndim > 1 else values)
        assert view.draw_features(generator)(model.latent.mean).shape[0] == 6
    assert all(parameter.requires_grad and parameter.is_leaf for parameter in model.parameters())
