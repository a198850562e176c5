"""Fit every single-view method to R-MNIST, and write docs/results/baselines.md beside the paper's numbers.

Run it with `.venv/bin/python benchmarks/baselines.py --seeds 0`. Finished cells are kept in
benchmarks/results/baselines.jsonl and not run again, so it may be interrupted. With `--cells FILE` another machine's
cells go to a file of their own, which `--merge FILE` takes over here.
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
    """Give the five-fold accuracy of 1-NN in two latent dimensions, every parameter at its default."""
    data = datasets.load("r-mnist", random_state=seed)
    estimator = NGMVLVM if method == "NG-MVLVM" else baselines.get(method)
    latents = estimator(n_components=2, random_state=seed).fit_transform(data.views, data.labels)
    return {"accuracy": nearest_neighbour_accuracy(latents, data.labels)}


EXPERIMENTS = (Experiment("r-mnist", {method: partial(_accuracy, method) for method in METHODS}),)


def main(given: Sequence[str] | None = None) -> None:
    """Run what is asked for, and write the page about everything that has finished."""
    options = arguments(__doc__.splitlines()[0], EXPERIMENTS, given)
    file = CellFile(ROOT / "benchmarks" / "results" / "baselines.jsonl", RESULTS_VERSION)
    if run_options(EXPERIMENTS, file, Effort(), options):
        say(f"wrote {write_page(file, options.out or ROOT / 'docs' / 'results')}")


if __name__ == "__main__":
    main()
