"""The marker of tests that run on a GPU; all others run on the CPU, also where there is a GPU (`conftest.py`)."""

import pytest
import torch

HAS_GPU = torch.cuda.is_available()
# For `pytestmark` of a module.
GPU_MARKS = [pytest.mark.gpu, pytest.mark.skipif(not HAS_GPU, reason="requires a CUDA GPU")]


def needs_gpu(test):
    """Mark a test that runs on a GPU."""
    for mark in GPU_MARKS:
        test = mark(test)
    return test
