import torch

from mvlvm.linalg.cuda import Workspace

LIKE = torch.zeros(0)


def test_memory_is_asked_for_once():
    space = Workspace()
    first = space.take("features", (4, 6), LIKE)
    assert space.take("features", (3, 8), LIKE).data_ptr() == first.data_ptr()
    assert space.take("features", (2, 5), LIKE).shape == (2, 5)


def test_more_memory_and_another_type_are_fresh_and_names_are_apart():
    space = Workspace()
    first = space.take("features", (4, 6), LIKE)
    assert space.take("angles", (4, 6), LIKE).data_ptr() != first.data_ptr()
    assert space.take("features", (40, 6), LIKE).shape == (40, 6)
    assert space.take("features", (4, 6), LIKE, torch.float64).dtype == torch.float64
