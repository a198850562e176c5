"""Fit every single-view method to R-MNIST, and write docs/results/baselines.md with a comparison to the paper.

Run it with `.venv/bin/python benchmarks/baselines.py --seeds 0`. Finished cells are stored in
benchmarks/results/baselines.jsonl and not run again, so it can be interrupted. `--cells FILE` stores the cells of
another machine in a separate file, which `--merge FILE` copies here.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from baselines_page import METHODS, write_page
from cells import CellFile
from experiment import Effort, Experiment, Numbers
from mvlvm import NGMVLVM, baselines, datasets
from mvlvm.evaluation import nearest_neighbour_accuracy
from mvlvm.records import RESULTS_VERSION
from running import arguments, run_options, say

ROOT = Path(__file__).resolve().parents[1]


def _accuracy(method: str, seed: int, effort: Effort) -> Numbers:
    """Return the five-fold 1-NN accuracy in two latent dimensions, with default parameters."""
    data = datasets.load("r-mnist", random_state=seed)
    estimator = NGMVLVM if method == "NG-MVLVM" else baselines.get(method)
    latents = estimator(n_components=2, random_state=seed).fit_transform(data.views, data.labels)
    return {"accuracy": nearest_neighbour_accuracy(latents, data.labels)}


EXPERIMENTS = (Experiment("r-mnist", {method: partial(_accuracy, method) for method in METHODS}),)


def main(given: Sequence[str] | None = None) -> None:
    """Run the selected cells, and write the page of all finished cells."""
    options = arguments(__doc__.splitlines()[0], EXPERIMENTS, given)
    file = CellFile(ROOT / "benchmarks" / "results" / "baselines.jsonl", RESULTS_VERSION)
    if run_options(EXPERIMENTS, file, Effort(), options):
        say(f"wrote {write_page(file, options.out or ROOT / 'docs' / 'results')}")


if __name__ == "__main__":
    main()
