"""The page on single-view methods."""

from baselines_page import PAPER, write_page
from cells import Cell, CellFile


def page_of(path, **accuracies):
    file = CellFile(path / "cells.jsonl", "1")
    for method, by_seed in accuracies.items():
        for seed, accuracy in enumerate(by_seed):
            file.append(Cell("r-mnist", method, seed, "1", 3.0, {"accuracy": accuracy}))
    return write_page(file, path / "out").read_text()


def test_means_are_compared_with_the_paper(tmp_path):
    page = page_of(tmp_path, PCA=[0.30, 0.40], VAE=[0.65])
    assert f"| PCA | {PAPER['PCA'][0]:.1f} ± 1.2 | 35.0 ± 5.0 | -1.6 | 2 | 3.0 |" in page
    assert "None of PCA" in page
    assert "| DCA" not in page


def test_methods_far_below_the_paper_are_named(tmp_path):
    assert "**More than 5 points below the paper: VAE.**" in page_of(tmp_path, PCA=[0.35], VAE=[0.59])
