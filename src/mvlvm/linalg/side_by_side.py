"""Independent computations side by side on a GPU."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from mvlvm.linalg.capturing import is_capturing


def side_by_side(calls: Sequence[Callable[[], Tensor]], device: torch.device) -> list[Tensor]:
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
