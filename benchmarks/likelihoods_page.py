"""The page docs/results/likelihoods.md: tables and verdicts from finished cells, and written text."""

from collections.abc import Sequence
from pathlib import Path

from cells import CellFile, whole_seeds
from experiment import Experiment
from likelihoods_text import CLAIMS, INTRODUCTION, SECTIONS
from result_page import TRIAL, Results, filled, section_text, verdicts


def write_page(experiments: Sequence[Experiment], file: CellFile, out: Path, *, trial: bool = False) -> Path:
    """Write the page and return its path; a trial run is marked as such."""
    cells = file.read()
    results = {e.name: Results(whole_seeds(cells, e.name, list(e.methods))) for e in experiments}
    parts = [filled(INTRODUCTION.format(version=file.version)), *([filled(TRIAL)] if trial else [])]
    parts.append(verdicts(CLAIMS, results))
    parts += [section_text(section, results[section.experiment], CLAIMS) for section in SECTIONS]
    out.mkdir(parents=True, exist_ok=True)
    page = out / "likelihoods.md"
    page.write_text("\n\n".join(parts) + "\n")
    return page
