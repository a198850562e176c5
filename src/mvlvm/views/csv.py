"""What the columns of a table hold: the names of its rows, or numbers.

CSV and TSV files: a first pass checks their form, which pandas would mend in silence, a second reads the numbers.
"""

import csv
import gzip
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from mvlvm.checks import listed
from mvlvm.errors import ViewError, ViewWarning
from mvlvm.optional_dependencies import require

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


def find_row_name_column(header: Sequence[str], first: Sequence[str]) -> int | None:
    """Give the position of the column that names the rows, None if there is none.

    It is the first column, or the second if the first only counts the rows, as pandas and R write it.

    Args:
        header: the names of the columns.
        first: what the first column holds, as text.
    """
    if len(header) > 1 and is_row_number_column(header[0], first) and is_row_name_header(header[1]):
        return 1
    return 0 if is_row_name_column(header[0], first) else None


def is_row_number_column(header: str, entries: Iterable[str]) -> bool:
    """Tell whether a column has no header and holds whole numbers, such as a table's former row numbers."""
    return header.strip().lower() in _NO_HEADER and all(_is_count(entry) for entry in entries)


def is_row_name_header(header: str) -> bool:
    """Tell whether a header says that its column names the rows.

    Example:
        >>> [is_row_name_header(header) for header in ("Patient ID", "PatientID", "Row.names", "grid", "dose")]
        [True, True, True, False, False]
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", header)
    known = re.sub(r"[\W_]+", "_", words).strip("_").lower()
    return known in _ROW_NAME_HEADERS or known.rpartition("_")[-1] in _ROW_NAME_WORDS


def is_row_name_column(header: str, entries: Iterable[str]) -> bool:
    """Infer whether the first column of a table names its rows: its header is absent or says so, or it holds text.

    Numbers with a word among them are numbers with a slip, and the slip is reported. Row names are mostly text.
    """
    if header.strip().lower() in _NO_HEADER or is_row_name_header(header):
        return True
    present = [entry for entry in entries if entry not in MISSING]
    return sum(not is_number(entry) for entry in present) > _MOST * len(present)


def check_unique_columns(path: Path, labels: Sequence[str]) -> None:
    """Refuse columns that are called alike."""
    repeated = [label for label, times in Counter(labels).items() if times > 1]
    if repeated:
        raise ViewError(
            f"The columns of {path} must have different names. Got several called "
            f"{listed(repeated)}. Rename or delete all but one."
        )


def to_numeric(frame: Any, path: Path) -> Any:
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


def no_rows_error(what: object) -> ViewError:
    """Make the error for a file, or a view in it, that has columns only."""
    return ViewError(f"{what} has no rows, only columns. Add a row for every sample, or leave it out.")


def column_not_found_error(path: Path, wanted: str, columns: Sequence[Any]) -> ViewError:
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


_ENCODING = "utf-8-sig"  # UTF-8, with or without the mark that spreadsheets put first
_GZIP = b"\x1f\x8b"
_BLANK = " \t\r\n"
_TO_THE_USER = 7  # calls from a check in here to that of read


@dataclass(frozen=True)
class TableStructure:
    """The form of a table.

    Attributes:
        header: the names of its columns.
        n_rows: how many rows follow.
        entries: position -> what a column holds, as it is written, for those that may name the rows.
    """

    header: list[str]
    n_rows: int
    entries: dict[int, list[str]]


def read_delimited(path: Path, separator: str, row_names: str | None) -> Any:
    """Read a table as a DataFrame, with the names of its rows as index.

    Args:
        path: a text file, or one compressed by gzip.
        separator: what stands between two entries of a row.
        row_names: the column of row names, "auto" to look for them in the first column, None if there are none.

    Raises:
        ViewError: it is not a table of numbers; the message says where and why.
    """
    try:
        outline = _outline(path, separator, row_names)
    except UnicodeDecodeError:
        raise ViewError(
            f"{path} must be UTF-8 text. Got another encoding. Save it in UTF-8; spreadsheets offer that for CSV."
        ) from None
    lead, kept = _roles(outline, row_names)
    labels = [outline.header[i] for i in kept]
    _check_labels(path, labels)
    pandas = require("pandas", "Reading CSV files")
    with _open(path, newline=None) as file:  # pandas can run out of memory on lines that end in \r
        frame = pandas.read_csv(
            file, sep=separator, header=0, names=range(len(outline.header)), usecols=kept, index_col=False,
            skipinitialspace=True, keep_default_na=False, na_values=MISSING, float_precision="round_trip",
            low_memory=False,
        )  # fmt: skip
    if len(frame) != outline.n_rows:
        raise ViewError(
            f"The rows of {path} cannot be told apart: they are {outline.n_rows} or {len(frame)}. Write it again, "
            "with quotes only around whole entries."
        )
    index = pandas.RangeIndex(outline.n_rows)
    if lead is not None:
        _check_one_line(path, outline.entries[lead])
        index = pandas.Index(outline.entries[lead], dtype=object)
    return to_numeric(frame.set_axis(labels, axis=1).set_axis(index, axis=0), path)


def _outline(path: Path, separator: str, row_names: str | None) -> TableStructure:
    """Read the header and some columns, and check that every row has as many entries as the header."""
    with _open(path, newline="") as file:
        lines = _lines(path, file, separator)
        header = next(([label.strip() for label in row] for _, row in lines if row), [])
        if not header:
            raise ViewError(f"{path} is empty. A table has a line with the names of its columns and a line per row.")
        _check_separator(path, header, separator)
        rows = _rows(path, lines, n_columns=len(header))
        first = next(rows, None)
        if first is None:
            raise no_rows_error(path)
        by_r = len(first[1]) == len(header) + 1 and bool(first[1][-1])  # R leaves out the header of the row names
        if by_r:
            header = ["", *header]
        _check_header(path, header, row_names)
        n_rows, entries = 0, {i: [] for i in _watched(path, header, row_names)}
        for line, row in chain([first], rows):
            if len(row) != len(header):
                raise _wrong_length(path, line, len(row), len(header))
            n_rows += 1
            for i, column in entries.items():
                column.append(row[i].strip())
    if by_r and separator == "," and len(header) == 2:
        _check_not_decimals(path, entries[0])
    return TableStructure(header, n_rows, entries)


def _watched(path: Path, header: list[str], row_names: str | None) -> list[int]:
    """Give the positions of columns that may name the rows, and of the first one."""
    if row_names is None or row_names == "auto":
        return list(range(len(header)))[:2]
    if row_names not in header:
        raise column_not_found_error(path, row_names, header)
    return sorted({0, header.index(row_names)})


def _roles(outline: TableStructure, row_names: str | None) -> tuple[int | None, list[int]]:
    """Give the position of the column of row names, and those of the columns of numbers."""
    header, first = outline.header, outline.entries[0]
    if row_names == "auto":
        lead = find_row_name_column(header, first)
    else:
        lead = None if row_names is None else header.index(row_names)
    left_out = {lead, 0} if is_row_number_column(header[0], first) else {lead}
    return lead, [i for i in range(len(header)) if i not in left_out]


def _open(path: Path, newline: str | None) -> Any:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    if opener is open:
        with path.open("rb") as file:
            compressed = file.read(len(_GZIP)) == _GZIP
        if compressed:
            raise ViewError(f"{path} is compressed by gzip, and its name must say so. Rename it to {path.name}.gz.")
    return opener(path, "rt", encoding=_ENCODING, newline=newline)


def _lines(path: Path, file: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Give the entries of every line, and its number. A line of spaces is empty."""
    lines = csv.reader(_plain(path, file, separator), delimiter=separator, skipinitialspace=True, strict=True)
    last = 0
    try:
        for row in lines:
            yield lines.line_num, row
            last = lines.line_num
    except csv.Error:
        raise ViewError(
            f"Line {last + 1} of {path} has a quote that does not close, or text after one that does. "
            'Put quotes around whole entries, and write a quote inside of them twice: "5"" tube".'
        ) from None


def _plain(path: Path, file: Iterable[str], separator: str) -> Iterator[str]:
    """Give the lines as they are, without the spaces of those that have nothing else."""
    for number, line in enumerate(file, start=1):
        if "\0" in line:
            raise ViewError(
                f"Line {number} of {path} holds a zero byte, so it is no text, or a damaged one. Write it again."
            )
        yield line if separator in line or line.strip(_BLANK) else "\n"


def _rows(path: Path, lines: Iterable[tuple[int, list[str]]], n_columns: int) -> Iterator[tuple[int, list[str]]]:
    """Give the lines that are not empty. Where rows have one entry, an empty line among them is a row without it."""
    gap = None
    for line, row in lines:
        if row and gap is not None and n_columns == 1:
            raise _wrong_length(path, gap, 0, n_columns)
        if row:
            yield line, row
        else:
            gap = line if gap is None else gap


def _wrong_length(path: Path, line: int, got: int, expected: int) -> ViewError:
    return ViewError(
        f"Line {line} of {path} must have as many entries as there are columns, {expected}. Got {got}. "
        "Write missing entries as NA, and put entries that contain the separator in quotes."
    )


def _check_separator(path: Path, header: list[str], separator: str) -> None:
    found = [other for other in (";", "\t") if other in header[0] and other != separator]
    if len(header) == 1 and found:
        between = "commas" if separator == "," else "tabs"
        raise ViewError(
            f"The columns of {path} seem to be separated by {found[0]!r}: its first line is {header[0]!r}. "
            f"Save it with {between} between columns and decimal points in numbers, 1.5 and not 1,5."
        )


def _check_not_decimals(path: Path, first: list[str]) -> None:
    """Refuse rows of one number that a decimal comma cuts in two."""
    if any(map(is_number, first)):
        raise ViewError(
            f"The rows of {path} must have as many entries as there are columns, 1. Got 2. Write numbers with a "
            "decimal point, 1.5 and not 1,5, or give the row names a header if the first ones are names."
        )


def _check_header(path: Path, header: list[str], row_names: str | None) -> None:
    """Refuse a first line of data. Names can be numbers too, such as wavelengths, but those come in order."""
    if row_names in header or not header[0] or is_row_name_header(header[0]):
        return
    labels = header if is_number(header[0]) else header[1:]
    if not any(map(is_number, labels)) or not all(is_number(label) or label in MISSING for label in labels):
        return
    numbers = [float(label) if is_number(label) else math.nan for label in labels]
    if len(labels) == 1 or not all(map(math.isfinite, numbers)) or any(b <= a for a, b in pairwise(numbers)):
        raise ViewError(
            f"The first line of {path} must hold the names of its columns. Got numbers: {listed(labels)}. "
            "Put a line with names before it, or a letter before each number if they are names."
        )
    warnings.warn(
        f"The first line of {path} was taken as names of columns: {listed(labels)}. If it holds data, put a line with "
        "names before it. If they are names, a letter before each number says so.",
        ViewWarning, stacklevel=_TO_THE_USER,
    )  # fmt: skip


def _check_one_line(path: Path, names: list[str]) -> None:
    torn = [name for name in names if "\n" in name or "\r" in name]
    if torn:
        raise ViewError(
            f"The row names of {path} must stand on one line each. Got {torn[0]!r}: a quote opens in one line and "
            "closes in another, and the rows between are lost. Write it again."
        )


def _check_labels(path: Path, labels: list[str]) -> None:
    if not labels:
        raise ViewError(
            f"{path} must have at least one column of numbers. Got none beside the row names. "
            "Columns are separated by commas in .csv files and by tabs in .tsv files."
        )
    if "" in labels:
        raise ViewError(
            f"All columns of {path} must have names. Got none for {labels.count('')} of its columns. Name them in the "
            "first line, or delete them; the first column may go without if it holds row names."
        )
    check_unique_columns(path, labels)
