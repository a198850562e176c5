"""The content of tables in files: recognition of row names, conversion to numbers, and errors."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mvlvm.checks import is_number, listed
from mvlvm.errors import ViewError
from mvlvm.io.size_limits import SizeLimit

# Entries that denote missing values.
MISSING = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None")
# Headers that pandas and pyarrow write for an index without a name.
_NO_HEADER = frozenset(("", "unnamed: 0", "__index_level_0__"))
# Headers of row-name columns, in lower case with "_" between words.
_ROW_NAME_HEADERS = frozenset((
    "index", "row", "rowid", "rowname", "rownames", "sample", "samples", "sampleid", "subject", "subjectid", "patient",
    "patientid", "participant", "participantid", "cell", "cellid",
))  # fmt: skip
# Last words of such headers: Patient ID, Row.names, cell_barcode.
_ROW_NAME_WORDS = frozenset(("id", "ids", "name", "names", "barcode", "barcodes"))
_MOST = 0.5


@dataclass(frozen=True)
class ReadOptions:
    """Options of reading a file.

    Attributes:
        limit: the memory that all tables together may need.
        row_names: the column of row names in CSV, TSV and Parquet files; "auto" to recognise it; None if rows have no
            names.
        layer: the layer of H5AD and H5MU files to read instead of X.
    """

    limit: SizeLimit
    row_names: str | None = "auto"
    layer: str | None = None


def find_row_name_column(header: Sequence[str], first: Sequence[str]) -> int | None:
    """Return the position of the column of row names, None if there is none.

    It is the first column, or the second if the first holds row numbers, as pandas and R write them.

    Args:
        header: the column names.
        first: the entries of the first column, as text.
    """
    if len(header) > 1 and is_row_number_column(header[0], first) and is_row_name_header(header[1]):
        return 1
    return 0 if is_row_name_column(header[0], first) else None


def is_row_number_column(header: str, entries: Iterable[str]) -> bool:
    """Return whether a column has no header and holds non-negative integers, such as former row numbers."""
    return header.strip().lower() in _NO_HEADER and all(_is_count(entry) for entry in entries)


def is_row_name_header(header: str) -> bool:
    """Return whether a header indicates a column of row names.

    Example:
        >>> [is_row_name_header(header) for header in ("Patient ID", "PatientID", "Row.names", "grid", "dose")]
        [True, True, True, False, False]
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", header)
    normalised = re.sub(r"[\W_]+", "_", words).strip("_").lower()
    return normalised in _ROW_NAME_HEADERS or normalised.rpartition("_")[-1] in _ROW_NAME_WORDS


def index_name(header: str) -> str | None:
    """Return the name of an index that was stored as a column with a header; None if it has no name."""
    return None if header.strip().lower() in _NO_HEADER else header


def is_row_name_column(header: str, entries: Iterable[str]) -> bool:
    """Return whether the first column of a table holds row names, judging by its header and by text entries.

    Most entries must be text: a few words among numbers are typing errors, which are reported.
    """
    if header.strip().lower() in _NO_HEADER or is_row_name_header(header):
        return True
    present = [entry for entry in entries if entry not in MISSING]
    return sum(not is_number(entry) for entry in present) > _MOST * len(present)


def check_unique_columns(path: Path, labels: Sequence[str]) -> None:
    """Check that column names are unique."""
    repeated = [label for label, count in Counter(labels).items() if count > 1]
    if repeated:
        raise ViewError(
            f"The columns of {path} must have different names. Got several called "
            f"{listed(repeated)}. Rename or delete all but one."
        )


def to_numeric(frame: Any, path: Path) -> Any:
    """Return a DataFrame as float64, with NaN for missing entries.

    Raises:
        ViewError: there is no column, or a column does not hold numbers.
    """
    if not frame.shape[1]:
        raise ViewError(
            f"{path} must have at least one column of numbers. Got none besides the row names. Add one, or pass "
            "row_names=None if the column read as row names holds numbers."
        )
    types = pd.api.types
    for label in [label for label, dtype in frame.dtypes.items() if not types.is_numeric_dtype(dtype)]:
        frame[label] = _parse_column(frame[label], path)
    values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return pd.DataFrame(values, index=frame.index, columns=frame.columns)


def no_rows_error(source: object) -> ViewError:
    """Return the error for a file, or a view in a file, without rows."""
    return ViewError(f"{source} has no rows, only columns. Add a row for every sample, or leave it out.")


def column_not_found_error(path: Path, row_names: str, columns: Sequence[Any]) -> ViewError:
    """Return the error for a column of row names that does not exist."""
    return ViewError(
        f"{path} has no column {row_names!r} for the row names. Its columns are: {listed(columns)}. "
        "Pass one of them as row_names, or row_names=None if the rows have no names."
    )


def label_column_error(path: Path, column: str | None, columns: Sequence[Any]) -> ViewError:
    """Return the error for a column of labels that does not exist, or that was not chosen among several."""
    problem = "several columns, and none was chosen" if column is None else f"no column {column!r}"
    return ViewError(
        f"{path} has {problem} for the labels. Its columns are: {listed(columns) or 'none'}. Name one of them."
    )


def _parse_column(column: Any, path: Path) -> np.ndarray:
    """Parse numbers that are stored as text, without rounding."""
    numbers = np.full(len(column), np.nan)
    for i, (entry, missing) in enumerate(zip(column.astype(object), column.isna(), strict=True)):
        if missing or (isinstance(entry, str) and entry.strip() in MISSING):
            continue
        number = _parse_number(entry)
        if number is None:
            raise ViewError(
                f"Column {column.name!r} of {path} must hold numbers only. Got {str(entry)!r} in row "
                f"{column.index[i]!r}. Write missing entries as NA, encode categories as numbers, leave the column "
                f"out, or pass row_names={column.name!r} if it holds the row names."
            )
        numbers[i] = number
    return numbers


def _parse_number(entry: Any) -> float | None:
    """Return an entry as a number, None if it is not a number or beyond the range of floating point."""
    text = isinstance(entry, str)
    if text and ("_" in entry or not entry.isascii()):  # digits for Python's float only
        return None
    try:
        number = float(entry)
    except (TypeError, ValueError, OverflowError):
        return None
    overflow = math.isinf(number) and text and "inf" not in entry.lower()
    return None if overflow else number


def _is_count(entry: str) -> bool:
    return entry.isascii() and entry.isdecimal() and (entry == "0" or not entry.startswith("0"))
