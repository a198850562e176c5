"""Outcomes with given numbers, as a benchmark run would write them."""

from dataclasses import replace

from mvlvm.benchmarks.comparison import Results
from mvlvm.benchmarks.tasks import DONE, Outcome
from mvlvm.records import RESULTS_VERSION


def outcome(task, *, status=DONE, note="", run="first", machine=None, **numbers):
    machine = machine or {"cpu": "a processor", "cuda": "a card"}[task.device]
    return Outcome(
        task=task, status=status, machine=machine, version=RESULTS_VERSION, run=run, numbers=numbers, note=note
    )  # fmt: skip


def results(*outcomes):
    return Results({found.key: found for found in outcomes})


def on_gpu(task):
    return replace(task, device="cuda")
