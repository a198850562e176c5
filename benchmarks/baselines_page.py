"""The page docs/results/baselines.md: single-view methods on R-MNIST compared with the paper."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cells import CellFile
from result_page import filled, markdown

# Mean and standard deviation of the paper's single-view table, 1-NN in percent. Its "LDA" is ambiguous.
PAPER = {
    "PCA": (36.56, 1.23), "linear discriminant analysis": (23.38, 2.69), "latent Dirichlet allocation": (23.38, 2.69),
    "Isomap": (44.45, 2.14), "HPF": (31.49, 4.02), "BGPLVM": (56.75, 3.37), "GPLVM-SVI": (34.41, 5.48),
    "DGPLVM": (74.82, 2.24), "VAE": (64.37, 2.16), "NBVAE": (28.18, 1.2), "DCA": (17.19, 7.54),
    "CVQ-VAE": (12.87, 0.53), "RFLVM": (60.2, 5.53), "ARFLVM": (79.59, 1.52), "NG-MVLVM": (80.99, 0.59),
}  # fmt: skip
METHODS = tuple(PAPER)
# Methods that should be reproducible: they must not be further below the paper than this.
WITHIN_REACH = ("PCA", "Isomap", "VAE", "BGPLVM", "GPLVM-SVI", "ARFLVM")
MOST_BEHIND = 5.0

INTRODUCTION = """
# Single-view methods

R-MNIST, 1,000 digits drawn by the seed, two latent dimensions, five-fold accuracy of 1-NN in percent; every method with
its defaults. Linear discriminant analysis uses the labels of all rows, so its accuracy says nothing about new rows.
`benchmarks/baselines.py` generates this page from `benchmarks/results/baselines.jsonl`. Version {version}.
"""


def write_page(file: CellFile, out: Path) -> Path:
    """Write the page and return its path."""
    rows = [["method", "paper", "ours", "difference", "seeds", "seconds"]]
    found = {method: _values(file, method) for method in METHODS}
    for method, (accuracies, seconds) in found.items():
        if accuracies:
            ours, spread = np.mean(accuracies), np.std(accuracies)
            paper, paper_spread = PAPER[method]
            rows.append([
                method, f"{paper:.1f} ± {paper_spread:.1f}", f"{ours:.1f} ± {spread:.1f}", f"{ours - paper:+.1f}",
                str(len(accuracies)), f"{np.mean(seconds):.1f}",
            ])  # fmt: skip
    behind = [
        method
        for method in WITHIN_REACH
        if found[method][0] and np.mean(found[method][0]) < PAPER[method][0] - MOST_BEHIND
    ]
    verdict = f"None of {', '.join(WITHIN_REACH)} is more than {MOST_BEHIND:g} points below the paper."
    if behind:
        verdict = f"**More than {MOST_BEHIND:g} points below the paper: {', '.join(behind)}.**"
    out.mkdir(parents=True, exist_ok=True)
    page = out / "baselines.md"
    introduction = INTRODUCTION.format(version=file.version).strip()
    page.write_text("\n\n".join([introduction, markdown(rows), filled(verdict)]) + "\n")
    return page


def _values(file: CellFile, method: str) -> tuple[Sequence[float], Sequence[float]]:
    cells = [cell for cell in file.read().values() if cell.method == method]
    return [100 * cell.numbers["accuracy"] for cell in cells], [cell.seconds for cell in cells]
