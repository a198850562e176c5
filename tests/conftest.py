import jaxtyping
import pytest
import torch

# On a busy machine with few cores one thread is the fastest, and sums are always taken in the same order.
torch.set_num_threads(1)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def no_type_checks():
    """Meet wrong types as a user does, without the run-time type checks of the test suite."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
