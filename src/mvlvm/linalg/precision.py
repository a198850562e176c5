"""Products in lower precision, where nothing is lost by it."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def tf32_products(device: torch.device) -> Iterator[None]:
    """Let float32 products of a GPU round their factors to TF32, eleven bits, inside this block alone."""
    if device.type != "cuda":
        yield
        return
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
