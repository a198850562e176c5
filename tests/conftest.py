import os
import signal

import jaxtyping
import pytest
import torch
from threadpoolctl import threadpool_limits

from tests.gpu import HAS_GPU

# One thread is fastest on a busy machine with few cores, and makes the order of summation deterministic; also in the
# processes that tests start.
torch.set_num_threads(1)
threadpool_limits(1)
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture(autouse=True)
def cpu_unless_marked(request, monkeypatch):
    """Hide the GPU from tests that are not marked by `needs_gpu`."""
    if HAS_GPU and request.node.get_closest_marker("gpu") is None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # in processes that tests start


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def no_type_checks():
    """Disable the run-time type checks of the test suite, so that wrong types reach the code as they do for users."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def default_interrupt_handler():
    """Let Ctrl-C raise KeyboardInterrupt, which a test suite in the background ignores."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
