"""Channel coefficients are read from MATLAB, Octave and HDF5 files; damaged and unsuitable files are rejected."""

import base64
import sys

import h5py
import numpy as np
import pytest
import scipy.io

from mvlvm.datasets import read_quadriga

# H = reshape(1:12, 2,3,2) + 1i*reshape(101:112, 2,3,2); t = (0:2)*0.005; save -v7 ... H t     (GNU Octave 7.3.0)
FROM_OCTAVE = """
TUFUTEFCIDUuMCBNQVQtZmlsZSwgd3JpdHRlbiBieSBPY3RhdmUgNy4zLjAsIDIwMjYtMTEtMTUgMTM6MTk6MjcgVVRDICAgICAgICAgICAgIC
AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAABSU0PAAAAbwAAAHicVc07CoNAFEbh34gygoiFhYVFEBF34S2zhSQW
WcosbZbkErxkTopcOHzzgunkU0i1E7w6fLeqvNa7eSXmp4UebuN99JtzZ2GZgD0OOOKEd5xxwRU3+/vHnvk8YkK9soYRE+rNPUZMqMMuI/ASHw
8AAAAzAAAAeJzjY2Bg8ABiNiDmgNKMQMwK5YPYzGCakaEESHMCsQQDAlSLrHN/WFViD6Fb7AFz/ghI
"""
OCTAVES_H = (np.arange(1, 13) + 1j * np.arange(101, 113)).reshape(2, 3, 2, order="F")


def draw(*shape, dtype=np.complex128):
    real, imag = np.random.default_rng(0).standard_normal((2, *(shape or (3, 4, 5))))
    return (real + 1j * imag).astype(dtype)


def joined(data, shape):
    return (data["real"] + 1j * data["imag"]).reshape(shape)


def read_raw(path, shape=(3, 4, 5), **options):
    return joined(read_quadriga(path, normalise="raw", **options), shape)


def matlab_dataset(group, name, array, matlab_class=None):
    """Write an array like MATLAB 7.3: reversed axes, complex numbers as records, the class as an attribute."""
    if np.iscomplexobj(array):
        part = array.real.dtype
        records = np.empty(array.T.shape, [("real", part), ("imag", part)])
        records["real"], records["imag"] = array.T.real, array.T.imag
        array = records.T
    dataset = group.create_dataset(name, data=array.T)
    classes = {4: "single", 8: "double", 2: "char"}
    part = array.dtype["real"] if array.dtype.names else array.dtype
    dataset.attrs["MATLAB_class"] = np.bytes_(matlab_class or classes[part.itemsize])
    return dataset


def matlab_file(path, write):
    with h5py.File(path, "w", userblock_size=512) as file:
        write(file)
    with path.open("r+b") as file:
        header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Jan  1 00:00:00 2024 HDF5 schema 1.00 ."
        file.write(header.ljust(116) + bytes(8) + b"\x00\x02IM")
    return path


def octave_file(path, write):
    """Write a file like Octave's save -hdf5: one group per variable with type and value, reversed axes."""
    with h5py.File(path, "w") as file:
        write(file)
    return path


def octave_variable(group, name, array):
    variable = group.create_group(name)
    variable.attrs["OCTAVE_NEW_FORMAT"] = np.uint8(1)
    variable["type"] = np.bytes_("complex matrix")
    matlab_dataset(variable, "value", array)
    del variable["value"].attrs["MATLAB_class"]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("compressed", [False, True])
def test_matlab_5_to_7(tmp_path, dtype, compressed):
    h = draw(dtype=dtype)
    scipy.io.savemat(tmp_path / "a.mat", {"H": h, "t": np.arange(4.0), "name": "text"}, do_compression=compressed)
    back = read_raw(tmp_path / "a.mat")
    np.testing.assert_array_equal(back, h)
    assert back.dtype == dtype


def test_file_written_by_octave(tmp_path):
    (tmp_path / "a.mat").write_bytes(base64.b64decode(FROM_OCTAVE))
    np.testing.assert_array_equal(read_raw(tmp_path / "a.mat", (2, 3, 2)), OCTAVES_H)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_matlab_7_3(tmp_path, dtype):
    h = draw(dtype=dtype)

    def write(file):
        matlab_dataset(file, "H", h)
        matlab_dataset(file, "t", np.arange(4.0)[None])
        matlab_dataset(file, "name", np.array([[104, 105]], np.uint16))
        matlab_dataset(file.create_group("#refs#"), "a", draw(2, 2, 2))  # targets of cell references

    back = read_raw(matlab_file(tmp_path / "a.mat", write))
    np.testing.assert_array_equal(back, h)
    assert back.dtype == dtype


def test_octave_hdf5(tmp_path):
    h = draw()
    path = octave_file(tmp_path / "a.h5", lambda file: octave_variable(file, "H", h))
    np.testing.assert_array_equal(read_raw(path, variable="H"), h)


def test_octave_hdf5_structs(tmp_path):
    h = draw()

    def write(file):
        struct = file.create_group("s")
        struct.attrs["OCTAVE_NEW_FORMAT"] = np.uint8(1)
        struct["type"] = np.bytes_("scalar struct")
        octave_variable(struct.create_group("value"), "coeff", h)

    np.testing.assert_array_equal(read_raw(octave_file(tmp_path / "a.h5", write), variable="s.coeff"), h)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, ">c16"])
def test_plain_hdf5_axes_are_not_reversed(tmp_path, dtype):
    h = draw(dtype=dtype)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("deep/down/H", data=h, compression="gzip")
        file["t"] = np.arange(4)
        file["name"] = "text"
    np.testing.assert_array_equal(read_raw(tmp_path / "a.h5"), h)
    np.testing.assert_array_equal(read_raw(tmp_path / "a.h5", variable="/deep/down/H"), h)


def test_real_and_imaginary_arrays_are_combined(tmp_path):
    h = draw()
    h.real[0, 0, 0] = np.nan
    parts = {"real": h.real.copy(), "imag": h.imag.copy()}
    with h5py.File(tmp_path / "top.h5", "w") as file:
        file.update(parts)
    with h5py.File(tmp_path / "group.h5", "w") as file:
        file.create_group("channel").update(parts)
    scipy.io.savemat(tmp_path / "struct.mat", {"h": parts})
    matlab_file(tmp_path / "v73.mat", lambda file: [matlab_dataset(file, *item) for item in parts.items()])
    for name in ("top.h5", "group.h5", "struct.mat", "v73.mat"):
        data = read_quadriga(tmp_path / name, normalise="raw")
        np.testing.assert_array_equal(data["real"].reshape(h.shape), h.real)
        np.testing.assert_array_equal(data["imag"].reshape(h.shape), h.imag)


def test_matlab_structs(tmp_path):
    h = draw()
    scipy.io.savemat(tmp_path / "a.mat", {"out": {"h": {"coeff": h}, "note": "text", "cells": [1, "a"]}})
    np.testing.assert_array_equal(read_raw(tmp_path / "a.mat"), h)
    np.testing.assert_array_equal(read_raw(tmp_path / "a.mat", variable="out.h.coeff"), h)
    path = matlab_file(tmp_path / "b.mat", lambda file: matlab_dataset(file.create_group("out"), "coeff", h))
    np.testing.assert_array_equal(read_raw(path, variable="out.coeff"), h)


def test_variable_selects_among_several_arrays(tmp_path):
    first, second = draw(), draw(2, 3, 4)
    scipy.io.savemat(tmp_path / "a.mat", {"A": first, "B": second})
    with pytest.raises(ValueError, match=r"several.*A \(3 x 4 x 5, complex\), B \(2 x 3 x 4, complex\).*variable='A'"):
        read_quadriga(tmp_path / "a.mat")
    np.testing.assert_array_equal(read_raw(tmp_path / "a.mat", (2, 3, 4), variable="B"), second)


def test_single_receive_antenna_is_dropped(tmp_path):
    h = draw(3, 4, 1, 5)
    scipy.io.savemat(tmp_path / "a.mat", {"H": h})
    np.testing.assert_array_equal(read_raw(tmp_path / "a.mat"), h[:, :, 0])
    single = draw(1, 4, 1, 5)  # also a single user: still, the third axis is dropped
    scipy.io.savemat(tmp_path / "b.mat", {"H": single})
    np.testing.assert_array_equal(read_raw(tmp_path / "b.mat", (1, 4, 5)), single[:, :, 0])


def test_quadrigas_native_order_of_four_axes_is_rejected(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"coeff": draw(1, 32, 13, 10)})  # receive, transmit, cluster, snapshot
    with pytest.raises(ValueError, match=r"no complex array of three.*coeff \(1 x 32 x 13 x 10, complex\)"):
        read_quadriga(tmp_path / "a.mat")


def test_options_of_channel_dataset_are_passed_on(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"H": draw()})
    data = read_quadriga(tmp_path / "a.mat", n_snapshots=2)
    rows = joined(data, (3, 2, 5))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=2), 1)
    assert data.label_names == ("user 1", "user 2", "user 3")
    assert data.origin == "H in a.mat"
    with pytest.raises(ValueError, match="n_snapshots must be at most 4"):
        read_quadriga(tmp_path / "a.mat", n_snapshots=5)


def write_nothing(path):
    path.write_bytes(b"")


def write_text(path):
    path.write_text("user,snapshot\n" * 400)


def write_real(path):
    scipy.io.savemat(path, {"H": draw().real})


def write_real_hdf5(path):
    with h5py.File(path, "w") as file:
        file["H"] = draw().real


def write_flat(path):
    scipy.io.savemat(path, {"H": draw(3, 4), "t": np.arange(3.0)})


def write_empty(path):
    scipy.io.savemat(path, {"H": np.zeros((0, 4, 5), complex)})


def write_empty_hdf5(path):
    with h5py.File(path, "w") as file:
        file["H"] = np.zeros((3, 0, 5), complex)


def write_empty_matlab_7_3(path):
    def write(file):
        file["H"] = np.array([0, 4, 5], np.uint64)
        file["H"].attrs.update({"MATLAB_class": np.bytes_("double"), "MATLAB_empty": np.uint8(1)})

    matlab_file(path, write)


def write_no_numbers(path):
    scipy.io.savemat(path, {"note": "text"})


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (write_nothing, "is neither a MATLAB file of version 5 or later nor HDF5"),
        (write_text, "is neither a MATLAB file of version 5 or later nor HDF5"),
        (write_real, r"no complex array of three dimensions.*H \(3 x 4 x 5, real\)"),
        (write_real_hdf5, r"no complex array of three dimensions.*H \(3 x 4 x 5, real\)"),
        (write_flat, r"no complex array of three dimensions.*H \(3 x 4, complex\), t \(1 x 3, real\)"),
        (write_empty, r"is empty. Got H \(0 x 4 x 5, complex\)"),
        (write_empty_hdf5, r"is empty. Got H \(3 x 0 x 5, complex\)"),
        (write_empty_matlab_7_3, r"no complex array of three dimensions.*H \(0 x 4 x 5, real\)"),
        (write_no_numbers, "Found: no numeric array"),
    ],
)
def test_unsuitable_file_is_rejected_by_name(tmp_path, write, message):
    write(tmp_path / "wrong.mat")
    with pytest.raises(ValueError, match=f"wrong.mat.*{message}|wrong.mat {message}"):
        read_quadriga(tmp_path / "wrong.mat")


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("G", r"contains no array 'G'. Found: H \(3 x 4 x 5, complex\), R \(3 x 4 x 5, real\), S \(3 x 4, complex\)"),
        ("R", r"must be complex. Got R \(3 x 4 x 5, real\)"),
        ("S", r"must have three dimensions.*Got S \(3 x 4, complex\)"),
    ],
)
def test_unsuitable_variable_is_rejected(tmp_path, variable, message):
    scipy.io.savemat(tmp_path / "a.mat", {"H": draw(), "R": draw().real, "S": draw(3, 4)})
    with pytest.raises(ValueError, match=f"a.mat {message}"):
        read_quadriga(tmp_path / "a.mat", variable=variable)


def test_nonexistent_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="File .*absent.mat does not exist"):
        read_quadriga(tmp_path / "absent.mat")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_quadriga(tmp_path)


def valid_files(tmp_path):
    h = draw()
    for name, compressed in (("plain.mat", False), ("packed.mat", True)):
        scipy.io.savemat(tmp_path / name, {"H": h}, do_compression=compressed)
    matlab_file(tmp_path / "v73.mat", lambda file: matlab_dataset(file, "H", h))
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["H"] = h
    return h, [tmp_path / name for name in ("plain.mat", "packed.mat", "v73.mat", "plain.h5")]


def test_truncated_file_is_rejected_by_name(tmp_path):
    _, paths = valid_files(tmp_path)
    for path in paths:
        content = path.read_bytes()
        for share in (0.2, 0.5, 0.8, 0.97):
            path.write_bytes(content[: int(share * len(content))])
            with pytest.raises(ValueError, match=path.name):
                read_quadriga(path)


@pytest.mark.parametrize("name", ["plain.mat", "packed.mat"])
def test_corrupted_bytes_are_reported_and_the_file_is_not_modified(tmp_path, name):
    # without our checks, SciPy crashes on one in forty uncompressed files and one in a thousand compressed files
    valid_files(tmp_path)
    path, rng, rejected = tmp_path / name, np.random.default_rng(0), 0
    content = path.read_bytes()
    for _ in range(300):
        broken = bytearray(content)
        for position in rng.integers(len(content), size=8):
            broken[position] ^= int(rng.integers(1, 256))
        path.write_bytes(broken)
        try:
            read_quadriga(path)
        except ValueError as error:
            assert name in str(error) or "infinite" in str(error)  # noqa: PT017
            rejected += 1
        assert path.read_bytes() == broken
    # a changed value is still a number; the checksum of compressed data detects nearly every change
    assert rejected > (50 if name == "plain.mat" else 250)


def test_hdf5_without_h5py(tmp_path, monkeypatch):
    _, paths = valid_files(tmp_path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    read_quadriga(paths[0])
    for path in paths[2:]:
        with pytest.raises(
            ModuleNotFoundError,
            match=r'needs h5py, which is not installed. Install it with: pip install "mvlvm\[files\]"',
        ):
            read_quadriga(path)


def test_values_in_another_file_are_rejected(tmp_path):
    np.full(60, 7.0).tofile(tmp_path / "outside.bin")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("H", (3, 4, 5), "f8", external=[(str(tmp_path / "outside.bin"), 0, 480)])
    with pytest.raises(ValueError, match="stores /H outside of the file"):
        read_quadriga(tmp_path / "a.h5")
