"""Omics data: label columns, log-normalised counts and selection of genes."""

import numpy as np

from mvlvm.datasets import load
from tests.datasets.real_data import need


@need("cll_partial.npz")
def test_label_columns_can_be_removed_from_the_mutations():
    with_labels, without = load("cll"), load("cll", label_columns=False)
    assert set(with_labels.columns["mutations"]) - set(without.columns["mutations"]) == {"IGHV", "trisomy12"}
    assert without["mutations"].shape == (200, 67)
    ighv = with_labels["mutations"][:, with_labels.columns["mutations"].index("IGHV")]
    known = with_labels.labels >= 0
    np.testing.assert_array_equal(ighv[known], with_labels.labels[known])
    assert np.bincount(load("cll", label="trisomy12").labels + 1).tolist() == [11, 160, 29]
    complete = np.all([~np.isnan(Y).all(axis=1) for Y in with_labels.values()], axis=0)
    assert complete.sum() == 32


@need("citeseq_pbmc.npz")
def test_log_values_are_normalised_and_the_most_variable_genes_are_kept():
    counts = load("citeseq-pbmc", views=("rna", "protein"))
    logs = load("citeseq-pbmc", views=("rna", "protein"), values="log", n_genes=500)
    totals = counts["rna"].astype(float).sum(axis=1)
    expected = np.log1p(counts["rna"] / totals[:, None] * np.median(totals))
    kept = [counts.columns["rna"].index(gene) for gene in logs.columns["rna"]]
    np.testing.assert_allclose(logs["rna"], expected[:, kept])
    assert np.delete(expected.var(axis=0), kept).max() <= expected[:, kept].var(axis=0).min()
    np.testing.assert_allclose(logs["protein"], np.log1p(counts["protein"].astype(float)))
    assert load("citeseq-pbmc", n_genes=7)["rna"].dtype.kind == "u"
