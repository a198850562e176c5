import numpy as np
import pytest
import torch

from mvlvm.linalg.cuda import Workspace
from mvlvm.spectral import SpectralPoints, random_features
from mvlvm.spectral.blocks import feature_block, features_vjp, stack_frequencies
from mvlvm.spectral.features import Frequencies, envelope_form
from tests.mixtures import draw_points, normal, random_mixture
from tests.oracles import printed_features


@pytest.fixture(params=[False, True], ids=["bivariate", "tied"])
def points(request, generator):
    drawn = draw_points(random_mixture(2, 3, generator), 5, generator)
    return SpectralPoints(drawn.w1, drawn.w1) if request.param else drawn


ALPHA = torch.tensor([0.3, 0.9], dtype=torch.float64)


def test_feature_block_has_the_gram_matrix_of_the_printed_features(points, generator):
    X = normal((7, 3), generator)
    Phi = feature_block(X, envelope_form(points, ALPHA), with_grad=False).Phi.numpy()
    printed = printed_features(X.numpy(), points.w1.numpy(), points.w2.numpy(), ALPHA.numpy())
    np.testing.assert_allclose(Phi @ Phi.T, printed @ printed.T, rtol=0.0, atol=1e-12)


def test_tied_points_have_no_envelope(generator):
    drawn = draw_points(random_mixture(2, 3, generator), 5, generator)
    assert envelope_form(SpectralPoints(drawn.w1, drawn.w1), ALPHA).envelope is None
    assert envelope_form(drawn, ALPHA).envelope is not None


@pytest.mark.parametrize("scaled", [False, True], ids=["unweighted rows", "weighted rows"])
def test_feature_block_matches_random_features(points, scaled, generator):
    X = normal((7, 3), generator)
    scale = normal((7,), generator).abs() if scaled else None
    block = feature_block(X, envelope_form(points, ALPHA), with_grad=True, row_scale=scale)
    expected = random_features(X, points, ALPHA) * (1.0 if scale is None else scale[:, None])
    torch.testing.assert_close(block.Phi, expected, rtol=1e-12, atol=1e-14)
    assert torch.equal(block.as_float64(Workspace()), block.Phi)


@pytest.mark.parametrize("scaled", [False, True], ids=["unweighted rows", "weighted rows"])
def test_vector_jacobian_product_matches_autograd(points, scaled, generator):
    X, G = normal((7, 3), generator).requires_grad_(), normal((7, 20), generator)
    scale = normal((7,), generator).abs() if scaled else None
    frequencies = Frequencies(
        *(part if part is None else part.requires_grad_() for part in envelope_form(points, ALPHA))
    )
    envelope = frequencies.amplitude if scale is None else frequencies.amplitude * scale[:, None]
    if frequencies.envelope is not None:
        envelope = envelope * torch.cos(X @ frequencies.envelope.T)
    phase = X @ frequencies.carrier.T
    Phi = torch.cat([envelope * torch.cos(phase), envelope * torch.sin(phase)], dim=1)
    inputs = [X, *(part for part in frequencies if part is not None)]
    grad_X, *grad_frequencies, grad_amplitude = torch.autograd.grad((Phi * G).sum(), inputs)

    with torch.no_grad():
        block = feature_block(X, frequencies, with_grad=True, row_scale=scale)
        ours, gradients = features_vjp(block, G, X, frequencies)
    torch.testing.assert_close(ours, grad_X, rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(gradients.frequencies, torch.cat(grad_frequencies), rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(gradients.amplitude, grad_amplitude, rtol=1e-11, atol=1e-13)
    assert stack_frequencies(frequencies).shape == gradients.frequencies.shape
