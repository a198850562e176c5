"""Running the cells of a benchmark from the command line, here or on several machines."""

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
    """Give the machine in words: its GPU if it is used, or how many of its cores are."""
    if device != "cpu" and torch.cuda.is_available():
        return torch.cuda.get_device_name(0)
    n_threads = torch.get_num_threads()
    return f"CPU, {n_threads} of {os.cpu_count()} cores"


def measure(experiment: Experiment, method: str, seed: int, effort: Effort) -> Cell:
    """Run one method on one seed; all fits end by their number of steps, which need not be said every time."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        for expected in (ConvergenceWarning, ViewWarning, ScikitConvergenceWarning):
            warnings.simplefilter("ignore", expected)
        numbers = experiment.methods[method](seed, effort)
    seconds = round(time.perf_counter() - begin, 2)
    return Cell(experiment.name, method, seed, RESULTS_VERSION, seconds, numbers, machine(effort.device))


def run(experiments: Sequence[Experiment], seeds: Sequence[int], file: CellFile, effort: Effort,
        *, again: Sequence[str] = (), elsewhere: CellFile | None = None) -> None:  # fmt: skip
    """Run all cells that have not finished yet, one after another. One that fails does not keep the rest from running.

    Args:
        experiments: what to run.
        seeds: on which seeds.
        file: the finished cells.
        effort: how much work a cell may be.
        again: methods to run even though they have finished.
        elsewhere: more finished cells, to be read only.

    Raises:
        Exception: that of the first cell that failed, when all others are done.
    """
    finished = {**(elsewhere.read() if elsewhere else {}), **file.read()}
    failures: list[Exception] = []
    for experiment in experiments:
        for seed in seeds[: experiment.most_seeds]:
            for method in experiment.methods:
                name = f"{experiment.name}, seed {seed}, {method}"
                if (experiment.name, method, seed) in finished and method not in again:
                    say(f"{name}: at hand")
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
    """Read the command line."""
    parser = argparse.ArgumentParser(description=description)
    names, methods = [e.name for e in experiments], sorted({m for e in experiments for m in e.methods})
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--methods", nargs="+", choices=methods, default=methods, metavar="METHOD",
                        help=", ".join(methods))  # fmt: skip
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4], metavar="SEED")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto", help="of our fits")
    why = "run these although they have finished: the model has changed, its version has not"
    parser.add_argument("--again", nargs="+", choices=methods, default=[], metavar="METHOD", help=why)
    parser.add_argument("--cells", type=Path, metavar="FILE",
                        help="add finished cells to this file, to be merged later, and write no page")  # fmt: skip
    parser.add_argument("--merge", nargs="+", type=Path, default=[], metavar="FILE",
                        help="take over the cells of such files, run nothing, write the page")  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="for the page and its figure; default docs/results")
    parser.add_argument("--quick", action="store_true", help=argparse.SUPPRESS)  # to try the script, not the model
    return parser.parse_args(given)


def chosen(experiments: Sequence[Experiment], options: argparse.Namespace) -> list[Experiment]:
    """Give the experiments that were asked for, with the methods that were asked for."""
    return [
        replace(experiment, methods={name: m for name, m in experiment.methods.items() if name in options.methods})
        for experiment in experiments
        if experiment.name in options.only
    ]


def run_options(experiments: Sequence[Experiment], results: CellFile, effort: Effort,
                options: argparse.Namespace) -> bool:  # fmt: skip
    """Do what the command line asks for.

    Args:
        experiments: all of the benchmark's.
        results: where cells are kept.
        effort: how much work a cell may be.
        options: of the command line.

    Returns:
        Whether the results' file may have grown, so that the page is to be written.
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
