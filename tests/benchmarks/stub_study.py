"""A study whose cells return, raise, return NaN, run too long or die, by the name of their method."""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from benchmarks.cells import Cell, Measurement
from benchmarks.runner import Runner
from benchmarks.store import Store
from benchmarks.study import Claim, Study, within

METHODS = ("good", "nan", "raises", "slow", "stubborn", "killed", "absent", "keeps", "odd")


def measure(cell):
    log = os.environ.get("STUB_LOG")
    if log:  # one line per execution
        with Path(log).open("a") as file:
            file.write(f"{os.getpid()} {cell.label}\n")
    if cell.method == "nan":
        return Measurement({"accuracy": float("nan"), "rows": 3})
    if cell.method == "odd":  # a value that JSON cannot represent
        return Measurement({"accuracy": {0.5}})
    if cell.method == "raises":
        raise ValueError("the views are wrong")
    if cell.method == "absent":
        raise ModuleNotFoundError("no module named 'nowhere'")
    if cell.method == "slow":
        time.sleep(60)
    if cell.method == "keeps":  # as a method that keeps its unfinished fit
        with suppress(KeyboardInterrupt):
            time.sleep(60)
    if cell.method == "stubborn":
        while True:
            with suppress(KeyboardInterrupt):
                time.sleep(60)
    if cell.method == "busy":
        sum(k for k in range(10**12))
    if cell.method == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if cell.method == "half a second":
        time.sleep(0.5)
    return Measurement({"accuracy": 0.5 + cell.seed / 100}, {"latents": np.full(3, cell.seed)})


def page(results):
    return [f"{len(results.done)} cells are done."]


def accuracy_claim(results):
    values = [record.metrics["accuracy"] for record in results.done]
    return within(min(values), f"{min(values):.2f}", lowest=0.5) if values else None


def make_study(methods=METHODS, data=("A",), **fields):
    def cells(seed, quick):
        size = {"quick": True} if quick else {}
        return [
            Cell(study="stub", method=method, data=name, seed=seed, settings=size)
            for name in data
            for method in methods
        ]

    defaults = {"n_seeds": 1, "claims": [Claim("the accuracy is at least 0.5", accuracy_claim)]}
    return Study(
        name="stub", title="A stub", what="Nothing is measured.", group="quality", cells=cells, measure=measure,
        page=page, **{**defaults, **fields},
    )  # fmt: skip


def run_study(study, store, **fields):
    records = []
    Runner(**fields).run(study.all_cells(), {study.name: study}, store, records.append)
    return records


if __name__ == "__main__":  # python -m tests.benchmarks.stub_study FOLDER METHODS N_SEEDS FRESH
    folder, methods, n_seeds, fresh = sys.argv[1:]
    run_study(
        make_study(methods.split(","), n_seeds=int(n_seeds)), Store(Path(folder)),
        n_processes=1 if fresh == "True" else 2, fresh_process=fresh == "True",
    )  # fmt: skip
