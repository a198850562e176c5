"""Reading CSV and TSV files, and recognising row names and numbers in tables.

A file is read twice: the first pass checks its structure, which pandas would repair silently; the second pass reads the
numbers with pandas.
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

from mvlvm.checks import is_number, listed, require
from mvlvm.errors import ViewError, ViewWarning

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
_ENCODING = "utf-8-sig"  # UTF-8, with or without the byte order mark that spreadsheets write
_GZIP_MAGIC = b"\x1f\x8b"
_WHITESPACE = " \t\r\n"
_STACKLEVEL = 7  # number of calls from `_check_header` to the caller of `read`


@dataclass(frozen=True)
class TableStructure:
    """The structure of a delimited text file.

    Attributes:
        header: the column names.
        n_rows: the number of rows after the header.
        entries: column position -> entries as text, for columns that may hold row names.
    """

    header: list[str]
    n_rows: int
    entries: dict[int, list[str]]


def read_delimited(path: Path, separator: str, row_names: str | None) -> Any:
    """Read a delimited text file as a DataFrame, with the row names as its index.

    Args:
        path: a text file, or a gzip-compressed one.
        separator: the character between two entries of a row.
        row_names: the column of row names; "auto" to recognise them in the first column; None if there are none.

    Raises:
        ViewError: the file is not a table of numbers; the message states the position and the problem.
    """
    try:
        structure = _read_structure(path, separator, row_names)
    except UnicodeDecodeError:
        raise ViewError(
            f"{path} must be UTF-8 text. Got another encoding. Save it in UTF-8; spreadsheets offer that for CSV."
        ) from None
    name_column, number_columns = _split_columns(structure, row_names)
    labels = [structure.header[i] for i in number_columns]
    _check_labels(path, labels)
    pandas = require("pandas", "Reading CSV files")
    with _open(path, newline=None) as file:  # pandas can run out of memory on lines that end in \r
        frame = pandas.read_csv(
            file, sep=separator, header=0, names=range(len(structure.header)), usecols=number_columns, index_col=False,
            skipinitialspace=True, keep_default_na=False, na_values=MISSING, float_precision="round_trip",
            low_memory=False,
        )  # fmt: skip
    if len(frame) != structure.n_rows:
        raise ViewError(
            f"The number of rows of {path} is ambiguous: {structure.n_rows} or {len(frame)}. Write the file again, "
            "with quotes around whole entries only."
        )
    index = pandas.RangeIndex(structure.n_rows)
    if name_column is not None:
        _check_single_line(path, structure.entries[name_column])
        index = pandas.Index(structure.entries[name_column], dtype=object)
    return to_numeric(frame.set_axis(labels, axis=1).set_axis(index, axis=0), path)


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
    pandas = require("pandas", "Reading files")
    if not frame.shape[1]:
        raise ViewError(
            f"{path} must have at least one column of numbers. Got none besides the row names. Add one, or pass "
            "row_names=None if the column read as row names holds numbers."
        )
    types = pandas.api.types
    for label in [label for label, dtype in frame.dtypes.items() if not types.is_numeric_dtype(dtype)]:
        frame[label] = _parse_column(frame[label], path)
    values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    return pandas.DataFrame(values, index=frame.index, columns=frame.columns)


def no_rows_error(source: object) -> ViewError:
    """Return the error for a file, or a view in a file, without rows."""
    return ViewError(f"{source} has no rows, only columns. Add a row for every sample, or leave it out.")


def column_not_found_error(path: Path, row_names: str, columns: Sequence[Any]) -> ViewError:
    """Return the error for a column of row names that does not exist."""
    return ViewError(
        f"{path} has no column {row_names!r} for the row names. Its columns are: {listed(columns)}. "
        "Pass one of them as row_names, or row_names=None if the rows have no names."
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


def _read_structure(path: Path, separator: str, row_names: str | None) -> TableStructure:
    """Read the header and candidate columns of row names, and check the number of entries in every row."""
    with _open(path, newline="") as file:
        lines = _parse_lines(path, file, separator)
        header = next(([label.strip() for label in row] for _, row in lines if row), [])
        if not header:
            raise ViewError(f"{path} is empty. A table has a line of column names, followed by one line per row.")
        _check_separator(path, header, separator)
        rows = _nonempty_rows(path, lines, n_columns=len(header))
        first = next(rows, None)
        if first is None:
            raise no_rows_error(path)
        by_r = len(first[1]) == len(header) + 1 and bool(first[1][-1])  # R writes no header for the row names
        if by_r:
            header = ["", *header]
        _check_header(path, header, row_names)
        n_rows, entries = 0, {i: [] for i in _candidate_columns(path, header, row_names)}
        for line, row in chain([first], rows):
            if len(row) != len(header):
                raise _row_length_error(path, line, len(row), len(header))
            n_rows += 1
            for i, column in entries.items():
                column.append(row[i].strip())
    if by_r and separator == "," and len(header) == 2:
        _check_no_decimal_commas(path, entries[0])
    return TableStructure(header, n_rows, entries)


def _candidate_columns(path: Path, header: list[str], row_names: str | None) -> list[int]:
    """Return the positions of the first column and of columns that may hold row names."""
    if row_names is None or row_names == "auto":
        return list(range(len(header)))[:2]
    if row_names not in header:
        raise column_not_found_error(path, row_names, header)
    return sorted({0, header.index(row_names)})


def _split_columns(structure: TableStructure, row_names: str | None) -> tuple[int | None, list[int]]:
    """Return the position of the column of row names, None if there is none, and those of the columns of numbers."""
    header, first = structure.header, structure.entries[0]
    if row_names == "auto":
        name_column = find_row_name_column(header, first)
    else:
        name_column = None if row_names is None else header.index(row_names)
    left_out = {name_column, 0} if is_row_number_column(header[0], first) else {name_column}
    return name_column, [i for i in range(len(header)) if i not in left_out]


def _open(path: Path, newline: str | None) -> Any:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    if opener is open:
        with path.open("rb") as file:
            compressed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
        if compressed:
            raise ViewError(f"{path} is gzip-compressed, so its name must end in .gz. Rename it to {path.name}.gz.")
    return opener(path, "rt", encoding=_ENCODING, newline=newline)


def _parse_lines(path: Path, file: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and entries of every line; a line of whitespace has none."""
    lines = csv.reader(_strip_blank(path, file, separator), delimiter=separator, skipinitialspace=True, strict=True)
    last = 0
    try:
        for row in lines:
            yield lines.line_num, row
            last = lines.line_num
    except csv.Error:
        raise ViewError(
            f"Line {last + 1} of {path} has a quote that is not closed, or text after a closing quote. "
            'Put quotes around whole entries, and double a quote inside an entry: "5"" tube".'
        ) from None


def _strip_blank(path: Path, file: Iterable[str], separator: str) -> Iterator[str]:
    """Yield the lines, with those that contain only whitespace made empty."""
    for number, line in enumerate(file, start=1):
        if "\0" in line:
            raise ViewError(
                f"Line {number} of {path} contains a null byte: the file is damaged or not text. Write it again."
            )
        yield line if separator in line or line.strip(_WHITESPACE) else "\n"


def _nonempty_rows(
    path: Path, lines: Iterable[tuple[int, list[str]]], n_columns: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines that are not empty. In a table with one column, an empty line between rows is an error."""
    empty = None
    for line, row in lines:
        if row and empty is not None and n_columns == 1:
            raise _row_length_error(path, empty, 0, n_columns)
        if row:
            yield line, row
        else:
            empty = line if empty is None else empty


def _row_length_error(path: Path, line: int, got: int, expected: int) -> ViewError:
    return ViewError(
        f"Line {line} of {path} must have one entry per column, {expected}. Got {got}. "
        "Write missing entries as NA, and put entries that contain the separator in quotes."
    )


def _check_separator(path: Path, header: list[str], separator: str) -> None:
    found = [other for other in (";", "\t") if other in header[0] and other != separator]
    if len(header) == 1 and found:
        expected = "commas" if separator == "," else "tabs"
        raise ViewError(
            f"The columns of {path} seem to be separated by {found[0]!r}: its first line is {header[0]!r}. "
            f"Save it with {expected} between columns and decimal points in numbers, 1.5 and not 1,5."
        )


def _check_no_decimal_commas(path: Path, first: list[str]) -> None:
    """Check that the two entries of every row are not one number that was split at a decimal comma."""
    if any(map(is_number, first)):
        raise ViewError(
            f"The rows of {path} must have one entry per column, 1. Got 2. Write numbers with a decimal point, 1.5 and "
            "not 1,5, or add a header for the row names if the first entries are names."
        )


def _check_header(path: Path, header: list[str], row_names: str | None) -> None:
    """Check that the first line is not data. Names can be increasing numbers, such as wavelengths."""
    if row_names in header or not header[0] or is_row_name_header(header[0]):
        return
    labels = header if is_number(header[0]) else header[1:]
    if not any(map(is_number, labels)) or not all(is_number(label) or label in MISSING for label in labels):
        return
    numbers = [float(label) if is_number(label) else math.nan for label in labels]
    if len(labels) == 1 or not all(map(math.isfinite, numbers)) or any(b <= a for a, b in pairwise(numbers)):
        raise ViewError(
            f"The first line of {path} must hold the column names. Got numbers: {listed(labels)}. "
            "Insert a line of column names, or put a letter before each number if they are names."
        )
    warnings.warn(
        f"The first line of {path} was read as column names: {listed(labels)}. If it holds data, insert a line of "
        "column names. If they are names, put a letter before each number to avoid this warning.",
        ViewWarning, stacklevel=_STACKLEVEL,
    )  # fmt: skip


def _check_single_line(path: Path, names: list[str]) -> None:
    multiline = [name for name in names if "\n" in name or "\r" in name]
    if multiline:
        raise ViewError(
            f"Every row name of {path} must be on a single line. Got {multiline[0]!r}: a quote is opened on one line "
            "and closed on another, so the rows in between are lost. Write the file again."
        )


def _check_labels(path: Path, labels: list[str]) -> None:
    if not labels:
        raise ViewError(
            f"{path} must have at least one column of numbers. Got none besides the row names. "
            "Columns are separated by commas in .csv files and by tabs in .tsv files."
        )
    if "" in labels:
        raise ViewError(
            f"All columns of {path} must have names. Got none for {labels.count('')} of its columns. Name them in the "
            "first line, or delete them; only a first column of row names needs no name."
        )
    check_unique_columns(path, labels)
