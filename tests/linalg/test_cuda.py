import torch

from mvlvm.linalg.cuda import Workspace

LIKE = torch.zeros(0)


def test_buffer_is_allocated_once_and_reused():
    workspace = Workspace()
    first = workspace.take("features", (4, 6), LIKE)
    assert workspace.take("features", (3, 8), LIKE).data_ptr() == first.data_ptr()
    assert workspace.take("features", (2, 5), LIKE).shape == (2, 5)


def test_larger_shape_other_dtype_and_other_name_get_a_new_buffer():
    workspace = Workspace()
    first = workspace.take("features", (4, 6), LIKE)
    assert workspace.take("angles", (4, 6), LIKE).data_ptr() != first.data_ptr()
    assert workspace.take("features", (40, 6), LIKE).shape == (40, 6)
    assert workspace.take("features", (4, 6), LIKE, torch.float64).dtype == torch.float64
