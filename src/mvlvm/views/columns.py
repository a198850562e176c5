"""What the columns of a table hold: the names of its rows, or numbers."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mvlvm.errors import ViewError
from mvlvm.views.listing import listed
from mvlvm.views.optional import require

# What stands for a missing entry.
MISSING = ("", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None")
# Headers of columns that name the rows; the last two are what pandas and pyarrow call an index without a name.
_ROW_NAME_HEADERS = frozenset((
    "", "id", "ids", "index", "name", "names", "row", "rowname", "rownames", "row_name", "row_names", "sample",
    "samples", "sample_name", "sampleid", "subject", "patient", "participant", "cell", "barcode", "obs_names",
    "unnamed: 0", "__index_level_0__",
))  # fmt: skip
_MOST = 0.5


def looks_like_row_names(header: str, entries: Iterable[str]) -> bool:
    """Guess whether the first column of a table names its rows: its header says so, or it holds text.

    Numbers with a word among them are numbers with a slip, and the slip is reported. Row names are mostly text.
    """
    known = header.strip().lower()
    if known in _ROW_NAME_HEADERS or known.endswith("_id"):
        return True
    present = [entry for entry in entries if entry not in MISSING]
    return sum(not is_number(entry) for entry in present) > _MOST * len(present)


def numbers_only(frame: Any, path: Path) -> Any:
    """Give a table as float64, NaN where an entry is missing.

    Raises:
        ViewError: there is no column, or one that does not hold numbers.
    """
    pandas = require("pandas", "Reading files")
    if not frame.shape[1]:
        raise ViewError(
            f"{path} must have at least one column of numbers. Got none beside the row names. "
            "Columns are separated by commas in .csv files and by tabs in .tsv files."
        )
    kinds = pandas.api.types
    for label in [label for label, kind in frame.dtypes.items() if not kinds.is_numeric_dtype(kind)]:
        frame[label] = _numbers_in(frame[label], path)
    return pandas.DataFrame(
        frame.to_numpy(dtype=np.float64, na_value=np.nan), index=frame.index, columns=frame.columns
    )  # fmt: skip


def no_such_column(path: Path, wanted: str, columns: Sequence[Any]) -> ViewError:
    """Make the error for a column of row names that is not there."""
    return ViewError(
        f"{path} has no column {wanted!r} to take row names from. Its columns are: {listed(columns)}. "
        "Give one of them as row_names, or row_names=None if the rows have no names."
    )


def _numbers_in(column: Any, path: Path) -> Any:
    """Read numbers that are written as text."""
    pandas = require("pandas", "Reading files")
    as_text = column.astype(object).mask(column.astype(str).str.strip().isin(MISSING))
    is_date = column.dtype.kind in "mM"  # which pandas would turn into nanoseconds
    no_numbers = pandas.Series(np.nan, index=column.index)
    numbers = no_numbers if is_date else pandas.to_numeric(as_text, errors="coerce")
    bad = np.flatnonzero(numbers.isna() & as_text.notna())
    if len(bad):
        raise ViewError(
            f"Column {column.name!r} of {path} must hold numbers only. Got {str(as_text.iloc[bad[0]])!r} in row "
            f"{column.index[bad[0]]!r}. Write missing entries as NA, encode categories as numbers, leave the column "
            f"out, or give row_names={column.name!r} if it names the rows."
        )
    return numbers


def is_number(entry: str) -> bool:
    """Tell whether text can be read as a number."""
    try:
        float(entry)
    except ValueError:
        return False
    return True
