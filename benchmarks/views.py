"""Measure missing entries, new rows and predictions, and write docs/results/views.md.

Run it with `make results-views`, or `.venv/bin/python benchmarks/views.py --only cll --seeds 0`. It takes hours on two
cores. Finished cells are stored in benchmarks/results/views.jsonl and not run again, so it can be interrupted.
"""

from collections.abc import Sequence
from pathlib import Path

from cells import CellFile
from experiment import Effort
from mvlvm.records import RESULTS_VERSION
from predicting_views import EXPERIMENTS as PREDICTING
from running import arguments, run_options, say
from using_latents import EXPERIMENTS as USING
from views_page import write_page

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENTS = (*PREDICTING, *USING)
_QUICK = Effort(most_steps=5, mofa_iter=5, chained_rounds=1, speed_rows=300)


def main(given: Sequence[str] | None = None) -> None:
    """Run the selected cells, and write the page of all finished cells."""
    options = arguments(__doc__.splitlines()[0], EXPERIMENTS, given)
    results = ROOT / "benchmarks" / "results"
    if options.quick:
        results = results / "quick"
    file = CellFile(results / "views.jsonl", RESULTS_VERSION)
    if run_options(EXPERIMENTS, file, _QUICK if options.quick else Effort(), options):
        out = options.out or (results if options.quick else ROOT / "docs" / "results")
        say(f"wrote {write_page(EXPERIMENTS, file, out, trial=options.quick)}")


if __name__ == "__main__":
    main()
