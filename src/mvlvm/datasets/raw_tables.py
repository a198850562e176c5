"""Tables in CSV as their public homes give them, converted to the files of the cache."""

import csv
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import numpy as np

from mvlvm.datasets.arrays import write_arrays

BRIDGES = ("Brooklyn", "Manhattan", "Williamsburg", "Queensboro")
_BRIDGES_YEAR = 2017  # the table prints day, month and weekday; only this year has these weekdays
_MONTHS = {"Apr": 4, "May": 5, "Jun": 6, "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10}  # strptime asks the user's language
_SATURDAY = 5


def bridges(raw: Mapping[str, Path], target: Path) -> None:
    """Convert the daily bicycle counts on four bridges of New York."""
    rows = _read_rows(raw["bikes_bridges.csv"])
    days = [_day(row["Date"]) for row in rows]
    counts = [[int(row[f"{bridge} Bridge"].replace(",", "")) for bridge in BRIDGES] for row in rows]
    day_of_week = np.array([day.weekday() for day in days], dtype=np.uint8)
    arrays = {
        "Y": np.array(counts, dtype=np.int32),
        "y": (day_of_week < _SATURDAY).astype(np.uint8),
        "date": np.array([day.isoformat() for day in days]),
        "day_of_week": day_of_week,
        "bridges": np.array(BRIDGES),
    }
    write_arrays(target, arrays)


def _day(text: str) -> date:
    day, month = text.split("-")  # as in 1-Apr
    return date(_BRIDGES_YEAR, _MONTHS[month], int(day))


def nutrimouse(raw: Mapping[str, Path], target: Path) -> None:
    """Convert the four tables of the nutrition study on mice."""
    arrays: dict[str, np.ndarray] = {}
    for view in ("gene", "lipid"):
        rows = _read_rows(raw[f"{view}.csv"])
        arrays[view] = np.array([[float(value) for value in row.values()] for row in rows], dtype=np.float32)
        arrays[f"{view}_names"] = np.array(list(rows[0]))
    for label in ("diet", "genotype"):
        names, numbers = np.unique([row["x"] for row in _read_rows(raw[f"{label}.csv"])], return_inverse=True)
        arrays[f"label_{label}"], arrays[f"{label}_names"] = numbers.astype(np.int16), names
    write_arrays(target, arrays)


def _read_rows(path: Path) -> list[dict[str, str]]:
    # a degree sign in a heading is all that is not ASCII, and its encoding is not stated
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        return list(csv.DictReader(stream))
