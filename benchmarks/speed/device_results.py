"""Analysis of the speed study: the records of one device, scaling of the step time, comparison with other methods."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.cells import DONE, STOPPED, Cell, Record
from benchmarks.results import Results, machines_of
from benchmarks.speed.methods import FACTOR_ANALYSIS, GAUSSIAN_PROCESS, METHODS, NAIVE_FAMILY, OUR_FAMILY, OURS
from benchmarks.speed.speed_measurement import first_to_reach
from benchmarks.speed.speed_plan import N_ROUNDS, PEERS, QUALITY, growth_axis
from benchmarks.speed.step_profile import growth_exponent

DEVICE_TITLES = {"cpu": "On a CPU", "cuda": "On a GPU"}
# Smaller differences are not listed.
_BETTER_BY = 1e-3


@dataclass(frozen=True)
class Growth:
    """Cost of a step at several sizes along an axis."""

    axis: str
    sizes: Sequence[int]
    seconds: Sequence[float]
    n_bytes: Sequence[float]

    @property
    def exponent(self) -> float:
        """Exponent with which the step time grows."""
        return growth_exponent(self.sizes, self.seconds)


@dataclass(frozen=True)
class DeviceResults:
    """Records of one device, in the order of the cells of the study.

    Attributes:
        device: "cpu" or "cuda".
        machine: the machine that represents the device: that with the most records.
        records: records of this machine that have metrics, by cell.
        failures: its other records, by cell.
    """

    device: str
    machine: str
    records: Mapping[Cell, Record]
    failures: Mapping[Cell, Record]

    def of(self, part: str, method: str | None = None) -> list[Record]:
        """Return the records of a part of the study; None selects all methods."""
        return [
            record
            for cell, record in self.records.items()
            if cell.settings.get("part") == part and method in (None, cell.method)
        ]

    def metric(self, cell: Cell, name: str) -> Any:
        """Return a metric of a cell, or None if it was not measured."""
        record = self.records.get(cell)
        return None if record is None else record.metrics.get(name)

    def rounds(self, cell: Cell) -> dict[int, Record]:
        """Return seed -> record of a cell for all seeds that were measured in the same run."""
        cells = {seed: replace(cell, seed=seed) for seed in range(N_ROUNDS)}
        found = {seed: self.records[cell] for seed, cell in cells.items() if cell in self.records}
        first = next(iter(found.values()), None)
        return {seed: record for seed, record in found.items() if first is not None and record.run == first.run}

    def pair(self, cell: Cell, other: Cell) -> tuple[Record, Record] | None:
        """Return the records of two cells if both were measured in the same run, else None."""
        first, second = self.records.get(cell), self.records.get(other)
        return (first, second) if first and second and first.run == second.run else None

    def growth(self, axis: str, *, quick: bool = False) -> Growth | None:
        """Return the scaling of the step cost along an axis, or None if fewer than two sizes were measured."""
        cells = growth_axis(axis, self.device, quick=quick)
        points = [(size, self.records[cell].metrics) for size, cell in cells.items() if cell in self.records]
        if len(points) < 2:
            return None
        seconds, n_bytes = ([float(p[name]) for _, p in points] for name in ("seconds_per_step", "peak_bytes"))
        return Growth(axis, [size for size, _ in points], seconds, n_bytes)


def device_results(results: Results, device: str, order: Sequence[Cell] = ()) -> DeviceResults | None:
    """Return the records of a device, or None if there are none.

    Args:
        results: results of a study.
        device: "cpu" or "cuda".
        order: cells of the study; other cells follow them.
    """
    records = {record.cell: record for record in results.records if record.cell.device == device}
    if not records:
        return None
    machine = Counter(record.machine for record in records.values()).most_common(1)[0][0]
    cells = [cell for cell in dict.fromkeys([*order, *records]) if cell in records]
    own = {cell: records[cell] for cell in cells if records[cell].machine == machine}
    measured = {cell: r for cell, r in own.items() if r.status in (DONE, STOPPED) and r.metrics}
    return DeviceResults(device, machine, measured, {cell: r for cell, r in own.items() if cell not in measured})


def machine_line(found: DeviceResults, results: Results) -> list[str]:
    """Return a line with the machine of a device, if the page has results of several machines."""
    return [f"Machine: {found.machine}."] if len(machines_of(results)) > 1 else []


@dataclass(frozen=True)
class PeerComparison:
    """Another method compared with NG-MVLVM on one data set.

    Attributes:
        theirs: record of the other method.
        ours: record of the default fit of NG-MVLVM to the same data, if measured.
        seconds: time until the latents of the fastest fit of NG-MVLVM with at least the same 1-NN accuracy are final
            (most other methods only return latents); None if no fit reaches it.
        fit_seconds: time of the same fit until it can predict.
    """

    theirs: Record
    ours: Record | None
    seconds: float | None
    fit_seconds: float | None

    @property
    def is_claimed(self) -> bool:
        """Whether NG-MVLVM is claimed to be ahead of the family of the method."""
        return METHODS[self.theirs.cell.method].family in (GAUSSIAN_PROCESS, FACTOR_ANALYSIS)

    @property
    def we_are_ahead(self) -> bool:
        """Whether NG-MVLVM reaches the accuracy of the other method in less time."""
        return self.seconds is not None and self.seconds <= self.theirs.metrics["seconds"]

    def ahead_in(self) -> list[str]:
        """Return the criteria in which the other method is ahead of the default fit of NG-MVLVM."""
        theirs, found = self.theirs.metrics, []
        if self.seconds is None:
            found.append("1-NN accuracy that no fit of NG-MVLVM reaches")
        elif not self.we_are_ahead:
            found.append("time to its 1-NN accuracy")
        ours = {} if self.ours is None else self.ours.metrics
        for name, what in (("accuracy", "1-NN accuracy"), ("rmse", "reconstruction"), ("predict_rmse", "prediction")):
            if name in theirs and name in ours and not (name == "accuracy" and self.seconds is None):
                gain = theirs[name] - ours[name] if name == "accuracy" else ours[name] - theirs[name]
                found += [what] if gain > _BETTER_BY else []
        return found


def peer_comparisons(found: DeviceResults) -> list[PeerComparison]:
    """Return the comparison of NG-MVLVM with every other method that was measured."""
    records = [record for record in found.of(PEERS) if "accuracy" in record.metrics]
    ours = {record.cell.data: record for record in records if record.cell.method == OURS}
    return [
        PeerComparison(record, ours.get(record.cell.data), *_time_to_accuracy(record, ours, found))
        for record in records
        if METHODS[record.cell.method].family not in (OUR_FAMILY, NAIVE_FAMILY)
    ]


def _time_to_accuracy(
    theirs: Record, ours: Mapping[str, Record], found: DeviceResults
) -> tuple[float | None, float | None]:
    """Return the times of the fastest equally accurate fit of NG-MVLVM: until the latents are final, and in total."""
    data = theirs.cell.data
    curves = [record.metrics["curve"] for record in found.of(QUALITY, OURS) if record.cell.data == data]
    points = [point for curve in curves for point in curve]
    if data in ours:
        points.append({"quality": ours[data].metrics["accuracy"], "seconds": ours[data].metrics["seconds"]})
    best = first_to_reach(points, theirs.metrics["accuracy"], by="latent_seconds")
    return (None, None) if best is None else (best.get("latent_seconds", best["seconds"]), best["seconds"])
