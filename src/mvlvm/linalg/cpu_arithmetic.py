"""Implementations of float32 matrix products and trigonometric functions on a CPU.

torch multiplies matrices with MKL, which uses half of what recent AMD processors can do: 113 instead of 255 GFLOP/s on
one core of an EPYC 9005. oneDNN, which is part of torch too, has kernels for them, but is reached only through an
operator of torch's compiler. numpy's cosine and sine take a third of the time of torch's, on one thread.

The choice depends on the processor, the version of torch and the number of threads, never on a measurement of time: the
same choice gives the same bits. Without a suitable processor or operator it is torch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

TORCH, ONEDNN = "torch", "onednn"
# Values of the option that selects the implementation of products.
PRODUCTS = ("auto", TORCH, ONEDNN)
# Up to this number of threads, numpy's functions on one thread are faster than torch's on all of them.
_MAX_THREADS_NUMPY = 3
# Relative error of a float32 product over this many terms that is far beyond rounding.
_CHECK_SIZE, _CHECK_TOLERANCE = 32, 1e-5


@dataclass(frozen=True)
class Arithmetic:
    """How float32 products and functions are computed on a CPU; everything else is computed by torch.

    Attributes:
        products: "torch" or "onednn".
        functions: "torch" or "numpy".
    """

    products: str = TORCH
    functions: str = TORCH

    def product(self, A: Float[Tensor, "n k"], B: Float[Tensor, "m k"]) -> Float[Tensor, "n m"]:
        """Return A B', n x m; A is contiguous, and B or its transpose is."""
        if self.products == ONEDNN and A.dtype == torch.float32:
            operator = _onednn_operator()
            assert operator is not None  # `choose_arithmetic` has checked it
            return operator(A, B, None, "none", [], "")
        return torch.mm(A, B.T)

    def cos(self, x: Float[Tensor, "*s"], out: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
        """Write the cosines of x to `out`, which may be x."""
        if self.functions == "numpy":
            np.cos(x.numpy(), out=out.numpy())
            return out
        return torch.cos(x, out=out)

    def sin(self, x: Float[Tensor, "*s"], out: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
        """Write the sines of x to `out`, which may be x."""
        if self.functions == "numpy":
            np.sin(x.numpy(), out=out.numpy())
            return out
        return torch.sin(x, out=out)


def choose_arithmetic(products: str = "auto") -> Arithmetic:
    """Return the implementations for this processor, version of torch and number of threads.

    Args:
        products: "auto", "torch" or "onednn".

    Raises:
        ValueError: oneDNN was asked for, and this version of torch does not offer it.
    """
    functions = "numpy" if torch.get_num_threads() <= _MAX_THREADS_NUMPY else TORCH
    if products == TORCH or (products == "auto" and not _is_amd()):
        return Arithmetic(TORCH, functions)
    if _onednn_operator() is None:
        if products == "auto":
            return Arithmetic(TORCH, functions)
        raise ValueError(
            f"oneDNN products are not available in torch {torch.__version__} on this machine. Use 'auto' or 'torch'."
        )
    return Arithmetic(ONEDNN, functions)


@cache
def _is_amd() -> bool:
    """Return whether this is an AMD processor with AVX-512, for which MKL has no kernels."""
    try:
        vendor = Path("/proc/cpuinfo").read_text()
    except OSError:  # not Linux
        return False
    return "AuthenticAMD" in vendor and torch.backends.cpu.get_cpu_capability() == "AVX512"


@cache
def _onednn_operator() -> Callable[..., Any] | None:
    """Return the operator A B' of oneDNN; None if this version of torch has none, or one with another contract."""
    generator = torch.Generator().manual_seed(0)
    A, B = (torch.randn((_CHECK_SIZE, _CHECK_SIZE), generator=generator) for _ in range(2))
    expected = A @ B.T
    try:
        operator = torch.ops.mkldnn._linear_pointwise.default
        products = [operator(A, right, None, "none", [], "") for right in (B, B.T.contiguous().T)]
    except (AttributeError, RuntimeError, TypeError):
        return None
    scale = _CHECK_TOLERANCE * expected.abs().max()
    return operator if all(((product - expected).abs() <= scale).all() for product in products) else None
