"""Every wrong value of an option is one sentence, and comes before any file is looked for."""

import numpy as np
import pytest

from mvlvm.datasets import load
from mvlvm.datasets.store import FileStore

WRONG = [
    ("mnist", {"split": "valid"}, "split must be one of 'all', 'train', 'test'. Got 'valid'."),
    ("mnist", {"n_samples": 0}, "n_samples must be an integer of at least 1. Got 0."),
    ("mnist", {"n_samples": 2.0}, "n_samples must be an integer of at least 1. Got 2.0."),
    ("mnist-svhn", {"n_samples": "all"}, "n_samples must be an integer of at least 1. Got 'all'."),
    ("mv-mnist", {"angles": 90}, "angles must be a list. Got 90."),
    ("mv-mnist", {"angles": []}, "angles must name at least one angle"),
    ("mv-mnist", {"angles": [0, "up"]}, "angles must be a list of numbers, in degrees. Got 'up'."),
    ("mv-mnist", {"angles": [True]}, "angles must be a list of numbers, in degrees. Got True."),
    ("mv-mnist", {"angles": [float("nan")]}, "angles must be a list of numbers, in degrees. Got nan."),
    ("mv-mnist", {"angles": [float("inf")]}, "angles must be a list of numbers, in degrees. Got inf."),
    ("mv-mnist", {"angles": [45, 45.0000001]}, "none twice"),
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
    ("newsgroups", {"min_df": 5}, "min_df must be a share of the posts, from 0 to 1. Got 5."),
    ("newsgroups", {"max_df": -0.1}, "max_df must be a non-negative number. Got -0.1."),
    ("newsgroups", {"max_df": "most"}, "max_df must be a non-negative number. Got 'most'."),
    ("movies", {"unit_rows": 1}, "unit_rows must be True or False. Got 1."),
    ("cora", {"unit_rows": "no"}, "unit_rows must be True or False. Got 'no'."),
    ("cora", {"dense": 0}, "dense must be True or False. Got 0."),
    ("cora", {"views": 2}, "views must be a list. Got 2."),
    ("cora", {"views": ["content", "content"]}, "views must name no view twice."),
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
    ("s-curve", {"kernels": {1: "rbf"}}, "kernels must have texts as the names of views. Got 1."),
    ("s-curve", {"kernels": [["rbf"]]}, "kernels must be one of"),
    ("mnist", {"with_labels_as_view": 1}, "with_labels_as_view must be True or False. Got 1."),
    ("brendan", {"with_labels_as_view": True}, "'brendan' has no labels"),
    ("citeseq-pbmc", {"with_labels_as_view": True}, "'citeseq-pbmc' has no labels"),
    ("mnist", {"random_state": -1}, "random_state must be an integer from 0"),
    ("mnist", {"data_home": 3}, "data_home must be the path of a folder. Got 3."),
    ("mnist", {"data_home": b"home"}, "data_home must be the path of a folder. Got b'home'."),
    (["mnist"], {}, r"There is no data set \['mnist'\]"),
    (None, {}, "There is no data set None"),
]  # fmt: skip


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(("name", "options", "sentence"), WRONG, ids=lambda part: str(part)[:40])
def test_a_wrong_option_is_one_sentence_before_any_file_is_looked_for(monkeypatch, name, options, sentence):
    monkeypatch.setattr(FileStore, "find", lambda store, file: pytest.fail(f"{file} was looked for"))
    with pytest.raises(ValueError, match=sentence) as caught:
        load(name, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "suggested"),
    [("randomstate", "random_state"), ("with_label_as_view", "with_labels_as_view"), ("data_hom", "data_home")],
)
def test_what_load_itself_takes_is_suggested_too(given, suggested):
    with pytest.raises(ValueError, match=f"no option '{given}'. Did you mean '{suggested}'"):
        load("mnist", **{given: 1})


@pytest.mark.usefixtures("no_type_checks")
def test_a_share_may_be_a_whole_number_and_is_never_a_count(tmp_path):
    import gzip
    import json

    posts = [("train", "alpha beta"), ("train", "alpha gamma"), ("test", "alpha delta")]
    lines = [json.dumps({"label": "a", "split": s, "id": str(k), "text": t}) for k, (s, t) in enumerate(posts)]
    (tmp_path / "newsgroups3.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    common = {"data_home": tmp_path, "remove": (), "stop_words": None}
    assert load("newsgroups", min_df=1, max_df=1, **common).columns["words"] == ["alpha"]
    assert len(load("newsgroups", min_df=0, max_df=1, **common).columns["words"]) == 4
    for shares in ({"min_df": 0.9, "max_df": 0.95}, {"min_df": 0.5, "max_df": 0.1}):
        with pytest.raises(ValueError, match="No word is left: none is in 0.. to 0.* of the posts"):
            load("newsgroups", **shares, **common)


@pytest.mark.usefixtures("no_type_checks")
def test_numbers_of_numpy_are_numbers(tmp_path):
    images = np.zeros((5, 28, 28), np.uint8)
    np.savez(tmp_path / "mnist.npz", X=images, y=np.arange(5), n_train=3)
    data = load("mnist", n_samples=np.int64(2), data_home=tmp_path, with_labels_as_view=np.True_)
    assert data.description.endswith(" Loaded with n_samples=2, with_labels_as_view=True.")
