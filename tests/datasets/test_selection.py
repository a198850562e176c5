"""Invalid options are rejected before any file is searched for; valid ones select rows and views."""

import pytest

from mvlvm.datasets import load
from mvlvm.datasets.cache import FileCache
from tests.datasets.real_data import need

INVALID = [
    ("mnist", {"split": "valid"}, "split must be one of 'all', 'train', 'test'. Got 'valid'."),
    ("mnist", {"n_samples": 0}, "n_samples must be an integer of at least 1. Got 0."),
    ("mnist", {"n_samples": 2.0}, "n_samples must be an integer of at least 1. Got 2.0."),
    ("mnist-svhn", {"n_samples": "all"}, "n_samples must be an integer of at least 1. Got 'all'."),
    ("mv-mnist", {"angles": 90}, "angles must be a list. Got 90."),
    ("mv-mnist", {"angles": []}, "angles must contain at least one angle"),
    ("mv-mnist", {"angles": [0, "up"]}, "angles must be a list of finite numbers, in degrees. Got 'up'."),
    ("mv-mnist", {"angles": [True]}, "angles must be a list of finite numbers, in degrees. Got True."),
    ("mv-mnist", {"angles": [float("nan")]}, "angles must be a list of finite numbers, in degrees. Got nan."),
    ("mv-mnist", {"angles": [float("inf")]}, "angles must be a list of finite numbers, in degrees. Got inf."),
    ("mv-mnist", {"angles": [45, 45.0000001]}, "no duplicates"),
    ("mv-mnist", {"n_samples": -1}, "n_samples must be an integer of at least 1. Got -1."),
    ("cifar", {"grey": "yes"}, "grey must be True or False. Got 'yes'."),
    ("cifar", {"size": 33}, "size must be at most 32"),
    ("cifar", {"split": None}, "split must be one of"),
    ("r-cifar", {"n_classes": 0}, "n_classes must be an integer of at least 1. Got 0."),
    ("r-cifar", {"n_per_class": 0}, "n_per_class must be an integer of at least 1. Got 0."),
    ("r-cifar", {"n_per_class": None}, "n_per_class must be an integer of at least 1. Got None."),
    ("yale", {"size": 32.0}, "size must be an integer of at least 1. Got 32.0."),
    ("yale", {"size": 48}, "size must be 32 or 64"),
    ("newsgroups", {"split": "dev"}, "split must be one of"),
    ("newsgroups", {"vocabulary_split": "dev"}, "vocabulary_split must be one of"),
    ("newsgroups", {"remove": 3}, "remove must be a list. Got 3."),
    ("newsgroups", {"remove": ["body"]}, "remove must be one of 'headers', 'footers', 'quotes'. Got 'body'."),
    ("newsgroups", {"stop_words": "french"}, "stop_words must be one of 'english', None. Got 'french'."),
    ("newsgroups", {"min_df": 5}, "min_df must be a fraction of the posts, between 0 and 1. Got 5."),
    ("newsgroups", {"max_df": -0.1}, "max_df must be a non-negative number. Got -0.1."),
    ("newsgroups", {"max_df": "most"}, "max_df must be a non-negative number. Got 'most'."),
    ("movies", {"unit_rows": 1}, "unit_rows must be True or False. Got 1."),
    ("cora", {"unit_rows": "no"}, "unit_rows must be True or False. Got 'no'."),
    ("cora", {"dense": 0}, "dense must be True or False. Got 0."),
    ("cora", {"views": 2}, "views must be a list. Got 2."),
    ("cora", {"views": ["content", "content"]}, "views must not contain duplicates."),
    ("mfeat", {"views": []}, "views must name at least one view"),
    ("mfeat", {"views": [["pix"]]}, "views must be one of"),
    ("cll", {"label_columns": None}, "label_columns must be True or False. Got None."),
    ("cll", {"label": "sex"}, "label must be one of 'ighv', 'trisomy12'. Got 'sex'."),
    ("citeseq-pbmc", {"n_genes": 0}, "n_genes must be an integer of at least 1. Got 0."),
    ("citeseq-pbmc", {"values": "raw"}, "values must be one of"),
    ("nutrimouse", {"label": 1}, "label must be one of"),
    ("channel", {"normalise": "rows"}, "normalise must be one of 'row', 'user', 'raw'. Got 'rows'."),
    ("channel-drift", {"n_snapshots": 0}, "n_snapshots must be an integer of at least 1. Got 0."),
    ("channel-sionna", {"spec_version": "20"}, "spec_version must be one of"),
    ("channel-sionna", {"normalise": "rows"}, "normalise must be one of"),
    ("s-curve", {"kernels": 3}, "kernels must be a list. Got 3."),
    ("s-curve", {"kernels": {1: "rbf"}}, "kernels must have strings as view names. Got 1."),
    ("s-curve", {"kernels": [["rbf"]]}, "kernels must be one of"),
    ("mnist", {"with_labels_as_view": 1}, "with_labels_as_view must be True or False. Got 1."),
    ("brendan", {"with_labels_as_view": True}, "'brendan' has no labels"),
    ("citeseq-pbmc", {"with_labels_as_view": True}, "'citeseq-pbmc' has no labels"),
    ("mnist", {"random_state": -1}, "random_state must be an integer from 0"),
    ("mnist", {"data_home": 3}, "data_home must be the path of a folder. Got 3."),
    ("mnist", {"data_home": b"home"}, "data_home must be the path of a folder. Got b'home'."),
    (["mnist"], {}, r"Unknown data set \['mnist'\]"),
    (None, {}, "Unknown data set None"),
]  # fmt: skip


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(("name", "options", "message"), INVALID, ids=lambda part: str(part)[:40])
def test_invalid_option_is_rejected_before_any_file_is_searched_for(monkeypatch, name, options, message):
    monkeypatch.setattr(FileCache, "find", lambda cache, file: pytest.fail(f"{file} was searched for"))
    with pytest.raises(ValueError, match=message) as caught:
        load(name, **options)
    assert "\n" not in str(caught.value)


@need("nutrimouse.npz", "yale.npz", "mfeat.npz")
def test_options_select_labels_sizes_and_views():
    assert load("nutrimouse", label="genotype").label_names == ("ppar", "wt")
    assert load("yale", size=64)["image"].shape == (165, 4096)
    assert list(load("mfeat", views=("pix", "mor"))) == ["pix", "mor"]
    with pytest.raises(ValueError, match="size must be 32 or 64"):
        load("yale", size=16)
    with pytest.raises(ValueError, match="views must be one of 'fou'.*Got 'pixel'"):
        load("mfeat", views=["pixel"])
    with pytest.raises(ValueError, match="label must be one of 'diet', 'genotype'"):
        load("nutrimouse", label="weight")
