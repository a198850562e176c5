import pytest
import torch

from mvlvm import records


def test_the_machine_description_contains_cores_and_torch_version():
    description = records.describe_machine("cpu")
    assert torch.__version__.split("+")[0] in description
    assert "core" in description


def test_unavailable_and_unknown_devices_raise_an_informative_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert records.choose_device("auto") == "cpu"
    with pytest.raises(ValueError, match="needs a GPU"):
        records.choose_device("cuda")
    with pytest.raises(ValueError, match="'auto', 'cpu' or 'cuda'"):
        records.choose_device("tpu")
