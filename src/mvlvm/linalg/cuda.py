"""CUDA graph capture, concurrent streams, and reusable work memory.

While a CUDA graph is being captured, no value can be read and no decision can depend on one. Independent computations
that are captured on separate streams run concurrently when the graph is replayed.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


def is_capturing(device: torch.device) -> bool:
    """Return whether the current stream of a device is capturing a CUDA graph."""
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()


def run_concurrently(calls: Sequence[Callable[[], T]], device: torch.device) -> list[T]:
    """Return the results of all calls; during CUDA graph capture each call runs on its own stream.

    Small factorisations leave most of a GPU idle, so those of several views fit on it at the same time.

    Args:
        calls: independent computations without arguments.
        device: the device on which they run.

    Returns:
        One result per call, in the order of the calls.
    """
    if not is_capturing(device):
        return [call() for call in calls]
    main = torch.cuda.current_stream(device)
    results, streams = [], [torch.cuda.Stream(device) for _ in calls]
    for call, stream in zip(calls, streams, strict=True):
        stream.wait_stream(main)
        with torch.cuda.stream(stream):
            results.append(call())
    for stream in streams:
        main.wait_stream(stream)
    return results


class Workspace:
    """Named buffers that are allocated once and reused; a buffer is valid until its name is taken again.

    On a CPU the operating system maps new memory page by page on first write, which takes ten times as long as a pass
    over the memory. On a GPU torch's caching allocator already reuses memory, so fresh tensors are returned.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, Tensor] = {}

    def take(self, name: str, shape: tuple[int, ...], like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """Return an uninitialised array.

        Args:
            name: the name of the buffer; arrays that are needed at the same time need different names.
            shape: the shape of the array.
            like: a tensor on the required device.
            dtype: the dtype of the array; None uses that of `like`.
        """
        dtype = dtype or like.dtype
        if like.is_cuda:
            return like.new_empty(shape, dtype=dtype)
        size, buffer = prod(shape), self._buffers.get(name)
        if buffer is None or buffer.numel() < size or buffer.dtype != dtype:
            buffer = self._buffers[name] = like.new_empty(size, dtype=dtype)
        return buffer[:size].view(shape)
