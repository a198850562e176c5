"""Reading CSV and TSV files.

A file is read twice: the first pass checks its structure, which pandas would repair silently; the second pass reads the
numbers with pandas.
"""

import csv
import gzip
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from mvlvm.checks import is_number, listed
from mvlvm.errors import ViewError, ViewWarning, warn
from mvlvm.io.size_limits import SizeLimit
from mvlvm.io.table_content import (
    MISSING,
    ReadOptions,
    check_unique_columns,
    column_not_found_error,
    find_row_name_column,
    index_name,
    is_row_name_header,
    is_row_number_column,
    label_column_error,
    no_rows_error,
    to_numeric,
)

_ENCODING = "utf-8-sig"  # UTF-8, with or without the byte order mark that spreadsheets write
_GZIP_MAGIC = b"\x1f\x8b"
_WHITESPACE = " \t\r\n"
_NUMBER_BYTES, _NAME_BYTES = 8, 64  # of a float64, and of a Python string without its characters


@dataclass(frozen=True)
class TableStructure:
    """The structure of a delimited text file.

    Attributes:
        header: the column names.
        n_rows: the number of rows after the header.
        entries: column position -> entries as text, for columns that may hold row names.
        n_bytes: the size of the table in memory.
    """

    header: list[str]
    n_rows: int
    entries: dict[int, list[str]]
    n_bytes: int


def read_delimited(path: Path, separator: str, options: ReadOptions) -> pd.DataFrame:
    """Read a delimited text file as a DataFrame, with the row names as its index.

    Args:
        path: a text file, or a gzip-compressed one.
        separator: the character between two entries of a row.
        options: how to read it.

    Raises:
        ViewError: the file is not a table of numbers, or larger than the limit; the message states the position
            and the problem.
    """
    structure = _read_structure(path, separator, options)
    options.limit.reserve(path, structure.n_bytes)
    name_column, number_columns = _split_columns(structure, options.row_names)
    labels = [structure.header[i] for i in number_columns]
    _check_labels(path, labels)
    with _open(path, newline=None) as file:  # pandas can run out of memory on lines that end in \r
        frame = pd.read_csv(  # pyright: ignore[reportCallIssue]
            file, sep=separator, header=0, names=range(len(structure.header)), usecols=pd.Index(number_columns),
            index_col=False, skipinitialspace=True, keep_default_na=False, na_values=MISSING, low_memory=False,
            float_precision="round_trip",  # pyright: ignore[reportArgumentType]
        )  # fmt: skip
    if len(frame) != structure.n_rows:
        raise ViewError(
            f"The number of rows of {path} is ambiguous: {structure.n_rows} or {len(frame)}. Write the file again, "
            "with quotes around whole entries only."
        )
    index = _row_index(path, structure, name_column)
    return to_numeric(frame.set_axis(labels, axis=1).set_axis(index, axis=0), path)


def read_delimited_labels(path: Path, separator: str, column: str | None, options: ReadOptions) -> pd.Series:
    """Read one column of a delimited text file as text, None where it is missing, with the row names as its index.

    Args:
        path: a text file, or a gzip-compressed one.
        separator: the character between two entries of a row.
        column: its name; None for the only one besides the row names.
        options: how to read the file.
    """
    structure = _read_structure(path, separator, options, keep=(column,))
    name_column, others = _split_columns(structure, options.row_names)
    if column is None and len(others) == 1 and others[0] in structure.entries:
        (position,) = others
    elif column in structure.header:
        position = structure.header.index(column)
    else:
        raise label_column_error(path, column, [structure.header[i] for i in others])
    entries = [None if entry in MISSING else entry for entry in structure.entries[position]]
    index = _row_index(path, structure, name_column)
    return pd.Series(entries, index=index, dtype=object, name=structure.header[position])


def _row_index(path: Path, structure: TableStructure, name_column: int | None) -> pd.Index:
    """Return the row names, with their header as name, or row numbers."""
    if name_column is None:
        return pd.RangeIndex(structure.n_rows)
    _check_single_line(path, structure.entries[name_column])
    return pd.Index(structure.entries[name_column], dtype=object, name=index_name(structure.header[name_column]))


def _read_structure(
    path: Path, separator: str, options: ReadOptions, keep: Collection[str | None] = ()
) -> TableStructure:
    """Read the header and some columns, and check the size and the number of entries in every row.

    Args:
        path: the file.
        separator: the character between two entries of a row.
        options: how to read it.
        keep: names of columns to read besides those that may hold row names.
    """
    try:
        return _scan(path, separator, options, keep)
    except UnicodeDecodeError:
        raise ViewError(
            f"{path} must be UTF-8 text. Got another encoding. Save it in UTF-8; spreadsheets offer that for CSV."
        ) from None


def _scan(path: Path, separator: str, options: ReadOptions, keep: Collection[str | None]) -> TableStructure:
    row_names, limit = options.row_names, options.limit
    with _open(path, newline="") as file:
        lines = _parse_lines(path, _limited_lines(path, file, limit), separator)
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
        columns = {*_candidate_columns(path, header, row_names), *(i for i, name in enumerate(header) if name in keep)}
        n_rows, n_bytes, entries = 0, 0, {i: [] for i in sorted(columns)}
        row_bytes = _NUMBER_BYTES * len(header) + _NAME_BYTES * len(entries)
        for line, row in chain([first], rows):
            if len(row) != len(header):
                raise _row_length_error(path, line, len(row), len(header))
            n_rows += 1
            n_bytes += row_bytes + sum(len(row[i]) for i in entries)
            if n_bytes > limit.remaining:
                limit.check(path, n_bytes, whole=False)
            for i, column in entries.items():
                column.append(row[i].strip())
    if by_r and separator == "," and len(header) == 2:
        _check_no_decimal_commas(path, entries[0])
    return TableStructure(header, n_rows, entries, n_bytes)


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


def _limited_lines(path: Path, file: Any, limit: SizeLimit) -> Iterator[str]:
    """Yield the lines of a text file, and check the length of each line and of the text, which can be compressed."""
    longest = int(limit.remaining // _NAME_BYTES)  # every character of a line can be an entry
    n_characters = 0
    while line := file.readline(longest + 1):
        n_characters += len(line)
        if len(line) > longest:
            limit.check(f"A line of {path}", _NAME_BYTES * len(line), whole=False)
        if n_characters > limit.remaining:
            limit.check(f"The text of {path}", n_characters, whole=False)
        yield line


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
    warn(
        f"The first line of {path} was read as column names: {listed(labels)}. If it holds data, insert a line of "
        "column names. If they are names, put a letter before each number to avoid this warning.",
        ViewWarning,
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
