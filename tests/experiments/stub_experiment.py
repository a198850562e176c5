"""A stub experiment whose cells take no time, fail, crash or hang."""

import os
import time

from mvlvm.experiments.cells import Effort, Grid, Measurement
from mvlvm.experiments.experiment import Experiment, Page
from mvlvm.experiments.result_tables import Measure, comparison


def measure(cell):
    if cell.method == "broken":
        raise ValueError("it cannot be done")
    if cell.method == "absent":
        raise ModuleNotFoundError("pip install something")
    if cell.method == "deadly":
        os._exit(3)
    if cell.method == "slow":
        print("begun", flush=True)
        time.sleep(60)
    return Measurement({"KNN": 0.5 + cell.seed / 100, "rows": 10})


def write(results):
    return Page([comparison(results, data, [Measure("KNN", "KNN")], paper_table="multi-view") for data in results.data])


def experiment(methods=("NG-MVLVM", "MVAE"), data=("BRIDGES",), axes=None):
    grids = {effort: [Grid(data, methods, axes or {})] for effort in Effort}
    return Experiment(
        name="stub", title="Stub", source="Not in the paper.", grids=grids, measure=measure, write=write
    )  # fmt: skip
