"""Products and functions agree with torch's in float64, and the choice of the implementation is a fixed rule."""

import pytest
import torch

from mvlvm.linalg import cpu_arithmetic
from mvlvm.linalg.cpu_arithmetic import Arithmetic, choose_arithmetic

KINDS = [Arithmetic("torch", "torch"), Arithmetic("torch", "numpy"), choose_arithmetic("auto")]


@pytest.mark.parametrize("arithmetic", KINDS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(3, 5, 7), (64, 90, 1000), (1, 1, 1), (200, 296, 33)], ids=str)
def test_products_are_accurate_whatever_the_layout_of_the_second_factor(arithmetic, dtype, shape, generator):
    n, m, k = shape
    A, B = (torch.randn(size, generator=generator, dtype=torch.float64) for size in ((n, k), (m, k)))
    expected, scale = A @ B.T, A.norm(dim=1)[:, None] * B.norm(dim=1)
    for right in (B, B.T.contiguous().T):
        product = arithmetic.product(A.to(dtype), right.to(dtype))
        assert product.dtype == dtype
        assert ((product - expected).abs() <= 8 * torch.finfo(dtype).eps * scale).all()


@pytest.mark.parametrize("arithmetic", KINDS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_functions_are_accurate_for_small_and_large_arguments(arithmetic, dtype, generator):
    x = (torch.randn((40, 50), generator=generator, dtype=torch.float64) * torch.logspace(-3, 3, 50)).to(dtype)
    for ours, reference in ((arithmetic.cos, torch.cos), (arithmetic.sin, torch.sin)):
        out = torch.empty_like(x)
        assert ours(x, out=out) is out
        torch.testing.assert_close(out.double(), reference(x.double()), rtol=0.0, atol=4 * torch.finfo(dtype).eps)
        in_place = x.clone()
        assert torch.equal(ours(in_place, out=in_place), out)


def test_the_choice_depends_on_processor_version_and_threads(monkeypatch):
    monkeypatch.setattr(cpu_arithmetic, "_is_amd", lambda: False)
    assert choose_arithmetic("auto").products == "torch"
    monkeypatch.setattr(cpu_arithmetic, "_is_amd", lambda: True)
    monkeypatch.setattr(cpu_arithmetic, "_onednn_operator", lambda: torch.mm)
    assert choose_arithmetic("auto").products == "onednn"
    assert choose_arithmetic("torch").products == "torch"
    monkeypatch.setattr(cpu_arithmetic, "_onednn_operator", lambda: None)
    assert choose_arithmetic("auto").products == "torch"
    with pytest.raises(ValueError, match="oneDNN products are not available in torch .* Use 'auto' or 'torch'"):
        choose_arithmetic("onednn")
    for threads, functions in ((1, "numpy"), (16, "torch")):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        assert choose_arithmetic("torch").functions == functions


def test_an_operator_with_another_contract_is_not_used(monkeypatch):
    class Operator:
        @staticmethod
        def default(A, B, *_):
            return A @ B  # not A B'

    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", Operator, raising=False)
    assert cpu_arithmetic._onednn_operator.__wrapped__() is None
    monkeypatch.setattr(Operator, "default", staticmethod(lambda A, B, *_: A @ B.T))
    assert cpu_arithmetic._onednn_operator.__wrapped__() is Operator.default
