import pytest
import torch

from mvlvm.linalg.cuda import Workspace
from mvlvm.spectral.blocks import feature_block, features_vjp
from mvlvm.spectral.features import Frequencies
from tests.gpu import needs_gpu

pytestmark = needs_gpu


def on(device, values):
    return None if values is None else values.to(device)


@pytest.mark.parametrize("N", [1, 63, 64, 1000, 20_001])
@pytest.mark.parametrize("D", [1, 2, 5])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("weighed", [False, True])
def test_fused_kernels_compute_what_the_plain_ones_do(N, D, tied, weighed, generator):
    K = 37
    X = torch.randn((D, N), generator=generator).T
    scale = torch.rand(N, generator=generator) if weighed else None
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
    torch.testing.assert_close(fused.in_double(Workspace()), fused.Phi.double(), rtol=0.0, atol=0.0)

    doubles = Frequencies(*(None if p is None else p.double() for p in frequencies))
    grad_X, slopes = features_vjp(block, G.double(), X.double(), doubles)
    fused_grad_X, fused_slopes = features_vjp(fused, G.cuda(), X.cuda(), there)
    for ours, right in zip((fused_grad_X, *fused_slopes), (grad_X, *slopes), strict=True):
        difference = torch.linalg.vector_norm(ours.cpu().double() - right)
        assert difference <= 1e-5 * torch.linalg.vector_norm(right)


def test_angles_of_thousands_are_no_less_precise_than_float32_can_tell(generator):
    X = 1000 * torch.randn((1, 5000), generator=generator).T
    frequencies = Frequencies(torch.ones(1, 1), None, torch.ones(1))
    Phi = feature_block(X.cuda(), Frequencies(*(on("cuda", p) for p in frequencies)), with_grad=False).Phi.cpu()
    expected = torch.cat([X.double().cos(), X.double().sin()], dim=1)
    torch.testing.assert_close(Phi.double(), expected, rtol=0.0, atol=1e-6)
