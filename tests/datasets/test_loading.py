import numpy as np
import pytest

from mvlvm import datasets
from mvlvm.datasets import load
from mvlvm.datasets.loading import one_hot
from mvlvm.datasets.store import FileStore
from mvlvm.errors import DataFileError


def write_mnist(folder, n=40, seed=0):
    """Write a file in the form of MNIST's, with random pixels."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    images = rng.integers(0, 256, (n, 28, 28), dtype=np.uint8)
    np.savez_compressed(
        folder / "mnist.npz", X=images, y=np.arange(n, dtype=np.uint8) % 10, n_train=np.int64(3 * n // 4)
    )
    return images


@pytest.fixture
def homes(tmp_path, monkeypatch):
    """Three empty folders: what the user names, what MVLVM_DATA names, and the cache."""
    folders = {name: tmp_path / name for name in ("home", "environment", "cache")}
    monkeypatch.setenv("MVLVM_DATA", str(folders["environment"]))
    monkeypatch.setattr("mvlvm.datasets.store.cache_folder", lambda: folders["cache"])
    return folders


def test_folders_are_searched_in_the_promised_order(homes):
    contents = {name: write_mnist(folder, seed=i) for i, (name, folder) in enumerate(homes.items())}
    for name in homes:
        found = load("mnist", data_home=homes["home"])["image"]
        np.testing.assert_array_equal(found, contents[name].reshape(40, -1))
        (homes[name] / "mnist.npz").unlink()


def test_nothing_is_written_when_the_file_is_at_hand(homes):
    write_mnist(homes["environment"])
    load("mnist", data_home=homes["home"])
    assert not homes["home"].exists()
    assert not homes["cache"].exists()


@pytest.mark.parametrize(
    ("given", "suggested"), [("mnits", "mnist"), ("S_Curve", "s-curve"), ("citeseq", "citeseq-pbmc"), ("yal", "yale")]
)
def test_an_unknown_name_suggests_the_nearest_and_lists_all(given, suggested):
    with pytest.raises(ValueError, match=f"no data set '{given}'. Did you mean '{suggested}'. Known are: s-curve"):
        load(given)


def test_a_name_like_no_other_gets_no_suggestion():
    with pytest.raises(ValueError, match="no data set 'qqqq'. Known are"):
        load("qqqq")


def test_an_unknown_option_lists_those_there_are():
    with pytest.raises(
        ValueError, match="'r-mnist' has no option 'n_sample'. Did you mean 'n_samples'. It has: n_samples"
    ):
        load("r-mnist", n_sample=3)
    with pytest.raises(ValueError, match="'bridges' has no option 'n_samples'. It has none"):
        load("bridges", n_samples=3)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-200]),
        lambda path: path.write_bytes(b"not an archive"),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:3000] + b"\0" * 200 + path.read_bytes()[3200:]),
        lambda path: np.savez(path, X=np.array([{"a": 1}], dtype=object), y=np.zeros(1), n_train=0),
        lambda path: np.savez(path, images=np.zeros((4, 28, 28))),
        lambda path: np.savez(path, X=np.zeros((4, 28, 28), np.uint8), y=np.zeros(3, np.uint8), n_train=2),
    ],
    ids=["truncated", "other content", "empty", "altered", "pickled", "other arrays", "lengths"],
)
@pytest.mark.usefixtures("no_type_checks")
def test_a_damaged_file_is_refused_by_name_and_left_as_it_is(homes, break_it):
    write_mnist(homes["home"])
    path = homes["home"] / "mnist.npz"
    break_it(path)
    before = path.read_bytes()
    with pytest.raises(DataFileError, match="mnist.npz"):
        load("mnist", data_home=homes["home"])
    assert path.read_bytes() == before
    assert [file.name for file in homes["home"].iterdir()] == ["mnist.npz"]


def test_a_subset_is_drawn_by_the_seed_without_repeats(homes):
    images = write_mnist(homes["home"]).reshape(40, -1)
    first, again, other = (
        load("mnist", data_home=homes["home"], n_samples=30, random_state=seed) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first["image"], again["image"])
    assert not np.array_equal(first["image"], other["image"])
    assert len(np.unique(first["image"], axis=0)) == 30
    places = [int(np.flatnonzero((images == row).all(axis=1))[0]) for row in first["image"]]
    np.testing.assert_array_equal(first.labels, np.array(places) % 10)
    assert first.rows == tuple(f"mnist {place}" for place in places)


def test_rows_that_were_drawn_are_named_by_their_place_in_the_whole_file(homes):
    images = write_mnist(homes["home"]).reshape(40, -1)
    drawn = load("mnist", data_home=homes["home"], split="test", n_samples=5, random_state=0)
    turned = load("mv-mnist", data_home=homes["home"], angles=[0], n_samples=5, random_state=0)
    for data in (drawn, turned):
        for name, row in zip(data.rows, next(iter(data.values())), strict=True):
            np.testing.assert_array_equal(row, images[int(name.removeprefix("mnist "))])
    assert load("mnist", data_home=homes["home"]).rows is None


@pytest.mark.parametrize(("split", "rows"), [("all", slice(None)), ("train", slice(30)), ("test", slice(30, None))])
def test_splits(homes, split, rows):
    images = write_mnist(homes["home"])
    found = load("mnist", data_home=homes["home"], split=split)
    np.testing.assert_array_equal(found["image"], images[rows].reshape(-1, 784))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_samples": 41}, "n_samples must be at most 40"),
        ({"n_samples": 0}, "n_samples must be an integer of at least 1. Got 0"),
        ({"split": "valid"}, "split must be one of 'all', 'train', 'test'. Got 'valid'"),
    ],
)
def test_wrong_options_are_one_sentence(homes, options, sentence):
    write_mnist(homes["home"])
    with pytest.raises(ValueError, match=sentence):
        load("mnist", data_home=homes["home"], **options)


def test_turned_digits_are_the_same_digits(homes):
    images = write_mnist(homes["home"])
    data = load("mv-mnist", data_home=homes["home"], n_samples=None, angles=(0, 90, 180, 270, 45))
    np.testing.assert_array_equal(data["0 degrees"], images.reshape(40, -1))
    np.testing.assert_array_equal(data["90 degrees"].reshape(-1, 28, 28)[:, 0, 0], images[:, 0, -1])
    turned = data["90 degrees"].reshape(-1, 28, 28)
    for name in ("180 degrees", "270 degrees"):
        turned = np.rot90(turned, axes=(1, 2))
        np.testing.assert_array_equal(data[name].reshape(-1, 28, 28), turned)
    # turned by half a right angle the corners are empty, and the middle stays where it was
    aslant = data["45 degrees"].reshape(-1, 28, 28)
    assert aslant[:, 0, 0].max() == 0
    middle = images[:, 13:15, 13:15].mean(axis=(1, 2))
    assert np.corrcoef(aslant[:, 13:15, 13:15].mean(axis=(1, 2)), middle)[0, 1] > 0.9


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(("angles", "sentence"), [(90, "angles must be a list"), ([0, 0], "none twice")])
def test_wrong_angles_are_one_sentence(homes, angles, sentence):
    write_mnist(homes["home"])
    with pytest.raises(ValueError, match=sentence):
        load("mv-mnist", data_home=homes["home"], angles=angles)


def test_turning_is_counter_clockwise_for_every_angle(homes):
    homes["home"].mkdir()
    bar = np.zeros((1, 28, 28), np.uint8)
    bar[0, :10, 13:15] = 200  # points up
    np.savez(homes["home"] / "mnist.npz", X=bar, y=np.zeros(1, np.uint8), n_train=1)
    data = load("mv-mnist", data_home=homes["home"], n_samples=None, angles=(90, 89))
    for view in data.values():
        image = view.reshape(28, 28).astype(float)
        assert image[13:15, :10].mean() > 150  # points left
    np.testing.assert_array_equal(data.labels, [0])


def test_pairs_have_the_same_digit_and_no_image_twice(homes):
    write_mnist(homes["home"], n=400)
    rng = np.random.default_rng(0)
    photographs = rng.integers(0, 256, (60, 32, 32, 3), dtype=np.uint8)
    np.savez(homes["home"] / "svhn_train16k.npz", X=photographs, y=rng.integers(0, 10, 60).astype(np.uint8))
    data = load("mnist-svhn", data_home=homes["home"], random_state=0)
    single = load("mnist", data_home=homes["home"])
    places = [int(np.flatnonzero((single["image"] == row).all(axis=1))[0]) for row in data["mnist"]]
    np.testing.assert_array_equal(single.labels[places], data.labels)
    assert len(set(places)) == 60
    assert data.rows == tuple(f"svhn {k}, mnist {place}" for k, place in enumerate(places))
    few = load("mnist-svhn", data_home=homes["home"], n_samples=5, random_state=0)
    for name, digit, photograph in zip(few.rows, few["mnist"], few["svhn"], strict=True):
        row, place = (int(part.split()[1]) for part in name.split(", "))
        np.testing.assert_array_equal(photograph, photographs[row].ravel())
        np.testing.assert_array_equal(digit, single["image"][place])
    np.testing.assert_array_equal(data["svhn"], photographs.reshape(60, -1))


def test_labels_as_a_view(homes):
    write_mnist(homes["home"])
    data = load("mnist", data_home=homes["home"], with_labels_as_view=True)
    assert list(data) == ["image", "label"]
    np.testing.assert_array_equal(data["label"].argmax(axis=1), data.labels)
    np.testing.assert_array_equal(data["label"].sum(axis=1), 1)


def test_an_unknown_label_is_a_missing_row_of_the_label_view():
    view = one_hot(np.array([1, -1, 0]), 2)
    np.testing.assert_array_equal(view, [[0, 1], [np.nan, np.nan], [1, 0]])


def test_a_set_without_labels_has_no_label_view():
    with pytest.raises(ValueError, match="'s-curve' has no labels"):
        load("s-curve", with_labels_as_view=True)


def test_a_data_set_is_a_mapping_of_its_views():
    data = load("digits-halves")
    assert dict(data) == data.views
    assert data["left"] is data.views["left"]
    assert "digits-halves" in repr(data)
    with pytest.raises(KeyError):
        data["middle"]


def test_a_data_set_equals_itself_alone():
    first, second = load("digits-halves"), load("digits-halves")
    assert first == first
    assert first != second
    assert len({first, second}) == 2


@pytest.mark.parametrize(
    ("options", "ending"),
    [
        ({"n_samples": 4, "split": "test"}, "training set. Loaded with n_samples=4, split='test'."),
        ({"with_labels_as_view": True}, "training set. Loaded with with_labels_as_view=True."),
        ({"n_samples": None, "split": "all"}, "training set."),
        ({}, "training set."),
    ],
)
def test_the_description_says_what_was_asked_for(homes, options, ending):
    write_mnist(homes["home"])
    assert load("mnist", data_home=homes["home"], **options).description.endswith(ending)


def test_a_list_is_no_other_choice_than_the_tuple_that_is_the_default():
    assert "Loaded with" not in load("s-curve", kernels=["rbf", "gibbs"]).description
    assert load("s-curve", kernels=("gibbs",)).description.endswith(" Loaded with kernels=['gibbs'].")


def test_options_are_listed_with_their_defaults():
    assert datasets.options("s-curve")["kernels"] == ("rbf", "gibbs")
    assert datasets.options("brendan") == {}


def test_the_users_home_is_understood(homes, monkeypatch):
    monkeypatch.setenv("HOME", str(homes["home"].parent))
    write_mnist(homes["home"])
    assert load("mnist", data_home="~/home")["image"].shape == (40, 784)


def test_downloads_go_to_the_named_folder_or_the_cache(homes):
    assert FileStore(homes["home"]).download_folder() == homes["home"]
    assert FileStore().download_folder() == homes["cache"]
