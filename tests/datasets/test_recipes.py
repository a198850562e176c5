"""What the options of single data sets do, on the real files."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import issparse

from mvlvm.datasets import load
from tests.datasets.at_hand import need


@need("newsgroups3.jsonl.gz")
def test_the_papers_nineteen_words_are_those_of_the_training_posts():
    data = load("newsgroups", vocabulary_split="train")
    assert data["words"].shape == (2752, 19)
    assert load("newsgroups", split="train", vocabulary_split="train")["words"].shape == (1652, 19)


@need("newsgroups3.jsonl.gz")
@pytest.mark.parametrize("changed", [{"remove": ()}, {"stop_words": None}])
def test_every_step_of_the_preparation_matters(changed):
    assert load("newsgroups", **changed)["words"].shape[1] > 60


@need("newsgroups3.jsonl.gz")
def test_words_are_counted_where_they_stand():
    import gzip
    import json
    import re

    from tests.datasets.at_hand import FOLDER

    with gzip.open(FOLDER / "newsgroups3.jsonl.gz", "rt") as lines:
        texts = [json.loads(line)["text"].lower() for line in lines]
    data = load("newsgroups", remove=())
    for word in ("know", "think"):
        counted = data["words"][:, data.columns["words"].index(word)]
        np.testing.assert_array_equal(counted, [len(re.findall(rf"\b{word}\b", text)) for text in texts])


def test_a_cut_off_text_file_is_refused_by_name(tmp_path):
    import gzip

    from mvlvm.errors import DataFileError

    path = tmp_path / "newsgroups3.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"label": "a", "split": "train", "id": "1", "text": "b"}\n' * 100)[:-20])
    with pytest.raises(DataFileError, match="newsgroups3.jsonl.gz is damaged"):
        load("newsgroups", data_home=tmp_path)
    path.write_bytes(gzip.compress(b"[1, 2]\n"))
    with pytest.raises(DataFileError, match="newsgroups3.jsonl.gz is damaged"):
        load("newsgroups", data_home=tmp_path)


@need("cora.npz")
def test_links_stay_sparse_until_asked():
    data = load("cora", views=("citations", "inbound", "outbound"))
    assert all(issparse(Y) for Y in data.values())
    assert data["outbound"].sum() == 5429
    assert (data["citations"] != data["inbound"] + data["outbound"]).nnz == 0
    assert (data["inbound"] != data["outbound"].T).nnz == 0
    dense = load("cora", views="citations", dense=True)["citations"]
    np.testing.assert_array_equal(dense, data["citations"].toarray())


@need("cora.npz", "movies.npz")
@pytest.mark.parametrize("name", ["cora", "movies"])
def test_unit_rows_have_unit_length_or_are_empty(name):
    for view in load(name, unit_rows=True).values():
        lengths = np.linalg.norm(view.toarray() if issparse(view) else view, axis=1)
        np.testing.assert_allclose(lengths[lengths > 0], 1)


@need("cll_partial.npz")
def test_the_label_can_be_taken_out_of_the_mutations():
    whole, without = load("cll"), load("cll", label_columns=False)
    assert set(whole.columns["mutations"]) - set(without.columns["mutations"]) == {"IGHV", "trisomy12"}
    assert without["mutations"].shape == (200, 67)
    ighv = whole["mutations"][:, whole.columns["mutations"].index("IGHV")]
    known = whole.labels >= 0
    np.testing.assert_array_equal(ighv[known], whole.labels[known])
    assert np.bincount(load("cll", label="trisomy12").labels + 1).tolist() == [11, 160, 29]
    complete = np.all([~np.isnan(Y).all(axis=1) for Y in whole.values()], axis=0)
    assert complete.sum() == 32


@need("citeseq_pbmc.npz")
def test_log_values_are_of_equal_totals_and_the_most_variable_genes_are_kept():
    counts = load("citeseq-pbmc", views=("rna", "protein"))
    logs = load("citeseq-pbmc", views=("rna", "protein"), values="log", n_genes=500)
    totals = counts["rna"].astype(float).sum(axis=1)
    expected = np.log1p(counts["rna"] / totals[:, None] * np.median(totals))
    kept = [counts.columns["rna"].index(gene) for gene in logs.columns["rna"]]
    np.testing.assert_allclose(logs["rna"], expected[:, kept])
    assert np.delete(expected.var(axis=0), kept).max() <= expected[:, kept].var(axis=0).min()
    np.testing.assert_allclose(logs["protein"], np.log1p(counts["protein"].astype(float)))
    assert load("citeseq-pbmc", n_genes=7)["rna"].dtype.kind == "u"


@need("nutrimouse.npz", "yale.npz", "mfeat.npz")
def test_other_labels_sizes_and_views():
    assert load("nutrimouse", label="genotype").label_names == ("ppar", "wt")
    assert load("yale", size=64)["image"].shape == (165, 4096)
    assert list(load("mfeat", views=("pix", "mor"))) == ["pix", "mor"]
    with pytest.raises(ValueError, match="size must be 32 or 64"):
        load("yale", size=16)
    with pytest.raises(ValueError, match="views must be one of 'fou'.*Got 'pixel'"):
        load("mfeat", views=["pixel"])
    with pytest.raises(ValueError, match="label must be one of 'diet', 'genotype'"):
        load("nutrimouse", label="weight")


@need("cifar10_gray20.npz")
def test_the_small_cifar_has_the_first_classes_and_draws_by_the_seed():
    first, again, other = (load("r-cifar", random_state=seed)["image"] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    few = load("r-cifar", n_classes=2, n_per_class=3, random_state=0)
    assert few.label_names == ("airplane", "automobile")
    assert few.labels.tolist() == [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match="n_classes must be at most 10"):
        load("r-cifar", n_classes=11)


def test_other_sizes_and_colours_come_from_the_original_images(tmp_path):
    from PIL import Image

    images = np.random.default_rng(0).integers(0, 256, (30, 32, 32, 3), dtype=np.uint8)
    names = np.array([f"class {k}" for k in range(10)])
    np.savez(tmp_path / "cifar10.npz", X=images, y=np.arange(30, dtype=np.uint8) % 10, n_train=20, class_names=names)
    colour = load("cifar", size=32, grey=False, data_home=tmp_path)
    np.testing.assert_array_equal(colour["image"], images.reshape(30, -1))
    assert colour.image_shapes["image"] == (32, 32, 3)
    small = load("r-cifar", size=10, grey=False, n_per_class=3, data_home=tmp_path, random_state=0)
    for name, found in zip(small.rows, small["image"], strict=True):
        image = Image.fromarray(images[int(name.removeprefix("cifar "))])
        expected = np.asarray(image.resize((10, 10), Image.Resampling.BILINEAR))
        np.testing.assert_array_equal(found.reshape(10, 10, 3), expected)
    drawn = load("cifar", size=32, grey=False, split="test", n_samples=4, data_home=tmp_path, random_state=0)
    for name, found in zip(drawn.rows, drawn["image"], strict=True):
        np.testing.assert_array_equal(found, images[int(name.removeprefix("cifar "))].ravel())
    with pytest.raises(ValueError, match="n_per_class must be at most 3, which is all there are. Got 4."):
        load("r-cifar", size=32, n_per_class=4, data_home=tmp_path)
    grey = load("cifar", size=32, split="test", data_home=tmp_path)
    expected = [np.asarray(Image.fromarray(image).convert("L")) for image in images[20:]]
    np.testing.assert_array_equal(grey["image"], np.reshape(expected, (10, -1)))
    with pytest.raises(ValueError, match="size must be at most 32"):
        load("cifar", size=64, data_home=tmp_path)


@need("mnist.npz")
def test_the_whole_of_mnist_loads_in_two_seconds_and_half_a_gigabyte():
    code = (
        "import resource, time\n"
        "from mvlvm.datasets import load\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "before, start = peak(), time.perf_counter()\n"
        "data = load('mnist')\n"
        "print(time.perf_counter() - start, peak() - before - data['image'].nbytes / 2**20)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, megabytes = map(float, run.stdout.split())
    assert seconds < 2
    assert megabytes < 500


@need("bridges.npz")
def test_frames_have_the_names_of_rows_and_columns():
    frame = load("bridges").as_frames()["counts"]
    assert frame.loc["2017-04-01", "Brooklyn"] == load("bridges")["counts"][0, 0]
    assert list(frame.columns) == ["Brooklyn", "Manhattan", "Williamsburg", "Queensboro"]


@need("breast_tcga.npz", "cora.npz")
def test_a_mudata_has_samples_only_where_they_were_measured(tmp_path):
    import mudata

    data = load("breast-tcga")
    mdata = data.as_mudata()
    assert {name: mdata[name].shape for name in data} == {
        "mrna": (220, 200),
        "mirna": (220, 184),
        "protein": (150, 142),
    }
    assert mdata.obs.loc[data.rows[3], "label"] == data.label_names[data.labels[3]]
    with mudata.set_options(pull_on_update=False):
        mdata.write(tmp_path / "tumours.h5mu")
        again = mudata.read_h5mu(tmp_path / "tumours.h5mu")
    np.testing.assert_array_equal(again["protein"].X, data["protein"][:150])
    assert again.obs["label"].value_counts().to_dict() == {"LumA": 110, "Basal": 66, "Her2": 44}
    assert load("cora").as_mudata()["content"].X.sum() == 49_216


def test_a_list_of_kernels_makes_as_many_views():
    data = load("s-curve", kernels=["rbf", "gibbs", "rbf"], n_samples=10, n_features=2, random_state=0)
    assert list(data) == ["view1", "view2", "view3"]
    assert list(load("s-curve", kernels="gibbs", n_samples=10)) == ["view1"]
    with pytest.raises(ValueError, match="kernels must name the kernel of at least one view"):
        load("s-curve", kernels=[])
    with pytest.raises(ValueError, match="noise_std must be a non-negative number. Got -1"):
        load("s-curve", noise_std=-1.0)
