"""Measure what the model does with views as people have them, and write docs/results/views.md.

Run it with `make results-views`, or `.venv/bin/python benchmarks/views.py --only cll --seeds 0`. It takes hours on two
cores. Finished cells are kept in benchmarks/results/views.jsonl and not run again, so it may be interrupted.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning as ScikitConvergenceWarning

from cells import Cell, CellFile
from experiment import Effort, Experiment
from mvlvm import ConvergenceWarning, ViewWarning, __version__
from predicting_views import EXPERIMENTS as PREDICTING
from using_latents import EXPERIMENTS as USING
from views_page import write_page

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENTS = (*PREDICTING, *USING)
_QUICK = Effort(most_steps=5, mofa_iter=5, chained_rounds=1, speed_rows=300)


def say(text: str) -> None:
    """Report progress."""
    print(text, file=sys.stderr, flush=True)


def measure(experiment: Experiment, method: str, seed: int, effort: Effort) -> Cell:
    """Run one method on one seed; all fits end by their number of steps, which need not be said every time."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        for expected in (ConvergenceWarning, ViewWarning, ScikitConvergenceWarning):
            warnings.simplefilter("ignore", expected)
        numbers = experiment.methods[method](seed, effort)
    return Cell(experiment.name, method, seed, __version__, round(time.perf_counter() - begin, 2), numbers)


def run(experiments: Sequence[Experiment], seeds: Sequence[int], file: CellFile, effort: Effort,
        *, again: Sequence[str] = ()) -> None:  # fmt: skip
    """Run all cells that have not finished yet, one after another.

    Args:
        experiments: what to run.
        seeds: on which seeds.
        file: the finished cells.
        effort: how much work a cell may be.
        again: methods to run even though they have finished.
    """
    finished = file.read()
    for experiment in experiments:
        for seed in seeds[: experiment.most_seeds]:
            for method in experiment.methods:
                name = f"{experiment.name}, seed {seed}, {method}"
                if (experiment.name, method, seed) in finished and method not in again:
                    say(f"{name}: at hand")
                    continue
                say(f"{name} ...")
                cell = measure(experiment, method, seed, effort)
                file.append(cell)
                shown = {key: round(value, 3) for key, value in cell.numbers.items() if not isinstance(value, list)}
                say(f"{name}: {shown} in {cell.seconds:.0f} s")


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names, methods = [e.name for e in EXPERIMENTS], sorted({m for e in EXPERIMENTS for m in e.methods})
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4], metavar="SEED")
    why = "run these although they have finished: the model has changed, its version has not"
    parser.add_argument("--again", nargs="+", choices=methods, default=[], metavar="METHOD", help=why)
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="for the page and its figure; default docs/results")
    parser.add_argument("--quick", action="store_true", help=argparse.SUPPRESS)  # to try the script, not the model
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> None:
    """Run what is asked for, and write the page about everything that has finished."""
    options = arguments(given)
    results = ROOT / "benchmarks" / "results"
    if options.quick:
        results = results / "quick"
    file = CellFile(results / "views.jsonl", __version__)
    run(
        [experiment for experiment in EXPERIMENTS if experiment.name in options.only],
        options.seeds, file, _QUICK if options.quick else Effort(), again=options.again,
    )  # fmt: skip
    out = options.out or (results if options.quick else ROOT / "docs" / "results")
    say(f"wrote {write_page(EXPERIMENTS, file, out, trial=options.quick)}")


if __name__ == "__main__":
    main()
