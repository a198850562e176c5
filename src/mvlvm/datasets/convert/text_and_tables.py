"""Converters for text and tables: 20 Newsgroups, CSV tables, multi-view data in MATLAB files, and R data files."""

import csv
import gzip
import json
import tarfile
from collections.abc import Mapping
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from jaxtyping import Int16
from scipy import sparse
from scipy.io import loadmat

from mvlvm.datasets.convert import write_arrays

NEWSGROUPS = ("alt.atheism", "comp.sys.mac.hardware", "sci.med")
_SPLITS = ("train", "test")
BRIDGES = ("Brooklyn", "Manhattan", "Williamsburg", "Queensboro")
_BRIDGES_YEAR = 2017  # the table states day, month and weekday, which match only this year
_MONTHS = {"Apr": 4, "May": 5, "Jun": 6, "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10}  # strptime would depend on the locale
_SATURDAY = 5
# The files contain unnamed views, which are identified by their number of columns.
_MFEAT = {"fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47, "mor": 6}
_MFEAT_INTEGER = {"fac": np.uint16, "pix": np.uint8}
_BBCSPORT = {"segment1": 3183, "segment2": 3203}
_BDGP = {"visual": 1000, "text": 500}
# The file only numbers the classes; the names were inferred from the class sizes, which are all different.
CORA_CLASSES = (
    "Neural_Networks", "Rule_Learning", "Reinforcement_Learning", "Probabilistic_Methods", "Theory",
    "Genetic_Algorithms", "Case_Based",
)  # fmt: skip
# ORKM's documentation interchanges the first two; their shapes and first columns identify them.
CORA_VIEWS = {"content": "cora_view2", "citations": "cora_view1", "inbound": "cora_view3", "outbound": "cora_view4"}
_TCGA_VIEWS = ("mrna", "mirna", "protein")


def newsgroups3(raw: Mapping[str, Path], target: Path) -> None:
    """Convert three groups of the "bydate" archive of 20 Newsgroups to gzipped JSON lines, one message per line.

    Messages include their headers and are decoded as latin-1, with line feeds as line endings. They are sorted by split
    (training set first), group and number.
    """
    messages = _read_messages(raw["20news-bydate.tar.gz"])
    # without time stamp and file name, so that conversions are reproducible
    with target.open("wb") as stream, gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as lines:
        for split, group, number in sorted(messages, key=lambda key: (_SPLITS.index(key[0]), key[1], int(key[2]))):
            text = messages[split, group, number].decode("latin-1").replace("\r\n", "\n")
            record = {"label": group, "split": split, "id": number, "text": text}
            lines.write(json.dumps(record).encode() + b"\n")


def _read_messages(path: Path) -> dict[tuple[str, str, str], bytes]:
    """Return (split, group, number) -> message; nothing is extracted, so that member names never become paths."""
    messages: dict[tuple[str, str, str], bytes] = {}
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            folder, group, number = ("", *PurePosixPath(member.name).parts)[-3:] if stream else ("", "", "")
            split = folder.removeprefix("20news-bydate-")
            if stream is not None and split in _SPLITS and group in NEWSGROUPS and number.isdigit():
                messages[split, group, number] = stream.read()
    absent = {(split, group) for split in _SPLITS for group in NEWSGROUPS} - {key[:2] for key in messages}
    if absent:
        raise ValueError(f"{path.name} has no messages from {', '.join(' '.join(pair) for pair in sorted(absent))}.")
    return messages


def bridges(raw: Mapping[str, Path], target: Path) -> None:
    """Convert the CSV table of daily bicycle counts on four bridges of New York."""
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
    day, month = text.split("-")  # for example 1-Apr
    return date(_BRIDGES_YEAR, _MONTHS[month], int(day))


def nutrimouse(raw: Mapping[str, Path], target: Path) -> None:
    """Convert the four CSV tables of the nutrition study on mice."""
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
    # the only non-ASCII character is a degree sign in a heading, in an unspecified encoding
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        return list(csv.DictReader(stream))


def mfeat(raw: Mapping[str, Path], target: Path) -> None:
    """Convert six feature sets of handwritten numerals (UCI Multiple Features)."""
    file = loadmat(raw["UCI_Digits.mat"])
    views, label = _named_views(file["fea"], file["gt"], _MFEAT)
    write_arrays(target, {name: Y.astype(_MFEAT_INTEGER.get(name, np.float32)) for name, Y in views.items()} | label)


def bbcsport(raw: Mapping[str, Path], target: Path) -> None:
    """Convert sports articles split into two segments."""
    file = loadmat(raw["BBCSport.mat"])
    views, label = _named_views(file["fea"], file["gt"], _BBCSPORT)
    write_arrays(target, {name: Y.astype(np.float32) for name, Y in views.items()} | label)


def bdgp(raw: Mapping[str, Path], target: Path) -> None:
    """Convert visual features of fly embryos and their annotation words."""
    file = loadmat(raw["BDGP.mat"])
    views, label = _named_views(file["data"], file["truelabel"].ravel()[0], _BDGP)
    write_arrays(target, {name: Y.astype(np.float32) for name, Y in views.items()} | label)


def _named_views(
    cells: np.ndarray, classes: np.ndarray, widths: Mapping[str, int]
) -> tuple[dict[str, np.ndarray], dict[str, Int16[np.ndarray, " N"]]]:
    """Identify the matrices of a MATLAB cell array by their widths; return (N, M) views by name, and (N,) labels."""
    _, label = np.unique(classes.ravel(), return_inverse=True)
    matrices = [cell.toarray() if sparse.issparse(cell) else cell for cell in cells.ravel()]
    upright = {Y.shape[1]: Y for Y in (Y if len(Y) == len(label) else Y.T for Y in matrices)}
    absent = [f"{name} ({width} columns)" for name, width in widths.items() if width not in upright]
    if absent:
        raise ValueError(f"There is no view {', '.join(absent)}; the views have {sorted(upright)} columns.")
    return {name: upright[width] for name, width in widths.items()}, {"label": label.astype(np.int16)}


def movies(raw: Mapping[str, Path], target: Path) -> None:
    """Convert keywords, actors and genres of movies."""
    views = {"keywords": "movie_1", "actors": "movie_2"}
    arrays = {view: np.asarray(_read_object(raw, name), dtype=np.uint8) for view, name in views.items()}
    write_arrays(target, arrays | {"label": _class_numbers(_read_object(raw, "turelabel"))})


def cora(raw: Mapping[str, Path], target: Path) -> None:
    """Convert words, citations and subjects of papers."""
    arrays = {view: np.asarray(_read_object(raw, name), dtype=np.uint8) for view, name in CORA_VIEWS.items()}
    label = _class_numbers(_read_object(raw, "labelcora"))
    write_arrays(target, arrays | {"label": label, "label_names": np.array(CORA_CLASSES)})


def breast_tcga(raw: Mapping[str, Path], target: Path) -> None:
    """Convert mRNA, microRNA and protein of breast tumours; the test part has no protein."""
    parts = [_read_object(raw, "breast.TCGA")[name] for name in ("data.train", "data.test")]
    subtypes = np.concatenate([np.asarray(part["subtype"]).astype(str) for part in parts])
    label_names, label = np.unique(subtypes, return_inverse=True)
    is_test = np.repeat([False, True], [len(part["subtype"]) for part in parts])
    arrays = {"label": label.astype(np.int16), "label_names": label_names, "is_test": is_test}
    arrays["sample"] = np.concatenate([_axis_names(part["mrna"], 0) for part in parts])
    for view in _TCGA_VIEWS:
        values = [np.asarray(part[view], dtype=np.float32) for part in parts if view in part]
        arrays[view] = np.full((len(label), values[0].shape[1]), np.nan, dtype=np.float32)
        arrays[view][: sum(map(len, values))] = np.concatenate(values)
        arrays[f"observed_{view}"] = ~np.isnan(arrays[view]).all(axis=1)
        arrays[f"{view}_names"] = _axis_names(parts[0][view], 1)
    write_arrays(target, arrays)


def _read_object(raw: Mapping[str, Path], name: str) -> Any:
    """Read the single object of `name.rda`, by parsing; no R code is executed."""
    import rdata  # optional; its presence is checked before the download

    return rdata.read_rda(raw[f"{name}.rda"])[name]


def _class_numbers(classes: Any) -> np.ndarray:
    return np.unique(np.asarray(classes).ravel(), return_inverse=True)[1].astype(np.int16)


def _axis_names(table: Any, axis: int) -> np.ndarray:
    """Return the row or column names of a pandas DataFrame or, for an R matrix, of an xarray DataArray."""
    from pandas import DataFrame

    frame = table if isinstance(table, DataFrame) else table.to_pandas()
    return frame.axes[axis].to_numpy().astype(str)
