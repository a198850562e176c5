"""Whether a computation is being recorded for a GPU to repeat, when nothing can be looked at or decided."""

import torch


def is_capturing(device: torch.device) -> bool:
    """Tell whether the current stream of a device records what it is given (CUDA graphs)."""
    return device.type == "cuda" and torch.cuda.is_current_stream_capturing()
