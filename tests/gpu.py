"""The marker of tests that run on a GPU."""

import pytest
import torch

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="requires a CUDA GPU")
