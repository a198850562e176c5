"""Memory that is asked for once, and used again for every block of rows and every step."""

from math import prod

import torch
from torch import Tensor


class Workspace:
    """Arrays by name, whose contents last until the same name is taken again.

    A processor gets fresh memory page by page as it is first written to, which takes ten times as long as a pass over
    it; a GPU's memory is kept by torch itself.
    """

    def __init__(self) -> None:
        self._held: dict[str, Tensor] = {}

    def take(self, name: str, shape: tuple[int, ...], like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """Give an array that holds anything.

        Args:
            name: what it is for; two arrays that are needed at the same time have two names.
            shape: its shape.
            like: a tensor on the device where it is to be.
            dtype: of its numbers; None is that of `like`.
        """
        dtype = dtype or like.dtype
        if like.is_cuda:
            return like.new_empty(shape, dtype=dtype)
        size, held = prod(shape), self._held.get(name)
        if held is None or held.numel() < size or held.dtype != dtype:
            held = self._held[name] = like.new_empty(size, dtype=dtype)
        return held[:size].view(shape)
