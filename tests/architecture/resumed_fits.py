"""Fits that are stopped after some step, stored, and continued in a new process.

`python -m tests.architecture.resumed_fits FOLDER CASE DTYPE` continues a golden case from every snapshot in a folder,
and writes the hashes of the results beside it.
"""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

from mvlvm.estimators.fit_snapshot import Snapshot, pack_fit
from mvlvm.training.interrupts import Interrupts
from tests.architecture import golden

ROOT = Path(__file__).parents[2]


def fit_from(snapshot=None, callbacks=()):
    """Return a function that fits an estimator, from a snapshot or from the beginning."""

    def fit(est, views, sample_weight=None):
        est._fit(views, sample_weight, Interrupts(), snapshot=snapshot, callbacks=callbacks)

    return fit


def hashes(case, dtype, **arguments):
    found = golden.results(case, dtype, fit=fit_from(**arguments))
    return {name: golden.digest(result) for name, result in found.items()}


def count_steps(case, dtype):
    """Return the number of steps of a case, those of trials included."""
    (est, views, arguments), steps = golden.CASES[case](), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = fit_from(callbacks=[lambda *_: steps.append(1)])
        fit(est.set_params(dtype=dtype, tol=golden.tolerance(est), random_state=3), views, **arguments)
    return len(steps)


def differences_after_resuming(case, dtype, folder, n_stops, seed=0):
    """Stop a case after random steps, continue in a new process, and return the names of results that differ.

    Args:
        case: name of the golden case.
        dtype: of the fit.
        folder: for the snapshots.
        n_stops: number of steps after which the fit is stopped.
        seed: of these steps.
    """
    n_steps = count_steps(case, dtype)
    # the last step too: what follows, such as the selection of dimensions, needs the state as well
    stops = {n_steps - 1, *np.random.default_rng(seed).permutation(n_steps - 1)[: n_stops - 1].tolist()}
    seen = []

    def store(problem, state):
        if len(seen) in stops:
            header, arrays = pack_fit(problem, state)
            save_file(arrays, folder / f"{len(seen)}.safetensors")
            (folder / f"{len(seen)}.header.json").write_text(json.dumps(header))
        seen.append(1)

    expected = hashes(case, dtype, callbacks=[store])
    command = [sys.executable, "-m", "tests.architecture.resumed_fits", str(folder), case, dtype]
    subprocess.run(command, cwd=ROOT, check=True)
    differ = []
    for stop in sorted(stops):
        found = json.loads((folder / f"{stop}.results.json").read_text())
        differ += [f"step {stop}: {name}" for name in expected if found[name] != expected[name]]
    return differ


def continue_all(folder, case, dtype):
    for header in Path(folder).glob("*.header.json"):
        stop = header.name.split(".")[0]
        snapshot = Snapshot(json.loads(header.read_text()), load_file(header.with_name(f"{stop}.safetensors")))
        header.with_name(f"{stop}.results.json").write_text(json.dumps(hashes(case, dtype, snapshot=snapshot)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    continue_all(*sys.argv[1:])
