"""Channel coefficients out of a file: MATLAB, GNU Octave or HDF5, as people export them from QuaDRiGa."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Complex, Shaped

from mvlvm.datasets.channel import Normalise, channel_dataset
from mvlvm.datasets.dataset import Dataset
from mvlvm.datasets.mat_file import is_mat_file, numeric_arrays
from mvlvm.optional_dependencies import require

_HDF5 = "Reading HDF5, and MATLAB 7.3 files,"
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_HDF5_OFFSETS = (0, 512, 1024, 2048)  # HDF5 may follow a block of the user's; MATLAB 7.3 puts its header there

Arrays = Mapping[str, Shaped[np.ndarray, "..."]]


def read_quadriga(
    path: str | os.PathLike[str],
    *,
    variable: str | None = None,
    normalise: Normalise = "row",
    n_snapshots: int | None = None,
) -> Dataset:
    """Read complex channel coefficients, user x snapshot x antenna, and make views of them.

    A file of MATLAB (any version from 5, 7.3 included), GNU Octave (`save -v7`, `save -hdf5`) or plain HDF5. MATLAB and
    Octave write axes in reverse order into HDF5; this is undone. Two real arrays called "real" and "imag", at the top
    or in one struct or group, count as one complex array. Four dimensions are read as user x snapshot x receive antenna
    x transmit antenna, with one receive antenna.

    Args:
        path: the file; what it is is told by its content.
        variable: the array's name, with dots or slashes for what lies in structs or groups, for example "h.coeff". Not
            needed where there is only one complex array of three dimensions.
        normalise: see `channel_dataset`.
        n_snapshots: see `channel_dataset`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is of another kind or damaged, or has no such array.
        ModuleNotFoundError: it is an HDF5 file, and h5py is not installed.
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"There is no file {source}. Give the path of a MATLAB, Octave or HDF5 file.")
    arrays = dict(_with_pairs(_arrays_in(source)))
    name = _only_candidate(source, arrays) if variable is None else _named(source, arrays, variable)
    coefficients = _three_axes(source, name, arrays[name])
    data = channel_dataset(coefficients, normalise=normalise, n_snapshots=n_snapshots)
    return replace(data, origin=f"{name} in {source.name}")


def _arrays_in(source: Path) -> dict[str, Shaped[np.ndarray, "..."]]:
    """Give all numeric arrays of a file by name."""
    with source.open("rb") as file:
        head = file.read(max(_HDF5_OFFSETS) + len(_HDF5_SIGNATURE))
    if any(head.startswith(_HDF5_SIGNATURE, offset) for offset in _HDF5_OFFSETS):
        read = _from_hdf5
        require("h5py", _HDF5)
    elif is_mat_file(head):
        read = numeric_arrays
    else:
        raise ValueError(
            f"{source} is neither a MATLAB file of version 5 or later nor HDF5. Save it in MATLAB or Octave with "
            "save('-v7', ...), or write it with h5py."
        )
    try:
        return dict(read(source))
    except Exception as error:  # broken bytes can make a reader fail in any way
        raise ValueError(
            f"{source} cannot be read: it is damaged, cut off, or too large for memory ({error}). Copy or export it "
            "again."
        ) from error


def _from_hdf5(source: Path) -> Iterator[tuple[str, Shaped[np.ndarray, "..."]]]:
    h5py = require("h5py", _HDF5)
    found = {}
    with h5py.File(source, "r") as file:
        file.visititems(lambda path, item: found.update({path: item}) if isinstance(item, h5py.Dataset) else None)
        for path, dataset in found.items():
            octave = "OCTAVE_NEW_FORMAT" in dataset.parent.attrs
            name = path.replace("/", ".")
            if octave:
                name = name.removesuffix(".value").replace(".value.", ".")
            if name.startswith("#") or not _is_numeric(dataset.dtype):
                continue
            array = _complex_of(dataset[()])
            if dataset.attrs.get("MATLAB_empty"):  # then the data are the lengths of its axes
                yield name, np.empty(array.astype(int))
                continue
            yield name, array.T if octave or "MATLAB_class" in dataset.attrs else array


def _is_numeric(dtype: np.dtype[Any]) -> bool:
    return np.issubdtype(dtype, np.number) or dtype.names == ("real", "imag")


def _complex_of(array: Shaped[np.ndarray, "..."]) -> Shaped[np.ndarray, "..."]:
    """Turn MATLAB's records of a real and an imaginary part into complex numbers."""
    return _joined(array["real"], array["imag"]) if array.dtype.names else array


def _with_pairs(arrays: Arrays) -> Iterator[tuple[str, Shaped[np.ndarray, "..."]]]:
    """Add a complex array for every two real ones that are called real and imag and lie side by side."""
    yield from arrays.items()
    for name, real in arrays.items():
        stem, _, last = name.rpartition(".")
        imag = arrays.get(f"{stem}.imag" if stem else "imag")
        if last != "real" or imag is None or imag.shape != real.shape:
            continue
        if not np.iscomplexobj(real) and not np.iscomplexobj(imag):
            yield stem or "real and imag", _joined(real, imag)


def _joined(real: Shaped[np.ndarray, "..."], imag: Shaped[np.ndarray, "..."]) -> Complex[np.ndarray, "..."]:
    """Give real + i imag, without spreading a NaN from one part to the other."""
    joined = np.empty(real.shape, np.result_type(real, imag, np.complex64))
    joined.real, joined.imag = real, imag
    return joined


def _only_candidate(source: Path, arrays: Arrays) -> str:
    candidates = [name for name, array in arrays.items() if np.iscomplexobj(array) and _axes(array.shape) == 3]
    if not candidates:
        raise ValueError(
            f"{source} holds no complex array of three dimensions, user x snapshot x antenna. Found: "
            f"{_listed(arrays)}. Export the complex coefficients, or their parts as 'real' and 'imag'."
        )
    if len(candidates) > 1:
        raise ValueError(
            f"{source} holds several complex arrays: {_listed({name: arrays[name] for name in candidates})}. "
            f"Say which one, for example variable={candidates[0]!r}."
        )
    return candidates[0]


def _named(source: Path, arrays: Arrays, variable: str) -> str:
    name = variable.strip("/").replace("/", ".")
    if name not in arrays:
        raise ValueError(f"{source} has no array {variable!r}. Found: {_listed(arrays)}. Name one of these.")
    return name


def _three_axes(source: Path, name: str, array: Shaped[np.ndarray, "..."]) -> Complex[np.ndarray, "U T A"]:
    described = _listed({name: array})
    if not np.iscomplexobj(array):
        raise ValueError(
            f"The array in {source} must be complex. Got {described}. Export the complex coefficients, or their parts "
            "as 'real' and 'imag'."
        )
    if _axes(array.shape) != 3:
        raise ValueError(
            f"The array in {source} must have three dimensions, user x snapshot x antenna, or a third of length one "
            f"and a fourth. Got {described}. Bring it into this form with permute and reshape."
        )
    if array.size == 0:
        raise ValueError(f"The array in {source} is empty. Got {described}. Export it again.")
    return array if array.ndim == 3 else array[:, :, 0, :]


def _axes(shape: Sequence[int]) -> int:
    """Count dimensions, without that of a single receive antenna."""
    return 3 if len(shape) == 4 and shape[2] == 1 else len(shape)


def _listed(arrays: Arrays) -> str:
    return ", ".join(
        f"{name} ({' x '.join(map(str, array.shape)) or 'a number'}, {'complex' if np.iscomplexobj(array) else 'real'})"
        for name, array in arrays.items()
    ) or "no numeric array"  # fmt: skip
