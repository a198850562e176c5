"""Cells, the unit of work of a study, and records, their outcomes.

A cell is one method on one data set with one seed and one choice of settings. Its record holds the measured values, or
the reason why there are none.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

DONE, FAILED, STOPPED, NOT_INSTALLED, SKIPPED = "done", "failed", "stopped", "not installed", "skipped"
# Key of the settings of cells with fewer rows and steps; cells of full size do not have it.
QUICK = "quick"


@dataclass(frozen=True, kw_only=True, eq=False)
class Cell:
    """One method on one data set with one seed.

    Attributes:
        study: name of the study.
        method: name of the method.
        data: name of the data set.
        seed: seed of the data and of the fit.
        settings: other choices by name, such as the latent dimension or the number of rows; JSON values.
        device: "cpu" or "cuda" if the device is part of what is measured, as in studies of speed, else "auto".
    """

    study: str
    method: str
    data: str
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    device: str = "auto"

    @cached_property
    def key(self) -> str:
        """Text that identifies the cell; the order of settings does not matter."""
        return json.dumps(self.as_json(), sort_keys=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cell) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def is_quick(self) -> bool:
        """Whether the cell has fewer rows and steps than the page reports."""
        return bool(self.settings.get(QUICK, False))

    @property
    def coordinates(self) -> dict[str, Any]:
        """Settings except for the size of the run: the point of a table or figure to which the cell belongs."""
        return {name: value for name, value in self.settings.items() if name != QUICK}

    @property
    def label(self) -> str:
        """One-line description, unique within the study."""
        device = "" if self.device == "auto" else f", {self.device}"
        points = "".join(f", {name} = {value}" for name, value in sorted(self.settings.items()))
        return f"{self.method} on {self.data}{points}{device}, seed {self.seed}"

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {
            "study": self.study, "method": self.method, "data": self.data, "seed": self.seed,
            "settings": dict(self.settings), "device": self.device,
        }  # fmt: skip


@dataclass(frozen=True)
class Measurement:
    """Values measured in a cell.

    Attributes:
        metrics: values by name: numbers, or lists and dicts of numbers such as curves. Accuracies are between 0 and 1.
        arrays: arrays needed for figures, by name.
        stopped: whether the method reached its time limit and the values are those of its unfinished fit.
    """

    metrics: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    stopped: bool = False


@dataclass(frozen=True)
class Code:
    """The code that produced a record.

    Attributes:
        commit: git commit, or the version of the package outside a repository.
        dirty: whether the source of the package had uncommitted changes.
    """

    commit: str
    dirty: bool = False

    @property
    def short(self) -> str:
        """Abbreviated commit, marked if there were uncommitted changes."""
        return f"{self.commit[:7] if _is_hash(self.commit) else self.commit}{' with changes' if self.dirty else ''}"


class Origin(NamedTuple):
    """Where a record comes from.

    Attributes:
        seconds: wall time including loading of data and evaluation.
        machine: description of the machine.
        code: the code that was run.
        run: start time of the run; ratios of times are computed within one run.
        limit: time limit in seconds; 0 if it is unknown.
    """

    seconds: float
    machine: str
    code: Code
    run: str = ""
    limit: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Record:
    """Outcome of running a cell.

    Attributes:
        cell: the cell.
        status: "done", "failed", "stopped" (time limit), "not installed" (missing package) or "skipped".
        metrics: measured values by name.
        arrays: arrays for figures by name; stored separately from the other fields.
        seconds: wall time including loading of data and evaluation.
        machine: description of the machine.
        code: the code that was run.
        run: start time of the run; ratios of times are computed within one run.
        limit: time limit in seconds; 0 if it is unknown.
        note: why the cell is not done.
    """

    cell: Cell
    status: str
    seconds: float
    machine: str
    code: Code
    run: str = ""
    limit: float = 0.0
    metrics: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict, compare=False)
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values, without the arrays."""
        return {
            "cell": self.cell.as_json(), "status": self.status, "metrics": dict(self.metrics), "seconds": self.seconds,
            "machine": self.machine, "code": {"commit": self.code.commit, "dirty": self.code.dirty}, "run": self.run,
            "limit": self.limit, "note": self.note,
        }  # fmt: skip

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Record":
        """Return the record with the fields written by `as_json`."""
        return cls(**{**fields, "cell": Cell(**fields["cell"]), "code": Code(**fields["code"])})


def finished_record(cell: Cell, measured: Measurement, origin: Origin) -> Record:
    """Return the record of a measurement; one with a non-finite value has failed, and its note names the values."""
    metrics = _as_json_values(measured.metrics)
    bad = [name for name, value in metrics.items() if not _is_finite(value)]
    if bad:
        return failed_record(cell, FAILED, f"not finite: {', '.join(bad)}", origin)
    record = Record(cell=cell, status=DONE, metrics=metrics, arrays=measured.arrays, **origin._asdict())
    if not measured.stopped:
        return record
    note = f"stopped after {origin.seconds:.0f} s; the values are those of the unfinished fit"
    return replace(record, status=STOPPED, note=note)


def failed_record(cell: Cell, status: str, note: str, origin: Origin) -> Record:
    """Return the record of a cell without values; the note says why."""
    return Record(cell=cell, status=status, note=note, **origin._asdict())


def _as_json_values(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Convert NumPy scalars and arrays to numbers and lists."""
    return json.loads(json.dumps(dict(metrics), default=lambda value: value.tolist()))


def _is_finite(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(_is_finite(part) for part in value.values())
    if isinstance(value, list | tuple):
        return all(_is_finite(part) for part in value)
    return not isinstance(value, float) or math.isfinite(value)


def _is_hash(text: str) -> bool:
    return len(text) == 40 and all(letter in "0123456789abcdef" for letter in text)


@dataclass(frozen=True)
class Grid:
    """The product of data sets, methods and settings.

    Attributes:
        data: names of data sets.
        methods: names of methods.
        axes: name of a setting -> its values.
        devices: devices; ("auto",) unless the device is part of what is measured.
    """

    data: Sequence[str]
    methods: Sequence[str]
    axes: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    devices: Sequence[str] = ("auto",)

    def cells(self, study: str, seed: int, *, quick: bool = False) -> Iterator[Cell]:
        """Yield the cells of one seed."""
        size = {QUICK: True} if quick else {}
        for data, method, device in product(self.data, self.methods, self.devices):
            for point in product(*self.axes.values()):
                settings = dict(zip(self.axes, point, strict=True))
                yield Cell(
                    study=study, method=method, data=data, seed=seed, settings={**settings, **size}, device=device
                )
