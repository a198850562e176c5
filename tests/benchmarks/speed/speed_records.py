"""Records with given metrics, as a run would store them."""

from pathlib import Path

from benchmarks.cells import DONE, Code, Record
from benchmarks.results import Results
from benchmarks.speed.benchmark_data import MNIST, N_MNIST, R_MNIST
from benchmarks.speed.methods import NAIVE, OURS
from benchmarks.speed.speed_plan import (
    MNIST_TARGET,
    R_MNIST_TARGET,
    STEPS,
    AccuracyCurve,
    curve_cell,
    speed_cell,
)
from benchmarks.store import Store

MACHINES = {"cpu": "a processor", "cuda": "a card"}


def record(cell, *, status=DONE, note="", run="first", machine=None, seconds=1.0, **metrics):
    return Record(
        cell=cell, status=status, seconds=seconds, machine=machine or MACHINES[cell.device], code=Code("0" * 40),
        run=run, metrics=metrics, note=note,
    )  # fmt: skip


def results(*records, quick=False):
    return Results("speed", [], [], list(records), Store(Path("nowhere")), quick)


def steps(method=OURS, n=N_MNIST, device="cpu"):
    return speed_cell(STEPS, method, MNIST, device, {"N": n})


def r_mnist(init="pca", device="cpu"):
    return curve_cell(AccuracyCurve(data=R_MNIST, target=R_MNIST_TARGET, init=init), OURS, device)


def mnist(method=OURS, device="cpu", target=MNIST_TARGET):
    return curve_cell(AccuracyCurve(data=MNIST, target=target), method, device)


def naive(cell):
    return type(cell)(**{**cell.as_json(), "method": NAIVE})


def point(seconds, quality, training=0.1):
    return {"n_steps": 10, "seconds": seconds, "training_seconds": training, "quality": quality}
