import pytest
import torch

from mvlvm import defaults
from mvlvm.models.building import ViewPlan, build_model
from mvlvm.models.spectral_mixture import kernel_name
from tests.mixtures import normal


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_model_has_what_was_asked_for_in_the_precision_of_the_start(dtype, generator):
    start = normal((6, 3), generator).to(dtype)
    model = build_model(
        start, {"rna": ViewPlan("ngsm", 2), "protein": ViewPlan("sm", 4)}, n_points=7, generator=generator
    )
    asked = [
        (view.name, kernel_name(view.mixture), len(view.mixture.density().alpha), view.n_points)
        for view in model.feature_views
    ]
    assert asked == [("rna", "ngsm", 2, 7), ("protein", "sm", 4, 7)]
    assert {parameter.dtype for parameter in model.parameters()} == {dtype}
    assert torch.equal(model.latent.mean, start)


def test_model_starts_at_the_documented_noise_and_spread(generator):
    model = build_model(normal((6, 3), generator), {"rna": ViewPlan("ngsm", 2)}, n_points=7, generator=generator)
    assert model.feature_views[0].noise_variance.item() == pytest.approx(defaults.START_NOISE_VARIANCE, rel=1e-6)
    assert model.latent.std.max().item() == pytest.approx(defaults.START_LATENT_STD, rel=1e-6)
