import pytest
import torch

from mvlvm.linalg.cuda import Workspace
from mvlvm.spectral.blocks import feature_block, features_vjp
from mvlvm.spectral.features import Frequencies
from tests.gpu import GPU_MARKS

pytestmark = GPU_MARKS


def on(device, values):
    return None if values is None else values.to(device)


@pytest.mark.parametrize("N", [1, 63, 64, 1000, 20_001])
@pytest.mark.parametrize("D", [1, 2, 5])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_fused_kernels_match_the_unfused_computation(N, D, tied, weighted, generator):
    K = 37
    X = torch.randn((D, N), generator=generator).T
    scale = torch.rand(N, generator=generator) if weighted else None
    frequencies = Frequencies(
        3 * torch.randn((K, D), generator=generator), None if tied else torch.randn((K, D), generator=generator),
        torch.rand(K, generator=generator),
    )  # fmt: skip
    G = torch.randn((2 * K, N), generator=generator).T
    there = Frequencies(*(on("cuda", part) for part in frequencies))
    block = feature_block(X.double(), Frequencies(*(None if p is None else p.double() for p in frequencies)),
                          with_grad=True, row_scale=None if scale is None else scale.double())  # fmt: skip
    fused = feature_block(X.cuda(), there, with_grad=True, row_scale=on("cuda", scale))
    torch.testing.assert_close(fused.Phi.cpu().double(), block.Phi, rtol=0.0, atol=2e-5)
    torch.testing.assert_close(fused.as_float64(Workspace()), fused.Phi.double(), rtol=0.0, atol=0.0)

    doubles = Frequencies(*(None if p is None else p.double() for p in frequencies))
    grad_X, gradients = features_vjp(block, G.double(), X.double(), doubles)
    fused_grad_X, fused_gradients = features_vjp(fused, G.cuda(), X.cuda(), there)
    for ours, expected in zip((fused_grad_X, *fused_gradients), (grad_X, *gradients), strict=True):
        difference = torch.linalg.vector_norm(ours.cpu().double() - expected)
        assert difference <= 1e-5 * torch.linalg.vector_norm(expected)


def test_large_phases_are_accurate_to_float32(generator):
    X = 1000 * torch.randn((1, 5000), generator=generator).T
    frequencies = Frequencies(torch.ones(1, 1), None, torch.ones(1))
    Phi = feature_block(X.cuda(), Frequencies(*(on("cuda", p) for p in frequencies)), with_grad=False).Phi.cpu()
    expected = torch.cat([X.double().cos(), X.double().sin()], dim=1)
    torch.testing.assert_close(Phi.double(), expected, rtol=0.0, atol=1e-6)
