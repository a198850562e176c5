"""What the columns of a table hold: the names of its rows, or numbers."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mvlvm.errors import ViewError
from mvlvm.views.listing import listed
from mvlvm.views.optional import require

# What stands for a missing entry.
MISSING = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None")
# What pandas and pyarrow call an index without a name.
_NO_HEADER = frozenset(("", "unnamed: 0", "__index_level_0__"))
# Headers of columns that name the rows, with "_" between words.
_ROW_NAME_HEADERS = frozenset((
    "index", "row", "rowid", "rowname", "rownames", "sample", "samples", "sampleid", "subject", "subjectid", "patient",
    "patientid", "participant", "participantid", "cell", "cellid",
))  # fmt: skip
# Last words of such headers: Patient ID, Row.names, cell_barcode.
_ROW_NAME_WORDS = frozenset(("id", "ids", "name", "names", "barcode", "barcodes"))
_MOST = 0.5


def row_name_column(header: Sequence[str], first: Sequence[str]) -> int | None:
    """Give the position of the column that names the rows, None if there is none.

    It is the first column, or the second if the first only counts the rows, as pandas and R write it.

    Args:
        header: the names of the columns.
        first: what the first column holds, as text.
    """
    if len(header) > 1 and counts_rows(header[0], first) and says_row_names(header[1]):
        return 1
    return 0 if looks_like_row_names(header[0], first) else None


def counts_rows(header: str, entries: Iterable[str]) -> bool:
    """Tell whether a column has no header and holds whole numbers, such as a table's former row numbers."""
    return header.strip().lower() in _NO_HEADER and all(_is_count(entry) for entry in entries)


def says_row_names(header: str) -> bool:
    """Tell whether a header says that its column names the rows.

    Example:
        >>> [says_row_names(header) for header in ("Patient ID", "PatientID", "Row.names", "grid", "dose")]
        [True, True, True, False, False]
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", header)
    known = re.sub(r"[\W_]+", "_", words).strip("_").lower()
    return known in _ROW_NAME_HEADERS or known.rpartition("_")[-1] in _ROW_NAME_WORDS


def looks_like_row_names(header: str, entries: Iterable[str]) -> bool:
    """Guess whether the first column of a table names its rows: its header is absent or says so, or it holds text.

    Numbers with a word among them are numbers with a slip, and the slip is reported. Row names are mostly text.
    """
    if header.strip().lower() in _NO_HEADER or says_row_names(header):
        return True
    present = [entry for entry in entries if entry not in MISSING]
    return sum(not is_number(entry) for entry in present) > _MOST * len(present)


def check_different(path: Path, labels: Sequence[str]) -> None:
    """Refuse columns that are called alike."""
    repeated = [label for label, times in Counter(labels).items() if times > 1]
    if repeated:
        raise ViewError(
            f"The columns of {path} must have different names. Got several called "
            f"{listed(repeated)}. Rename or delete all but one."
        )


def numbers_only(frame: Any, path: Path) -> Any:
    """Give a table as float64, NaN where an entry is missing.

    Raises:
        ViewError: there is no column, or one that does not hold numbers.
    """
    pandas = require("pandas", "Reading files")
    if not frame.shape[1]:
        raise ViewError(
            f"{path} must have at least one column of numbers. Got none beside the row names. Add one, or give "
            "row_names=None if what was taken for row names is a column of numbers."
        )
    kinds = pandas.api.types
    for label in [label for label, kind in frame.dtypes.items() if not kinds.is_numeric_dtype(kind)]:
        frame[label] = _numbers_in(frame[label], path)
    return pandas.DataFrame(
        frame.to_numpy(dtype=np.float64, na_value=np.nan), index=frame.index, columns=frame.columns
    )  # fmt: skip


def no_rows(what: object) -> ViewError:
    """Make the error for a file, or a view in it, that has columns only."""
    return ViewError(f"{what} has no rows, only columns. Add a row for every sample, or leave it out.")


def no_such_column(path: Path, wanted: str, columns: Sequence[Any]) -> ViewError:
    """Make the error for a column of row names that is not there."""
    return ViewError(
        f"{path} has no column {wanted!r} to take row names from. Its columns are: {listed(columns)}. "
        "Give one of them as row_names, or row_names=None if the rows have no names."
    )


def _numbers_in(column: Any, path: Path) -> np.ndarray:
    """Read numbers that are written as text, to the last bit."""
    numbers = np.full(len(column), np.nan)
    for i, (entry, missing) in enumerate(zip(column.astype(object), column.isna(), strict=True)):
        if missing or (isinstance(entry, str) and entry.strip() in MISSING):
            continue
        number = _exact(entry)
        if number is None:
            raise ViewError(
                f"Column {column.name!r} of {path} must hold numbers only. Got {str(entry)!r} in row "
                f"{column.index[i]!r}. Write missing entries as NA, encode categories as numbers, leave the column "
                f"out, or give row_names={column.name!r} if it names the rows."
            )
        numbers[i] = number
    return numbers


def _exact(entry: Any) -> float | None:
    """Give an entry as a number, None if it is none, or one beyond the range of floating point."""
    text = isinstance(entry, str)
    if text and ("_" in entry or not entry.isascii()):  # which only Python takes for digits
        return None
    try:
        number = float(entry)
    except (TypeError, ValueError, OverflowError):
        return None
    overflow = math.isinf(number) and text and "inf" not in entry.lower()
    return None if overflow else number


def _is_count(entry: str) -> bool:
    return entry.isascii() and entry.isdecimal() and (entry == "0" or not entry.startswith("0"))


def is_number(entry: Any) -> bool:
    """Tell whether an entry, text or not, can be read as a number."""
    try:
        float(entry)
    except (TypeError, ValueError):
        return False
    return True
