"""Every registered data set has the documented shapes, ranges, missing rows and class counts."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import issparse

from mvlvm import NGMVLVM
from mvlvm.datasets import list as list_names
from mvlvm.datasets import load, options
from mvlvm.datasets.loader import REGISTRY
from tests.datasets.real_data import need


@dataclass(frozen=True)
class Expected:
    """Expected properties of a data set.

    Attributes:
        views: view -> (rows, columns, minimum, maximum); None if any value is valid.
        classes: class counts, in order; the number of classes if the counts are random; None without labels.
        unknown: number of rows without a label.
        missing: view -> number of entirely missing rows.
        options: options of `load`.
    """

    views: dict
    classes: list | int | None
    unknown: int = 0
    missing: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)


MOVIE_GENRES = [21, 37, 45, 7, 36, 46, 41, 35, 44, 39, 36, 35, 39, 42, 40, 33, 41]
MNIST = [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]
SVHN = [1115, 3041, 2317, 1836, 1671, 1514, 1209, 1182, 1056, 1059]
EXPECTED = {
    "s-curve": Expected({"view1": (500, 100, None, None), "view2": (500, 100, None, None)}, None),
    "shared-private": Expected({"a": (300, 20, None, None), "b": (300, 20, None, None)}, None),
    "factors": Expected({"a": (300, 40, None, None), "b": (300, 40, None, None)}, None),
    "digits-halves": Expected(
        {"left": (1797, 32, 0, 16), "right": (1797, 32, 0, 16)},
        [178, 182, 177, 183, 181, 182, 181, 179, 174, 180],
    ),
    "bridges": Expected({"counts": (214, 4, 151, 8873)}, [62, 152]),
    "mnist": Expected({"image": (70_000, 784, 0, 255)}, MNIST),
    "r-mnist": Expected({"image": (1000, 784, 0, 255)}, 10),
    "mv-mnist": Expected({f"{angle} degrees": (1000, 784, 0, 255) for angle in (0, 90, 180, 270)}, 10),
    "cifar": Expected({"image": (60_000, 400, 0, 255)}, [6000] * 10),
    "r-cifar": Expected({"image": (2000, 400, 0, 255)}, [400] * 5),
    "newsgroups": Expected({"words": (2752, 20, 0, 43)}, [799, 963, 990]),
    "yale": Expected({"image": (165, 1024, 0, 255)}, [11] * 15),
    "brendan": Expected({"image": (1965, 560, 8, 238)}, None),
    "mnist-svhn": Expected({"mnist": (16_000, 784, 0, 255), "svhn": (16_000, 3072, 0, 255)}, SVHN),
    "movies": Expected({"keywords": (617, 1878, 0, 2), "actors": (617, 1398, 0, 4)}, MOVIE_GENRES),
    "cora": Expected(
        {"content": (2708, 1433, 0, 1), "citations": (2708, 2708, 0, 2)}, [818, 180, 217, 426, 351, 418, 298]
    ),
    "channel": Expected({"real": (10_000, 32, None, None), "imag": (10_000, 32, None, None)}, [1000] * 10),
    "channel-drift": Expected({"real": (10_000, 32, None, None), "imag": (10_000, 32, None, None)}, [1000] * 10),
    "channel-sionna": Expected(
        {"real": (60, 32, None, None), "imag": (60, 32, None, None)}, [20] * 3,
        options={"n_users": 3, "n_snapshots": 20},
    ),
    "mfeat": Expected(
        {
            "fou": (2000, 76, None, None), "fac": (2000, 216, 0, 1353), "kar": (2000, 64, None, None),
            "pix": (2000, 240, 0, 6), "zer": (2000, 47, None, None), "mor": (2000, 6, None, None),
        },
        [200] * 10,
    ),
    "bdgp": Expected({"visual": (2500, 1000, 0, None), "text": (2500, 500, 0, None)}, [500] * 5),
    "bbcsport": Expected({"segment1": (544, 3183, 0, None), "segment2": (544, 3203, 0, None)}, [62, 104, 193, 124, 61]),
    "coil20": Expected({"image": (1440, 1024, 0, 1)}, [72] * 20),
    "breast-tcga": Expected(
        {"mrna": (220, 200, None, None), "mirna": (220, 184, None, None), "protein": (220, 142, None, None)},
        [66, 44, 110], missing={"protein": 70},
    ),
    "cll": Expected(
        {
            "drugs": (200, 310, None, None), "mutations": (200, 69, 0, 1), "protein": (200, 4316, None, None),
            "bioenergetics": (200, 11, None, None),
        },
        [84, 104], unknown=12, missing={"drugs": 16, "protein": 164, "bioenergetics": 62},
    ),
    "citeseq-pbmc": Expected(
        {"rna": (500, 19_521, 0, 4305), "protein": (500, 49, 0, 3912), "hashtag": (500, 4, 0, 2932)}, None
    ),
    "nutrimouse": Expected({"gene": (40, 120, None, None), "lipid": (40, 21, 0, None)}, [8] * 5),
}  # fmt: skip


def entries_of(name):
    return max(rows * columns for rows, columns, *_ in EXPECTED[name].views.values())


# Small enough for a quick fit; the large ones follow the same code path.
TO_FIT = [name for name in EXPECTED if entries_of(name) < 4e6] + ["cora"]

every_name = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=need(*entry.files)) for name, entry in REGISTRY.items()]
)


def dense(Y):
    return Y.toarray() if issparse(Y) else Y


def n_missing_rows(Y):
    return int(np.isnan(Y).all(axis=1).sum()) if Y.dtype.kind == "f" else 0


def loaded(name):
    return load(name, random_state=0, **EXPECTED[name].options)


def test_every_dataset_has_expected_properties():
    assert set(EXPECTED) == set(list_names())


@every_name
def test_views_have_expected_shapes_ranges_and_missing_rows(name):
    data, expected = loaded(name), EXPECTED[name]
    assert list(data) == list(expected.views)
    for view, (rows, columns, smallest, largest) in expected.views.items():
        Y = dense(data[view])
        assert Y.shape == (rows, columns), view
        assert smallest is None or np.nanmin(Y) == smallest, view
        assert largest is None or np.nanmax(Y) == largest, view
        assert n_missing_rows(Y) == expected.missing.get(view, 0), view
        assert not np.isinf(Y).any()


@every_name
def test_labels_names_and_origin_are_complete(name):
    data, expected = loaded(name), EXPECTED[name]
    assert REGISTRY[name].labelled == (expected.classes is not None)
    if expected.classes is None:
        assert data.labels is None
        assert data.label_names is None
    else:
        counts = np.bincount(data.labels + 1, minlength=len(data.label_names) + 1)
        assert counts[0] == expected.unknown
        assert len(counts) == len(data.label_names) + 1
        class_counts = counts[1:].tolist()
        assert (len(class_counts) if isinstance(expected.classes, int) else class_counts) == expected.classes
    assert data.rows is None or len(set(data.rows)) == next(iter(data.values())).shape[0]
    for view, columns in data.columns.items():
        assert len(columns) == data[view].shape[1]
    for view, shape in data.image_shapes.items():
        assert np.prod(shape) == data[view].shape[1]
    assert data.name == name
    assert all((data.description, data.origin, data.licence))


def test_channel_metadata_state_the_simulation_settings():
    assert REGISTRY["channel"].origin.endswith("seed 1, with the settings of the paper's table.")
    assert "not the setting of the paper's table" in REGISTRY["channel-drift"].origin
    for name in ("channel", "channel-drift", "channel-sionna"):
        assert "unit norm by default" in REGISTRY[name].description
    data = load("channel-sionna", n_users=1, n_snapshots=2, spec_version="19.2", random_state=0)
    assert "TR 38.901 19.2" in data.origin
    assert data.description.endswith(" Loaded with n_users=1, n_snapshots=2, spec_version='19.2'.")


@pytest.mark.parametrize("name", ["breast-tcga", "cll", "citeseq-pbmc", "nutrimouse"])
def test_licence_distinguishes_package_and_data(name):
    assert REGISTRY[name].licence.lower().endswith("terms of the data are not stated.")


@pytest.mark.filterwarnings("ignore::mvlvm.errors.ViewWarning")
@pytest.mark.parametrize("name", [pytest.param(name, marks=need(*REGISTRY[name].files)) for name in TO_FIT])
def test_estimator_accepts_the_dataset(name):
    data = loaded(name)
    est = NGMVLVM(n_points=5, max_iter=2, tol=0.0, random_state=0).fit(data)
    assert est.view_names_ == list(data)
    assert np.isfinite(est.embedding_).all()


@pytest.mark.parametrize("name", REGISTRY)
def test_documentation_lists_every_dataset_with_its_options(name):
    page = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text().splitlines()
    (line,) = [line for line in page if line.startswith("|") and f"`{name}`" in line.split("|")[1]]
    named = re.findall(r"`(\w+)`", line.split("|")[5])
    assert named == list(options(name))
