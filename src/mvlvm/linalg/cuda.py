"""Whether a computation is being recorded for a GPU to repeat, when nothing can be looked at or decided.

Independent computations side by side on a GPU.

Memory that is asked for once, and used again for every block of rows and every step.
"""

from collections.abc import Callable, Sequence
from math import prod

import torch
from torch import Tensor


def is_capturing(device: torch.device) -> bool:
    """Tell whether the current stream of a device records what it is given (CUDA graphs)."""
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()


def run_concurrently(calls: Sequence[Callable[[], Tensor]], device: torch.device) -> list[Tensor]:
    """Give the results of all calls. While a GPU records, each gets a stream of its own, so that they run in parallel.

    Small factorisations leave most of a GPU idle; those of several views fit beside each other.
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
