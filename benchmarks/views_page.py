"""The page docs/results/views.md: tables, verdicts and a figure from finished cells, and written text."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cells import CellFile, whole_seeds
from experiment import Experiment
from mvlvm.plots import plot_reliability, write
from result_page import TRIAL, Results, filled, section_text, verdicts
from views_text import CLAIMS, FIGURE, INTRODUCTION, SECTIONS

FIGURE_NAME = "views_reliability.png"


def write_page(experiments: Sequence[Experiment], file: CellFile, out: Path, *, trial: bool = False) -> Path:
    """Write the page and its figure, and return the path of the page; a trial run is marked as such."""
    cells = file.read()
    results = {e.name: Results(whole_seeds(cells, e.name, list(e.methods))) for e in experiments}
    parts = [
        filled(INTRODUCTION.format(version=file.version)),
        *([filled(TRIAL)] if trial else []),
        verdicts(CLAIMS, results),
    ]
    parts += [section_text(section, results[section.experiment]) for section in SECTIONS]
    out.mkdir(parents=True, exist_ok=True)
    curves = reliability_curves(results)
    if curves:
        write(plot_reliability(curves), out / FIGURE_NAME)
        parts.append(filled(FIGURE.format(name=FIGURE_NAME)))
    page = out / "views.md"
    page.write_text("\n\n".join(parts) + "\n")
    return page


def reliability_curves(results: Mapping[str, Results]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the coverage of intervals over all entries of all seeds, for experiments with error bars."""
    curves = {}
    for section in SECTIONS:
        ours = [by_method["ours"].numbers for by_method in results[section.experiment].cells.values() if section.curve]
        if ours:
            observed = np.average([n["observed"] for n in ours], axis=0, weights=[n["entries"] for n in ours])
            curves[section.curve] = (np.array(ours[0]["expected"]), observed)
    return curves
