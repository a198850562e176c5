"""An experiment that takes no time, for tests of everything around it."""

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


def write(found):
    return Page([comparison(found, data, [Measure("KNN", "KNN")], paper_table="multi-view") for data in found.data])


def experiment(methods=("NG-MVLVM", "MVAE"), data=("BRIDGES",), axes=None):
    grids = {effort: [Grid(data, methods, axes or {})] for effort in Effort}
    return Experiment(
        name="made-up", title="Made up", source="Nowhere.", grids=grids, measure=measure, write=write
    )  # fmt: skip
