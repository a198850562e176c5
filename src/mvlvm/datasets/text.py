"""Text and citation data: newsgroups, movies by keywords and actors, papers by words and citations, sports news."""

import gzip
import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Shaped

from mvlvm.checks import check_choice, check_flag, check_number
from mvlvm.datasets.cache import FileCache, damaged
from mvlvm.datasets.dataset import SPLITS, Dataset, DatasetEntry, OptionError, as_list, choose_views, class_numbers

_NEWS_FILE = "newsgroups3.jsonl.gz"
_NEWS_PARTS = ("headers", "footers", "quotes")
_CORA_VIEWS = ("content", "citations", "inbound", "outbound")
_GRIMAL = (
    "The multi-view sets of C. Grimal and G. Bisson (LIG Grenoble), as carried by the R package ORKM 0.8.0.0 "
    "(G. Guo, M. Yu, H. Song, R. Niu)."
)


def newsgroups(
    cache: FileCache, seed: int, *, split: str = "all", vocabulary_split: str = "all", min_df: float = 0.1,
    max_df: float = 0.9, remove: Sequence[str] = _NEWS_PARTS, stop_words: str | None = "english",
) -> Dataset:  # fmt: skip
    """Load word counts of posts in three newsgroups.

    Args:
        cache: source of the data files.
        seed: unused; nothing is random.
        split: "all", "train" or "test".
        vocabulary_split: posts from which the vocabulary is built; "all" yields 20 words, "train" the paper's 19.
        min_df: minimum document frequency of a word, as a fraction of the posts.
        max_df: maximum document frequency of a word, as a fraction of the posts.
        remove: parts of a post to remove, among "headers", "footers" and "quotes".
        stop_words: "english" removes English stop words, None keeps them.
    """
    check_choice(split, "split", SPLITS)
    check_choice(vocabulary_split, "vocabulary_split", SPLITS)
    check_choice(stop_words, "stop_words", ("english", None))
    fractions = _check_fraction(min_df, "min_df"), _check_fraction(max_df, "max_df")
    strip = _part_remover(remove)
    posts = _read_posts(cache)
    texts = [strip(post["text"]) for post in posts if vocabulary_split in ("all", post["split"])]
    vectoriser = _fit_vectoriser(texts, fractions, stop_words)
    chosen = [post for post in posts if split in ("all", post["split"])]
    counts = vectoriser.transform([strip(post["text"]) for post in chosen]).toarray()
    groups = tuple(sorted({post["label"] for post in posts}))
    return Dataset(
        {"words": counts},
        np.array([groups.index(post["label"]) for post in chosen], dtype=np.int64),
        groups,
        rows=[f"{post['label']}/{post['id']}" for post in chosen],
        columns={"words": list(vectoriser.get_feature_names_out())},
    )


def movies(cache: FileCache, seed: int, *, unit_rows: bool = False) -> Dataset:
    """Load movies described by their keywords and by their actors.

    Args:
        cache: source of the data files.
        seed: unused; nothing is random.
        unit_rows: scale every row to unit length, so that the number of entries of a movie has no influence.
    """
    check_flag(unit_rows, "unit_rows")
    keywords, actors, labels = cache.arrays("movies.npz", "keywords", "actors", "label")
    views = {"keywords": keywords, "actors": actors}
    if unit_rows:
        views = {name: _unit_rows(Y) for name, Y in views.items()}
    return Dataset(views, class_numbers(labels), tuple(f"genre {k}" for k in range(1, 18)))


def cora(
    cache: FileCache, seed: int, *, views: Sequence[str] = _CORA_VIEWS[:2], unit_rows: bool = False,
    dense: bool = False,
) -> Dataset:  # fmt: skip
    """Load papers described by their words and by their citations.

    Args:
        cache: source of the data files.
        seed: unused; nothing is random.
        views: among "content" (words), "citations" (both directions), "inbound" and "outbound".
        unit_rows: scale every row to unit length.
        dense: return dense arrays; otherwise the views are sparse, and estimators convert them.
    """
    from scipy.sparse import csr_array

    names = choose_views(_CORA_VIEWS, views)
    check_flag(unit_rows, "unit_rows")
    check_flag(dense, "dense")
    *tables, labels, label_names = cache.arrays("cora.npz", *names, "label", "label_names")
    if unit_rows:
        tables = [_unit_rows(table) for table in tables]
    return Dataset(
        {name: table if dense else csr_array(table) for name, table in zip(names, tables, strict=True)},
        class_numbers(labels),
        tuple(str(name).replace("_", " ") for name in label_names),
    )


def bbcsport(cache: FileCache, seed: int) -> Dataset:
    """Load sports articles, each split into two segments, as weighted and normalised term frequencies.

    Args:
        cache: source of the data files.
        seed: unused; nothing is random.
    """
    first, second, labels = cache.arrays("bbcsport.npz", "segment1", "segment2", "label")
    names = tuple(f"topic {k}" for k in range(1, 6))
    return Dataset({"segment1": first, "segment2": second}, class_numbers(labels), names)


def _check_fraction(value: float, parameter: str) -> float:
    fraction = check_number(value, parameter, positive=False)
    if fraction > 1:
        raise ValueError(f"{parameter} must be a fraction of the posts, between 0 and 1. Got {value!r}.")
    return fraction


def _fit_vectoriser(texts: Sequence[str], fractions: tuple[float, float], stop_words: str | None) -> Any:
    """Return a CountVectorizer fitted on the texts, with bounds on the document frequency."""
    from sklearn.feature_extraction.text import CountVectorizer

    min_df, max_df = fractions
    # the stubs type min_df as an integer only
    vectoriser = CountVectorizer(min_df=min_df, max_df=max_df, stop_words=stop_words)  # pyright: ignore[reportArgumentType]
    try:
        return vectoriser.fit(texts)
    except ValueError as error:
        raise OptionError(
            f"The vocabulary is empty: no word occurs in {min_df:g} to {max_df:g} of the posts. Decrease min_df or "
            "increase max_df."
        ) from error


def _read_posts(cache: FileCache) -> list[dict[str, Any]]:
    path = cache.find(_NEWS_FILE)
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            posts = [json.loads(line) for line in lines]
        if not posts:
            raise ValueError("it is empty")
        if not all(isinstance(post.get(key), str) for post in posts for key in ("label", "split", "id", "text")):
            raise ValueError("a record lacks label, split, id or text")
        if not all(post["split"] in SPLITS[1:] for post in posts):
            raise ValueError("a record belongs to neither the training nor the test set")
    except PermissionError:
        raise
    except (OSError, EOFError, zlib.error, ValueError, AttributeError) as error:
        raise damaged([path], error) from error
    return posts


def _part_remover(remove: Sequence[str]) -> Callable[[str], str]:
    """Return a function that removes parts of a post by scikit-learn's rules for 20 Newsgroups."""
    from sklearn.datasets import _twenty_newsgroups as rules

    remove = as_list(remove, "remove")
    for part in remove:
        check_choice(part, "remove", _NEWS_PARTS)
    steps = {
        "headers": rules.strip_newsgroup_header,
        "footers": rules.strip_newsgroup_footer,
        "quotes": rules.strip_newsgroup_quoting,
    }
    selected = [step for part, step in steps.items() if part in remove]

    def strip(text: str) -> str:
        for step in selected:
            text = step(text)
        return text

    return strip


def _unit_rows(Y: Shaped[np.ndarray, "N M"]) -> Shaped[np.ndarray, "N M"]:
    """Scale rows to unit length; rows of zeros are unchanged."""
    lengths = np.linalg.norm(Y.astype(np.float64), axis=1, keepdims=True)
    return Y / np.where(lengths > 0, lengths, 1)


ENTRIES = {
    "newsgroups": DatasetEntry(
        loader=newsgroups,
        views=("words",),
        files=(_NEWS_FILE,),
        description=(
            "Word counts of 2,752 posts in alt.atheism, comp.sys.mac.hardware and sci.med. Headers, footers, quotes "
            "and stop words are removed; words that occur in 10 to 90 % of the posts are kept. This yields 20 words; "
            "the paper's 19 words are obtained from the training posts only (vocabulary_split='train')."
        ),
        origin="K. Lang; the '20news-bydate' version of J. Rennie's 20 Newsgroups page.",
        licence="None stated at the origin; public Usenet posts.",
    ),
    "movies": DatasetEntry(
        loader=movies,
        views=("keywords", "actors"),
        files=("movies.npz",),
        description="617 movies of 17 genres, described by keywords (1,878) and actors (1,398), as counts.",
        origin=f"{_GRIMAL} The movies come from IMDb.",
        licence="No terms are stated for the data.",
    ),
    "cora": DatasetEntry(
        loader=cora,
        views=_CORA_VIEWS[:2],
        files=("cora.npz",),
        description=(
            "2,708 papers on 7 subjects, described by their words (1,433, binary) and by citations in both "
            "directions (2,708; 2 if two papers cite each other). The views are sparse unless dense=True. The source "
            "only numbers the subjects; their names were inferred from the class sizes, which are all different."
        ),
        origin=f"{_GRIMAL} The papers come from LINQS (P. Sen et al. 2008, after A. McCallum).",
        licence="No terms are stated for the data.",
    ),
    "bbcsport": DatasetEntry(
        loader=bbcsport,
        views=("segment1", "segment2"),
        files=("bbcsport.npz",),
        description="544 sports articles on 5 topics, split into two segments; weighted and normalised term "
        "frequencies.",
        origin=(
            "D. Greene, University College Dublin; the two-view form of Y. Liang's Multi-view_Clustering collection."
        ),
        licence="None stated with this copy; the texts are the BBC's.",
    ),
}
