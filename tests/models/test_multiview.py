import copy

import pytest
import torch

from mvlvm import defaults
from mvlvm.errors import NumericalError
from mvlvm.likelihoods import Gaussian
from mvlvm.models.data import ViewData
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import Dimensions, MultiViewLVM, ViewPlan, build_model
from mvlvm.models.spectral_mixture import SpectralMixture, kernel_name
from tests.mixtures import normal
from tests.models.evidence import evaluate
from tests.models.fixed_features import fixed_view
from tests.models.model_views import gaussian_view, model_views

WIDTHS = (3, 5)
DIMENSIONS = Dimensions(2, {"rna": 1, "image": 2})


def fixed_model(generator, n_views=2):
    views = [fixed_view(generator, name=f"view {i}") for i in range(n_views)]
    return MultiViewLVM(GaussianLatent(normal((15, 2), generator), 0.5), views)


def random_feature_model(generator):
    views = [gaussian_view(f"view {i}", SpectralMixture(2, 2, generator), n_points=5) for i in range(2)]
    return MultiViewLVM(GaussianLatent(normal((15, 2), generator), 0.5), views).double()


def random_views(generator, widths=WIDTHS):
    return [ViewData.from_array(normal((15, M), generator)) for M in widths]


def elbo(model, data, generator, *, weights=None, n_draws=1):
    return model.elbo(model_views(model, data, weights=weights), generator, n_draws=n_draws)[0]


def seeded(seed=5):
    return torch.Generator().manual_seed(seed)


def test_all_views_share_one_draw_of_the_latent(generator):
    model = fixed_model(generator, n_views=3)
    elbo(model, random_views(generator, (2, 3, 4)), generator, n_draws=2)
    first, *others = [view.mixture.map.evaluated_at for view in model.views]
    assert len(first) == 2
    assert not torch.equal(first[0], first[1])
    assert all(X is shared for latents in others for X, shared in zip(latents, first, strict=True))


def test_identical_views_have_identical_evidence(generator):
    view = fixed_view(generator, name="one")
    other = copy.deepcopy(view)
    other.name = "other"
    model = MultiViewLVM(GaussianLatent(normal((15, 2), generator), 0.5), [view, other])
    Y = ViewData.from_array(normal((15, 3), generator))
    evidence = elbo(model, [Y, Y], generator).evidence
    assert evidence["one"] == evidence["other"]


def test_bound_is_the_sum_of_the_evidences_minus_the_kl_divergence(generator):
    model, Ys = fixed_model(generator), random_views(generator)
    bound = elbo(model, Ys, seeded())
    X = model.latent.sample(seeded())
    evidences = [evaluate(view, Y, X, seeded())[0] for view, Y in zip(model.views, Ys, strict=True)]
    torch.testing.assert_close(list(bound.evidence.values()), evidences, rtol=1e-12, atol=0.0)
    torch.testing.assert_close(bound.reconstruction, sum(evidences), rtol=1e-12, atol=0.0)
    torch.testing.assert_close(bound.value, sum(evidences) - model.latent.kl(), rtol=1e-12, atol=0.0)


def test_bound_is_averaged_over_draws(generator):
    model, Ys = random_feature_model(generator), random_views(generator)
    together, one_by_one = seeded(), seeded()
    averaged = elbo(model, Ys, together, n_draws=3)
    singles = [elbo(model, Ys, one_by_one).evidence for _ in range(3)]
    for name, evidence in averaged.evidence.items():
        mean = torch.stack([single[name] for single in singles]).mean()
        torch.testing.assert_close(evidence, mean, rtol=1e-12, atol=0.0)
    torch.testing.assert_close(averaged.latent_kl, model.latent.kl(), rtol=0.0, atol=0.0)


def test_a_view_of_weight_zero_learns_without_influencing_the_latents(generator):
    model, data = random_feature_model(generator), random_views(generator)
    elbo(model, data, generator, weights=[1.0, 0.0]).evidence["view 1"].backward()
    assert model.latent.mean.grad.abs().max() == 0
    assert model.views[1].mixture.mu1.grad.abs().max() > 0


def test_bound_has_a_gradient_with_respect_to_every_parameter(generator):
    model, Ys = random_feature_model(generator), random_views(generator)
    elbo(model, Ys, generator).value.backward()
    assert all(parameter.grad.abs().min() > 0 for parameter in model.parameters())


def test_numerical_failure_names_the_view(generator):
    model, Ys = fixed_model(generator), random_views(generator)
    with torch.no_grad():
        model.views[1].likelihood.raw_noise_variance.fill_(float("nan"))
    with pytest.raises(NumericalError, match="View 'view 1'"):
        elbo(model, Ys, generator)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_model_has_the_requested_parts_in_the_precision_of_the_initial_latents(dtype, generator):
    initial = normal((6, 3), generator).to(dtype)
    model = build_model(
        initial,
        {"rna": ViewPlan("ngsm", 2, Gaussian(0.1)), "protein": ViewPlan("sm", 4, Gaussian(0.1))},
        n_points=7,
        generator=generator,
    )
    parts = [
        (view.name, kernel_name(view.mixture), len(view.mixture.density().alpha), view.n_points) for view in model.views
    ]
    assert parts == [("rna", "ngsm", 2, 7), ("protein", "sm", 4, 7)]
    assert {parameter.dtype for parameter in model.parameters()} == {dtype}
    assert torch.equal(model.latent.mean, initial)


def test_initial_noise_variance_and_latent_std_are_the_defaults(generator):
    model = build_model(
        normal((6, 3), generator), {"rna": ViewPlan("ngsm", 2, Gaussian(0.1))}, n_points=7, generator=generator
    )
    assert model.views[0].likelihood.noise_variance.item() == pytest.approx(defaults.INITIAL_NOISE_VARIANCE, rel=1e-6)
    assert model.latent.std.max().item() == pytest.approx(defaults.INITIAL_LATENT_STD, rel=1e-6)


def test_shared_dimensions_come_before_private_ones():
    assert DIMENSIONS.total == 5
    assert DIMENSIONS.names() == ["x0", "x1", "rna:0", "image:0", "image:1"]
    assert DIMENSIONS.used_by("rna").tolist() == [True, True, True, False, False]
    assert DIMENSIONS.used_by("image").tolist() == [True, True, False, True, True]
    assert DIMENSIONS.used_by("text").tolist() == [True, True, False, False, False]


@torch.no_grad()
def test_features_of_a_view_are_constant_along_unused_dimensions(generator):
    mixtures = {
        "rna": ViewPlan("ngsm", 2, Gaussian(0.1)),
        "image": ViewPlan("sm", 3, Gaussian(0.1)),
        "text": ViewPlan("ngsm", 1, Gaussian(0.1)),
    }
    model = build_model(normal((6, 5), generator), mixtures, n_points=4, generator=generator, dimensions=DIMENSIONS)
    X = normal((6, 5), generator)
    for view in model.views:
        features = view.draw_features(generator)
        for d, used in enumerate(DIMENSIONS.used_by(view.name).tolist()):
            moved = X.clone()
            moved[:, d] += 1.0
            change = (features(moved) - features(X)).abs().max().item()
            assert (change > 0.01) if used else (change == 0)
            derivative = features.with_jacobian(X)[1][:, d].abs().max().item()
            assert (derivative > 0.01) if used else (derivative == 0)
            std = torch.full_like(X, 0.1)
            wider = std.clone()
            wider[:, d] = 2.0
            change = (features.expectation(X, wider) - features.expectation(X, std)).abs().max().item()
            assert (change > 0.01) if used else (change == 0)
