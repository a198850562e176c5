import numpy as np
import pytest

from mvlvm import ViewError
from mvlvm.datasets.dataset import Dataset

VIEWS = {"a": np.arange(6.0).reshape(3, 2), "b": np.array([[1.0], [np.nan], [3.0]])}
LABELS = np.array([1, 0, 1])


def test_frames_are_copies():
    frame = Dataset(views=VIEWS).as_frames()["a"]
    frame.iloc[0, 0] = 99
    assert VIEWS["a"][0, 0] == 0


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize("rows", [("u", "v", "w"), np.array(["u", "v", "w"])], ids=["tuple", "array"])
def test_labels_go_to_the_samples_they_belong_to(rows):
    mdata = Dataset(views=VIEWS, labels=LABELS, label_names=("p", "q"), rows=rows).as_mudata()
    assert mdata.obs["label"].to_dict() == {"u": "q", "v": "p", "w": "q"}
    assert list(mdata["b"].obs_names) == ["u", "w"]


def test_labels_without_names_are_numbers():
    mdata = Dataset(views=VIEWS, labels=LABELS).as_mudata()
    assert mdata.obs["label"].to_dict() == {"0": 1, "1": 0, "2": 1}
    assert mdata.obs["label"].dtype.kind == "i"


def test_samples_called_alike_are_refused():
    with pytest.raises(ViewError, match="must have names of their own .*MuData. Got some twice: 'u'. Rename"):
        Dataset(views=VIEWS, rows=("u", "u", "w")).as_mudata()
