"""Running the cells of a benchmark from the command line, on one or several machines."""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from sklearn.exceptions import ConvergenceWarning as ScikitConvergenceWarning

from cells import Cell, CellFile
from experiment import Effort, Experiment
from mvlvm import ConvergenceWarning, ViewWarning
from mvlvm.records import RESULTS_VERSION


def say(text: str) -> None:
    """Report progress."""
    print(text, file=sys.stderr, flush=True)


def machine(device: str) -> str:
    """Return a description of the machine: its GPU if used, or the number of cores."""
    if device != "cpu" and torch.cuda.is_available():
        return torch.cuda.get_device_name(0)
    n_threads = torch.get_num_threads()
    return f"CPU, {n_threads} of {os.cpu_count()} cores"


def measure(experiment: Experiment, method: str, seed: int, effort: Effort) -> Cell:
    """Run one method on one seed; expected warnings on the number of steps are ignored."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        for expected in (ConvergenceWarning, ViewWarning, ScikitConvergenceWarning):
            warnings.simplefilter("ignore", expected)
        numbers = experiment.methods[method](seed, effort)
    seconds = round(time.perf_counter() - begin, 2)
    return Cell(experiment.name, method, seed, RESULTS_VERSION, seconds, numbers, machine(effort.device))


def run(experiments: Sequence[Experiment], seeds: Sequence[int], file: CellFile, effort: Effort,
        *, again: Sequence[str] = (), elsewhere: CellFile | None = None) -> None:  # fmt: skip
    """Run all unfinished cells, one after another. A failure does not stop the other cells.

    Args:
        experiments: experiments to run.
        seeds: seeds to run.
        file: file of finished cells.
        effort: limits on the work of a cell.
        again: methods to run even if they have finished.
        elsewhere: read-only file of more finished cells.

    Raises:
        Exception: that of the first failed cell, after all others have run.
    """
    finished = {**(elsewhere.read() if elsewhere else {}), **file.read()}
    failures: list[Exception] = []
    for experiment in experiments:
        for seed in seeds[: experiment.most_seeds]:
            for method in experiment.methods:
                name = f"{experiment.name}, seed {seed}, {method}"
                if (experiment.name, method, seed) in finished and method not in again:
                    say(f"{name}: already finished")
                    continue
                say(f"{name} ...")
                try:
                    cell = measure(experiment, method, seed, effort)
                    file.append(cell)
                except Exception as failure:
                    say(f"{name}: FAILED, {type(failure).__name__}: {failure}")
                    failures.append(failure)
                    continue
                numbers = {key: value for key, value in cell.numbers.items() if not isinstance(value, list)}
                shown = ", ".join(f"{key} {value:.4g}" for key, value in numbers.items())
                say(f"{name}: {shown} in {cell.seconds:.0f} s")
    if failures:
        raise failures[0]


def arguments(
    description: str, experiments: Sequence[Experiment], given: Sequence[str] | None = None
) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=description)
    names, methods = [e.name for e in experiments], sorted({m for e in experiments for m in e.methods})
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--methods", nargs="+", choices=methods, default=methods, metavar="METHOD",
                        help=", ".join(methods))  # fmt: skip
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4], metavar="SEED")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto", help="device of our fits")
    why = "run these methods again: for changes of the model within one version"
    parser.add_argument("--again", nargs="+", choices=methods, default=[], metavar="METHOD", help=why)
    parser.add_argument("--cells", type=Path, metavar="FILE",
                        help="store finished cells in this file, to be merged later, and write no page")  # fmt: skip
    parser.add_argument("--merge", nargs="+", type=Path, default=[], metavar="FILE",
                        help="copy the cells of these files, run nothing, and write the page")  # fmt: skip
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="folder of the page and its figure; default docs/results"
    )
    parser.add_argument("--quick", action="store_true", help=argparse.SUPPRESS)  # to try the script, not the model
    return parser.parse_args(given)


def chosen(experiments: Sequence[Experiment], options: argparse.Namespace) -> list[Experiment]:
    """Return the selected experiments with the selected methods."""
    return [
        replace(experiment, methods={name: m for name, m in experiment.methods.items() if name in options.methods})
        for experiment in experiments
        if experiment.name in options.only
    ]


def run_options(experiments: Sequence[Experiment], results: CellFile, effort: Effort,
                options: argparse.Namespace) -> bool:  # fmt: skip
    """Run or merge cells as the command line specifies.

    Args:
        experiments: all experiments of the benchmark.
        results: file of the cells.
        effort: limits on the work of a cell.
        options: options of the command line.

    Returns:
        Whether the file of results may have changed, so that the page is to be written.
    """
    if options.merge:
        say(f"{results.merge(options.merge)} cells are new")
        return True
    effort = replace(effort, device=options.device)
    work = chosen(experiments, options)
    if options.cells is None:
        run(work, options.seeds, results, effort, again=options.again)
        return True
    run(work, options.seeds, CellFile(options.cells, RESULTS_VERSION), effort, again=options.again, elsewhere=results)
    return False
