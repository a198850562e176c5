"""Measure the likelihoods, and write docs/results/likelihoods.md.

Run it with `make results-likelihoods`, or `.venv/bin/python benchmarks/likelihoods.py --only own-poisson --seeds 0`.
Finished cells are stored in benchmarks/results/likelihoods.jsonl and not run again, so it can be interrupted.
`--cells FILE` stores the cells of another machine in a separate file, which `--merge FILE` copies here.
"""

from collections.abc import Sequence
from pathlib import Path

from binary_images import EXPERIMENTS as BINARY
from cell_counts import EXPERIMENTS as COUNTS
from cells import CellFile
from experiment import Effort
from found_structure import EXPERIMENTS as STRUCTURE
from held_out_labels import EXPERIMENTS as LABELS
from likelihoods_page import write_page
from mathematics import EXPERIMENTS as MATHEMATICS
from mvlvm.records import RESULTS_VERSION
from own_models import EXPERIMENTS as OWN
from running import arguments, run_options, say

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENTS = (*OWN, *BINARY, *LABELS, *STRUCTURE, *COUNTS, *MATHEMATICS)
_QUICK = Effort(most_steps=3)


def main(given: Sequence[str] | None = None) -> None:
    """Run the selected cells, and write the page of all finished cells."""
    options = arguments(__doc__.splitlines()[0], EXPERIMENTS, given)
    results = ROOT / "benchmarks" / "results"
    if options.quick:
        results = results / "quick"
    file = CellFile(results / "likelihoods.jsonl", RESULTS_VERSION)
    if run_options(EXPERIMENTS, file, _QUICK if options.quick else Effort(), options):
        out = options.out or (results if options.quick else ROOT / "docs" / "results")
        say(f"wrote {write_page(EXPERIMENTS, file, out, trial=options.quick)}")


if __name__ == "__main__":
    main()
