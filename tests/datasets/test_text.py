"""Text data: vocabulary, word counts, sparse citations and normalised rows."""

import gzip
import json
import re

import numpy as np
import pytest
from scipy.sparse import issparse

from mvlvm.datasets import load
from mvlvm.errors import DataFileError
from tests.datasets.real_data import FOLDER, need


@need("newsgroups3.jsonl.gz")
def test_training_posts_yield_the_papers_nineteen_words():
    data = load("newsgroups", vocabulary_split="train")
    assert data["words"].shape == (2752, 19)
    assert load("newsgroups", split="train", vocabulary_split="train")["words"].shape == (1652, 19)


@need("newsgroups3.jsonl.gz")
@pytest.mark.parametrize("changed", [{"remove": ()}, {"stop_words": None}])
def test_every_preprocessing_step_reduces_the_vocabulary(changed):
    assert load("newsgroups", **changed)["words"].shape[1] > 60


@need("newsgroups3.jsonl.gz")
def test_word_counts_match_a_regular_expression():

    with gzip.open(FOLDER / "newsgroups3.jsonl.gz", "rt") as lines:
        texts = [json.loads(line)["text"].lower() for line in lines]
    data = load("newsgroups", remove=())
    for word in ("know", "think"):
        counts = data["words"][:, data.columns["words"].index(word)]
        np.testing.assert_array_equal(counts, [len(re.findall(rf"\b{word}\b", text)) for text in texts])


def test_truncated_or_invalid_text_file_is_rejected_by_name(tmp_path):

    path = tmp_path / "newsgroups3.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"label": "a", "split": "train", "id": "1", "text": "b"}\n' * 100)[:-20])
    with pytest.raises(DataFileError, match="newsgroups3.jsonl.gz is damaged"):
        load("newsgroups", data_home=tmp_path)
    path.write_bytes(gzip.compress(b"[1, 2]\n"))
    with pytest.raises(DataFileError, match="newsgroups3.jsonl.gz is damaged"):
        load("newsgroups", data_home=tmp_path)


@need("cora.npz")
def test_citations_are_sparse_unless_dense_is_requested():
    data = load("cora", views=("citations", "inbound", "outbound"))
    assert all(issparse(Y) for Y in data.values())
    assert data["outbound"].sum() == 5429
    assert (data["citations"] != data["inbound"] + data["outbound"]).nnz == 0
    assert (data["inbound"] != data["outbound"].T).nnz == 0
    dense = load("cora", views="citations", dense=True)["citations"]
    np.testing.assert_array_equal(dense, data["citations"].toarray())


@need("cora.npz", "movies.npz")
@pytest.mark.parametrize("name", ["cora", "movies"])
def test_unit_rows_have_unit_norm_or_are_zero(name):
    for view in load(name, unit_rows=True).values():
        lengths = np.linalg.norm(view.toarray() if issparse(view) else view, axis=1)
        np.testing.assert_allclose(lengths[lengths > 0], 1)


@pytest.mark.usefixtures("no_type_checks")
def test_integer_document_frequency_is_a_fraction_and_never_a_count(tmp_path):

    posts = [("train", "alpha beta"), ("train", "alpha gamma"), ("test", "alpha delta")]
    lines = [json.dumps({"label": "a", "split": s, "id": str(k), "text": t}) for k, (s, t) in enumerate(posts)]
    (tmp_path / "newsgroups3.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    common = {"data_home": tmp_path, "remove": (), "stop_words": None}
    assert load("newsgroups", min_df=1, max_df=1, **common).columns["words"] == ["alpha"]
    assert len(load("newsgroups", min_df=0, max_df=1, **common).columns["words"]) == 4
    for limits in ({"min_df": 0.9, "max_df": 0.95}, {"min_df": 0.5, "max_df": 0.1}):
        with pytest.raises(ValueError, match="vocabulary is empty: no word occurs in 0.. to 0.* of the posts"):
            load("newsgroups", **limits, **common)
