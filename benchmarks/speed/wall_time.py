"""Wall time of complete fits by number of rows: one protocol for the paper's methods and those of other libraries."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import torch

from benchmarks.cells import DONE, QUICK, STOPPED, Cell, Measurement, Record
from benchmarks.results import Results
from benchmarks.speed.benchmark_data import DIGITS, MNIST, N_MNIST
from benchmarks.speed.device_results import DEVICE_TITLES, DeviceResults, device_results, machine_line
from benchmarks.speed.methods import METHODS, make_method
from benchmarks.speed.speed_measurement import accuracy_of, cell_data, timed_fit, warm_up
from benchmarks.speed.speed_plan import DEVICES
from benchmarks.study import PageFigure, PagePart, Study
from benchmarks.tables import NOTHING, ResultTable, duration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAME = "wall-time"
_N_ROWS = (500, 1000, 2000, 5000, 10_000, 20_000, N_MNIST)
_QUICK_N_ROWS = (120,)
# Largest numbers of rows: exact Gaussian processes cost N^3 and N^2 memory, Markov chains would take hours, and
# neighbour graphs and factor models have large constants.
_MAX_ROWS = {
    "MV-GPLVM": 1000, "MV-NGPLVM": 1000, "MV-RFLVM": 1000, "MV-GPLVM-SVI": 10_000, "MV-DGPLVM": 10_000, "MRD": 10_000,
    "BGPLVM": 10_000, "GPyTorch GPLVM": 10_000, "GFA": 10_000, "Isomap": 10_000, "t-SNE": 20_000,
}  # fmt: skip
_WHAT = """Wall time of complete fits to MNIST with its labels as a second view, with the default parameters of every
method, as in figure 3 of the paper. Every fit runs alone, in a fresh process that uses all cores, after a fit to a few
rows that takes imports and compilation out of the measurement. The time includes scaling and initialisation, but not
loading of the data. A method that reached the time limit is not run with more rows.

MVAE, MMVAE, MV-GPLVM-SVI, MV-DGPLVM and GPyTorch GPLVM take the same number of steps, of at most 200 rows each,
whatever the number of rows: their curves are flat because each row is visited less often as the number of rows grows.
Exact Gaussian processes and the Markov chains of MV-RFLVM are limited to 1,000 rows, sparse Gaussian processes, GFA and
Isomap to 10,000, and t-SNE to 20,000."""


def wall_time_cells(seed: int, quick: bool) -> list[Cell]:
    """Return the cells of all methods by number of rows; on a GPU, those of methods that use it."""
    devices = DEVICES if not quick or torch.cuda.is_available() else DEVICES[:1]
    return [
        Cell(
            study=_NAME, method=method, data=DIGITS if quick else MNIST, seed=seed, device=device,
            settings={"N": n, QUICK: True} if quick else {"N": n},
        )
        for device in devices
        for n in (_QUICK_N_ROWS if quick else _N_ROWS)
        for method, properties in METHODS.items()
        if n <= _MAX_ROWS.get(method, N_MNIST) and (device == "cpu" or properties.uses_device)
    ]  # fmt: skip


def measure_wall_time(cell: Cell) -> Measurement:
    """Measure time, peak memory and accuracy of a complete fit."""
    warm_up(cell)
    data = cell_data(cell)
    estimator = make_method(cell.method, device=cell.device, seed=cell.seed, short=cell.is_quick)
    return Measurement(timed_fit(estimator, data.views, cell.device) | accuracy_of(estimator, data))


def skip_after_limit(cell: Cell, records: Mapping[Cell, Record]) -> str:
    """Return why a cell is not run: its method reached the time limit with fewer rows. Empty if it is to be run."""
    stopped = [
        other.settings["N"]
        for other, record in records.items()
        if record.status == STOPPED
        and (other.method, other.device, other.seed, other.is_quick)
        == (cell.method, cell.device, cell.seed, cell.is_quick)
        and other.settings["N"] < cell.settings["N"]
    ]
    return f"reached the time limit with {min(stopped):,} rows" if stopped else ""


def wall_time_page(results: Results) -> list[PagePart]:
    """Return the parts of the page: a table and a figure for every device with records."""
    parts: list[PagePart] = []
    for device in DEVICES:
        found = device_results(results, device, wall_time_cells(0, results.quick))
        if found is not None:
            parts += [f"## {DEVICE_TITLES[device]}", *machine_line(found, results), _table(found)]
            if any(record.status == DONE for record in found.records.values()):
                caption = f"Wall time by number of rows, {found.machine}"
                parts.append(PageFigure(f"{device}-seconds", caption, partial(_draw, found)))
    return parts


def _table(found: DeviceResults) -> ResultTable:
    records = {**found.records, **found.failures}
    sizes = sorted({cell.settings["N"] for cell in records})
    texts: dict[str, dict[int, str]] = {method: {} for method in METHODS}
    for cell, record in records.items():
        texts[cell.method][cell.settings["N"]] = _text(record)
    rows = [["method", *(f"{n:,} rows" for n in sizes)]]
    rows += [[method, *(row.get(n, NOTHING) for n in sizes)] for method, row in texts.items() if row]
    return ResultTable(f"{_NAME}-{found.device}", "", rows)


def _text(record: Record) -> str:
    """Return the time of a fit, or why there is none."""
    if record.status == DONE:
        return duration(record.metrics["seconds"])
    if record.status == STOPPED:
        seconds = record.metrics.get("seconds", record.seconds)
        return f"stopped after {duration(seconds)}" if seconds else STOPPED
    return record.status


def _draw(found: DeviceResults) -> "Figure":
    from mvlvm.plots.speed import plot_wall_times

    times: dict[str, dict[int, float]] = {}
    stopped: dict[str, dict[int, float]] = {}
    for cell, record in [*found.records.items(), *found.failures.items()]:
        seconds = record.metrics.get("seconds", record.seconds)
        if record.status == DONE:
            times.setdefault(cell.method, {})[cell.settings["N"]] = seconds
        elif record.status == STOPPED and seconds:
            times.setdefault(cell.method, {})
            stopped.setdefault(cell.method, {})[cell.settings["N"]] = seconds
    return plot_wall_times(times, stopped, title=f"Complete fits\n{found.machine}")


WALL_TIME = Study(
    name=_NAME, title="Wall time by number of rows", what=_WHAT, group="speed", cells=wall_time_cells,
    measure=measure_wall_time, page=wall_time_page, n_seeds=1, timed=True, limit=600.0, marks=False,
    skip=skip_after_limit,
)  # fmt: skip
