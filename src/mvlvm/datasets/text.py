"""Texts and links: news, films by their keywords and actors, papers by their words and citations."""

import gzip
import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Shaped

from mvlvm.checks import check_choice, check_flag, check_number
from mvlvm.datasets.choosing import SPLITS, OptionError, as_list, choose_views, class_numbers
from mvlvm.datasets.dataset import Dataset
from mvlvm.datasets.entry import Entry
from mvlvm.datasets.store import FileStore, damaged

_NEWS_FILE = "newsgroups3.jsonl.gz"
_NEWS_PARTS = ("headers", "footers", "quotes")
_CORA_VIEWS = ("content", "citations", "inbound", "outbound")
_GRIMAL = (
    "The multi-view sets of C. Grimal and G. Bisson (LIG Grenoble), as carried by the R package ORKM 0.8.0.0 "
    "(G. Guo, M. Yu, H. Song, R. Niu)."
)


def newsgroups(
    store: FileStore, seed: int, *, split: str = "all", vocabulary_split: str = "all", min_df: float = 0.1,
    max_df: float = 0.9, remove: Sequence[str] = _NEWS_PARTS, stop_words: str | None = "english",
) -> Dataset:  # fmt: skip
    """Count words in the posts of three newsgroups.

    Args:
        store: where files come from.
        seed: not used; nothing is drawn.
        split: "all", "train" or "test".
        vocabulary_split: the posts that decide which words are counted; "all" gives 20, "train" the paper's 19.
        min_df: leave out words that are in a smaller share of the posts.
        max_df: leave out words that are in a larger share of the posts.
        remove: what to strip first, of "headers", "footers" and "quotes".
        stop_words: "english" leaves out the commonest words, None keeps them.
    """
    check_choice(split, "split", SPLITS)
    check_choice(vocabulary_split, "vocabulary_split", SPLITS)
    check_choice(stop_words, "stop_words", ("english", None))
    shares = _share(min_df, "min_df"), _share(max_df, "max_df")
    strip = _stripper(remove)
    posts = _read_posts(store)
    texts = [strip(post["text"]) for post in posts if vocabulary_split in ("all", post["split"])]
    vectoriser = _word_counter(texts, shares, stop_words)
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


def movies(store: FileStore, seed: int, *, unit_rows: bool = False) -> Dataset:
    """Give films by their keywords and by their actors.

    Args:
        store: where files come from.
        seed: not used; nothing is drawn.
        unit_rows: scale every row to unit length, so that films with many entries do not stand apart.
    """
    check_flag(unit_rows, "unit_rows")
    keywords, actors, labels = store.arrays("movies.npz", "keywords", "actors", "label")
    views = {"keywords": keywords, "actors": actors}
    if unit_rows:
        views = {name: _unit_rows(Y) for name, Y in views.items()}
    return Dataset(views, class_numbers(labels), tuple(f"genre {k}" for k in range(1, 18)))


def cora(
    store: FileStore, seed: int, *, views: Sequence[str] = _CORA_VIEWS[:2], unit_rows: bool = False,
    dense: bool = False,
) -> Dataset:  # fmt: skip
    """Give papers by their words and by their citations.

    Args:
        store: where files come from.
        seed: not used; nothing is drawn.
        views: of "content" (words), "citations" (both ways), "inbound" and "outbound".
        unit_rows: scale every row to unit length.
        dense: give ordinary arrays; otherwise the views are sparse, and estimators make them dense.
    """
    from scipy.sparse import csr_array

    names = choose_views(_CORA_VIEWS, views)
    check_flag(unit_rows, "unit_rows")
    check_flag(dense, "dense")
    *tables, labels, label_names = store.arrays("cora.npz", *names, "label", "label_names")
    if unit_rows:
        tables = [_unit_rows(table) for table in tables]
    return Dataset(
        {name: table if dense else csr_array(table) for name, table in zip(names, tables, strict=True)},
        class_numbers(labels),
        tuple(str(name).replace("_", " ") for name in label_names),
    )


def bbcsport(store: FileStore, seed: int) -> Dataset:
    """Give sports news in two segments of each article, words already weighted and normalised.

    Args:
        store: where files come from.
        seed: not used; nothing is drawn.
    """
    first, second, labels = store.arrays("bbcsport.npz", "segment1", "segment2", "label")
    names = tuple(f"topic {k}" for k in range(1, 6))
    return Dataset({"segment1": first, "segment2": second}, class_numbers(labels), names)


def _share(value: float, parameter: str) -> float:
    share = check_number(value, parameter, positive=False)
    if share > 1:
        raise ValueError(f"{parameter} must be a share of the posts, from 0 to 1. Got {value!r}.")
    return share


def _word_counter(texts: Sequence[str], shares: tuple[float, float], stop_words: str | None) -> Any:
    """Give scikit-learn's counter of the words that are in neither too few nor too many of the texts."""
    from sklearn.feature_extraction.text import CountVectorizer

    least, most = shares
    # the stubs take min_df for a number of posts only
    vectoriser = CountVectorizer(min_df=least, max_df=most, stop_words=stop_words)  # pyright: ignore[reportArgumentType]
    try:
        return vectoriser.fit(texts)
    except ValueError as error:
        raise OptionError(
            f"No word is left: none is in {least:g} to {most:g} of the posts. Give a smaller min_df or a larger max_df."
        ) from error


def _read_posts(store: FileStore) -> list[dict[str, Any]]:
    path = store.find(_NEWS_FILE)
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            posts = [json.loads(line) for line in lines]
        if not posts:
            raise ValueError("it is empty")
        if not all(isinstance(post.get(key), str) for post in posts for key in ("label", "split", "id", "text")):
            raise ValueError("a line lacks its label, split, id or text")
        if not all(post["split"] in SPLITS[1:] for post in posts):
            raise ValueError("a line is neither of the training nor of the test set")
    except PermissionError:
        raise
    except (OSError, EOFError, zlib.error, ValueError, AttributeError) as error:
        raise damaged([path], error) from error
    return posts


def _stripper(remove: Sequence[str]) -> Callable[[str], str]:
    """Give a function that takes away parts of a post, by the rules that scikit-learn has for this collection."""
    from sklearn.datasets import _twenty_newsgroups as rules

    remove = as_list(remove, "remove")
    for part in remove:
        check_choice(part, "remove", _NEWS_PARTS)
    steps = {
        "headers": rules.strip_newsgroup_header,
        "footers": rules.strip_newsgroup_footer,
        "quotes": rules.strip_newsgroup_quoting,
    }
    wanted = [step for part, step in steps.items() if part in remove]

    def strip(text: str) -> str:
        for step in wanted:
            text = step(text)
        return text

    return strip


def _unit_rows(Y: Shaped[np.ndarray, "N M"]) -> Shaped[np.ndarray, "N M"]:
    """Scale rows to unit length; empty ones stay empty."""
    lengths = np.linalg.norm(Y.astype(np.float64), axis=1, keepdims=True)
    return Y / np.where(lengths > 0, lengths, 1)


ENTRIES = {
    "newsgroups": Entry(
        recipe=newsgroups,
        views=("words",),
        files=(_NEWS_FILE,),
        description=(
            "Word counts of 2,752 posts in alt.atheism, comp.sys.mac.hardware and sci.med. Headers, footers, quotes "
            "and stop words are taken out; words that appear in 10 to 90 % of the posts remain. That is 20 words; "
            "the paper's 19 are those of the training posts alone (vocabulary_split='train')."
        ),
        origin="K. Lang; the '20news-bydate' version of J. Rennie's 20 Newsgroups page.",
        licence="None stated at the origin; public Usenet posts.",
    ),
    "movies": Entry(
        recipe=movies,
        views=("keywords", "actors"),
        files=("movies.npz",),
        description="617 films of 17 genres by their keywords (1,878) and their actors (1,398), as counts.",
        origin=f"{_GRIMAL} The films come from IMDb.",
        licence="No terms are stated for the data.",
    ),
    "cora": Entry(
        recipe=cora,
        views=_CORA_VIEWS[:2],
        files=("cora.npz",),
        description=(
            "2,708 papers on 7 subjects by the words they hold (1,433, yes or no) and the papers that they cite or are "
            "cited by (2,708; 2 where two papers cite each other). The views are sparse unless dense=True. The origin "
            "only numbers the subjects; their names were inferred from the class sizes, which are all different."
        ),
        origin=f"{_GRIMAL} The papers come from LINQS (P. Sen et al. 2008, after A. McCallum).",
        licence="No terms are stated for the data.",
    ),
    "bbcsport": Entry(
        recipe=bbcsport,
        views=("segment1", "segment2"),
        files=("bbcsport.npz",),
        description="544 sports articles on 5 topics, cut into two segments; words weighted and normalised.",
        origin=(
            "D. Greene, University College Dublin; the two-view form of Y. Liang's Multi-view_Clustering collection."
        ),
        licence="None stated with this copy; the texts are the BBC's.",
    ),
}
