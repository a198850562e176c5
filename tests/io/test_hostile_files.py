"""Damaged and hostile files: nothing is read from other files, no memory is corrupted, and sizes are checked first."""

import gzip
import io
import os
import re
import struct
import zipfile

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import mvlvm.io.size_limits
from mvlvm import ViewError
from mvlvm.io.size_limits import SizeLimit, available_memory
from mvlvm.views import as_views, read
from tests.io.tables import RNA, WRITERS, annotated, write_both_as_mudata

COUNTS = scipy.sparse.random(6, 4, 0.5, format="csr", random_state=0)
MIB = 2**20


def write_sparse(path, layout="csr"):
    anndata.AnnData(
        COUNTS.asformat(layout), obs=pd.DataFrame(index=list("abcdef")), var=pd.DataFrame(index=list("wxyz"))
    ).write_h5ad(path)


def replace_dataset(group, name, values):
    del group[name]
    group[name] = values


def changed(values, position, value):
    return np.concatenate([values[:position], [value], values[position + 1 :]])


# part -> function of its values
DAMAGE = {
    "an index far outside": ("indices", lambda x: changed(x, 2, 2**30), "indices .* must be from 0 to .*1073741824"),
    "a negative index": ("indices", lambda x: changed(x, 2, -7), "indices .* must be from 0 to .*-7"),
    "an index just outside": ("indices", lambda x: changed(x, 0, 6), "indices .* must be from 0 to"),
    "indices that are not integers": ("indices", lambda x: x.astype(float), "must hold integers"),
    "too few indices": ("indices", lambda x: x[:-1], "values and .* indices"),
    "a decreasing indptr": ("indptr", lambda x: changed(x, 1, 11), "indptr .* must increase from 0"),
    "an indptr beyond the values": ("indptr", lambda x: changed(x, len(x) - 1, 10**6), "indptr .* must increase"),
    "an indptr that does not start at 0": ("indptr", lambda x: x + 1, "indptr .* must increase from 0"),
    "an indptr that wraps around": ("indptr", lambda x: changed(x.astype("u8"), 1, 2**64 - 1), "indptr .* must"),
    "a short indptr": ("indptr", lambda x: x[:-1], "indptr .* must have"),
    "an empty indptr": ("indptr", lambda x: x[:0], "indptr .* must have"),
    "two-dimensional values": ("data", lambda x: x[:, None], "lacks data, indices or indptr"),
    "values that are text": ("data", lambda x: np.array([b"a"] * len(x)), "must hold numbers"),
    "no values": ("data", lambda x: x[:0], "0 values"),
}


@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_sparse_matrix_is_rejected(tmp_path, case, layout):
    part, damage, message = DAMAGE[case]
    write_sparse(tmp_path / "s.h5ad", layout)
    with h5py.File(tmp_path / "s.h5ad", "r+") as file:
        replace_dataset(file["X"], part, damage(file["X"][part][()]))
    with pytest.raises(ViewError, match=message):
        read(tmp_path / "s.h5ad")


def test_a_damaged_sparse_modality_is_rejected(tmp_path):
    write_both_as_mudata(tmp_path / "m.h5mu")
    write_sparse(tmp_path / "s.h5ad")
    with h5py.File(tmp_path / "m.h5mu", "r+") as file, h5py.File(tmp_path / "s.h5ad") as source:
        del file["mod/rna"]
        source.copy("/", file["mod"], "rna")
        replace_dataset(file["mod/rna/X"], "indices", np.full(COUNTS.nnz, 2**30))
    with pytest.raises(ViewError, match="m.h5mu .*indices of /mod/rna/X must be from 0 to 3"):
        read(tmp_path / "m.h5mu")


@pytest.mark.parametrize("shape", [(6, 3), (7, 4), (-6, 4), (6,), (6, 4, 1)])
def test_a_sparse_matrix_whose_shape_does_not_match_is_rejected(tmp_path, shape):
    write_sparse(tmp_path / "s.h5ad")
    with h5py.File(tmp_path / "s.h5ad", "r+") as file:
        file["X"].attrs["shape"] = shape
    with pytest.raises(ViewError, match=r"s\.h5ad is damaged"):
        read(tmp_path / "s.h5ad")


def test_unused_capacity_of_a_sparse_matrix_is_ignored(tmp_path):
    write_sparse(tmp_path / "s.h5ad")
    with h5py.File(tmp_path / "s.h5ad", "r+") as file:
        for part in ("data", "indices"):
            replace_dataset(file["X"], part, np.append(file["X"][part][()], [0, 0]))
    np.testing.assert_array_equal(read(tmp_path / "s.h5ad")["s"], COUNTS.toarray())


BROKEN = {
    "csr": lambda: scipy.sparse.csr_matrix(COUNTS, copy=True),
    "csc": lambda: scipy.sparse.csc_matrix(COUNTS, copy=True),
    "bsr": lambda: scipy.sparse.bsr_matrix(COUNTS, copy=True),
}


@pytest.mark.parametrize("layout", BROKEN)
@pytest.mark.parametrize("index", [2**30, -7])
def test_a_damaged_sparse_matrix_in_memory_is_rejected(layout, index):
    matrix = BROKEN[layout]()
    matrix.indices[1] = index
    with pytest.raises(ViewError, match="View 'counts' is a damaged sparse matrix"):
        as_views({"counts": matrix})
    with pytest.raises(ViewError, match="View 'view0' is a damaged sparse matrix"):
        as_views(anndata.AnnData(matrix)) if layout != "bsr" else as_views(matrix)


@pytest.mark.parametrize("index", [2**30, -7])
def test_damaged_coordinates_in_memory_are_rejected(index):
    matrix = scipy.sparse.coo_matrix(COUNTS, copy=True)
    matrix.col[1] = index
    with pytest.raises(
        ViewError, match="View 'counts' is a damaged sparse matrix: an index of axis 1 is not from 0 to 3"
    ):
        as_views({"counts": matrix})


def secret_outside(folder):
    (folder / "outside").mkdir()
    np.full((4, 3), 7.0).tofile(folder / "outside" / "values.bin")
    with h5py.File(folder / "outside" / "other.h5", "w") as other:
        other["X"] = np.full((4, 3), 7.0)
    return folder / "outside"


def with_external_storage(file, outside):
    file.create_dataset("X", (4, 3), "f8", external=[(str(outside / "values.bin"), 0, 96)])


def with_virtual_dataset(file, outside):
    layout = h5py.VirtualLayout((4, 3), "f8")
    layout[:] = h5py.VirtualSource(str(outside / "other.h5"), "X", (4, 3))
    file.create_virtual_dataset("X", layout)


def with_external_link(file, outside):
    file["X"] = h5py.ExternalLink(str(outside / "other.h5"), "X")


def with_soft_link_through_external_link(file, outside):
    file["elsewhere"] = h5py.ExternalLink(str(outside / "other.h5"), "/")
    file["X"] = h5py.SoftLink("/elsewhere/X")


def with_circular_links(file, outside):
    file["X"] = h5py.SoftLink("/Y")
    file["Y"] = h5py.SoftLink("X")


@pytest.mark.parametrize(("redirect", "message"), [
    (with_external_storage, "outside of the file.*external storage"), (with_virtual_dataset, "a virtual dataset"),
    (with_external_link, "refers to another file, .*other.h5"),
    (with_soft_link_through_external_link, "refers to another file, .*other.h5"),
    (with_circular_links, "chain of more than 16 links"),
])  # fmt: skip
def test_an_h5ad_that_refers_to_other_files_is_rejected(tmp_path, redirect, message):
    annotated(RNA).write_h5ad(tmp_path / "r.h5ad")
    with h5py.File(tmp_path / "r.h5ad", "r+") as file:
        del file["X"]
        redirect(file, secret_outside(tmp_path))
    with pytest.raises(ViewError, match=message):
        read(tmp_path / "r.h5ad")


def test_links_inside_of_a_file_are_followed(tmp_path):
    annotated(RNA).write_h5ad(tmp_path / "r.h5ad")
    with h5py.File(tmp_path / "r.h5ad", "r+") as file:
        file.move("X", "layers/counts")
        file["X"] = h5py.SoftLink("layers/counts")
    pd.testing.assert_frame_equal(read(tmp_path / "r.h5ad")["r"], RNA, check_exact=True)


def test_an_archive_writes_no_file(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    content = io.BytesIO()
    np.save(content, np.ones((2, 2)))
    with zipfile.ZipFile("evil.npz", "w") as archive:
        archive.writestr("../escaped.npy", content.getvalue())
    assert list(read("evil.npz")) == ["../escaped"]
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["work", "work/evil.npz"]


def npy_header(shape, dtype="<f8"):
    text = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text + b"\n"


def npy_that_declares_much(path):
    path.write_bytes(npy_header((2**20, 2**20)) + bytes(64))


def npz_that_declares_much(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", npy_header((2**20, 2**20)) + bytes(64))


def npz_that_decompresses_to_much(path):
    np.savez_compressed(path, x=np.zeros((2000, 1000)))


def bytes_that_become_floats(path):
    np.save(path, np.zeros((2000, 1000), dtype=np.int8))


def empty_sparse_matrix(path, shape=(100_000, 1000)):
    X = scipy.sparse.csr_matrix(shape, dtype=np.float32)
    anndata.AnnData(X, obs=pd.DataFrame(index=[f"c{i}" for i in range(shape[0])])).write_h5ad(path)


def compressed_dense_matrix(path):
    anndata.AnnData(np.zeros((2000, 1000), dtype=np.float32)).write_h5ad(path, compression="gzip")


def huge_chunk(path):
    annotated(RNA).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        del file["X"]
        file.create_dataset("X", data=RNA, chunks=(1000, 2000), maxshape=(None, None), compression="gzip")


def repeated_names(path):
    annotated(RNA).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        names = np.array([f"{i}" * 4 * MIB for i in range(4)], dtype="S")
        del file["obs/_index"]
        file["obs"].create_dataset("_index", data=names, compression="gzip")


def two_modalities(path):
    write_both_as_mudata(path)
    with h5py.File(path, "r+") as file:
        for name in ("rna", "protein"):
            del file[f"mod/{name}"]
            group = file.create_group(f"mod/{name}")
            group.create_dataset("X", data=np.zeros((1000, 700)), compression="gzip")
            for table, n in (("obs", 1000), ("var", 700)):
                group.create_group(table)
                group[table]["_index"] = [f"{i}" for i in range(n)]


def parquet_of_zeros(path):
    pd.DataFrame(np.zeros((100_000, 20))).rename(columns=str).to_parquet(path)


def parquet_of_long_text(path):
    pd.DataFrame({"id": [f"{i}" + "x" * MIB for i in range(20)], "x": np.arange(20.0)}).to_parquet(path)


def write_gzip(path, *blocks):
    with gzip.open(path, "wb") as file:
        for block in blocks:
            file.write(block)


def csv_of_zeros(path):
    write_gzip(path, b"x,y\n", b"0,0\n" * 1_000_000)


def csv_of_one_line(path):
    write_gzip(path, b"x,y\n", b"0," * 1_000_000)


def csv_without_line_ends(path):
    write_gzip(path, *[b"x" * MIB] * 12)


BOMBS = {
    "declared.npy": npy_that_declares_much, "declared.npz": npz_that_declares_much,
    "zeros.npz": npz_that_decompresses_to_much, "bytes.npy": bytes_that_become_floats,
    "sparse.h5ad": empty_sparse_matrix, "dense.h5ad": compressed_dense_matrix, "chunk.h5ad": huge_chunk,
    "names.h5ad": repeated_names, "both.h5mu": two_modalities, "zeros.parquet": parquet_of_zeros,
    "text.parquet": parquet_of_long_text, "rows.csv.gz": csv_of_zeros, "line.csv.gz": csv_of_one_line,
    "endless.csv.gz": csv_without_line_ends,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*Transforming to str index")
@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_declares_more_than_the_limit_is_rejected(tmp_path, name):
    BOMBS[name](tmp_path / name)
    # one sentence states what is declared, the limit, and how to raise it
    message = rf"{name} (declares|holds at least) [\d.,]+ .iB of data in memory, and the limit is 10.0 MiB,"
    message += r".* max_bytes(=\d+ or more)?\.$"
    if name.startswith("declared"):
        message = r"declares (an array of shape \(1048576, 1048576\)|8.0 TiB of data in memory)"
    with pytest.raises(ViewError, match=message):
        read(tmp_path / name, max_bytes=10 * MIB)


@pytest.mark.parametrize("name", ["declared.npy", "declared.npz"])
def test_the_default_limit_rejects_terabytes(tmp_path, name):
    BOMBS[name](tmp_path / name)
    with pytest.raises(ViewError, match="declares"):
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["zeros.npz", "sparse.h5ad", "zeros.parquet"])
def test_the_limit_of_the_message_suffices(tmp_path, name):
    BOMBS[name](tmp_path / name)
    with pytest.raises(ViewError) as caught:
        read(tmp_path / name, max_bytes=MIB)
    limit = int(re.search(r"max_bytes=(\d+) or more", str(caught.value))[1])
    with pytest.raises(ViewError):
        read(tmp_path / name, max_bytes=limit - 1)
    allowance = 100 * 101_000 if name == "sparse.h5ad" else 0  # names
    assert len(read(tmp_path / name, max_bytes=limit + allowance)) == 1


def test_the_limit_holds_for_all_files_together(tmp_path):
    for name in "abc":
        np.save(tmp_path / f"{name}.npy", np.zeros((1000, 100)))
    paths = [tmp_path / f"{name}.npy" for name in "abc"]
    assert len(read(paths, max_bytes=3 * 800_000)) == 3
    with pytest.raises(ViewError, match=r"c.npy declares .* of which 1.5 MiB are used by what was read before"):
        read(paths, max_bytes=3 * 800_000 - 1)


@pytest.mark.parametrize("wrong", [0, -1, "1 GB", True, float("nan")])
def test_an_invalid_limit_is_rejected(tmp_path, wrong, no_type_checks):
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    with pytest.raises(ValueError, match="max_bytes must be a positive number"):
        read(tmp_path / "a.npy", max_bytes=wrong)


def test_the_default_limit_is_a_quarter_of_the_available_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(mvlvm.io.size_limits, "available_memory", lambda: 4000.0)
    np.save(tmp_path / "a.npy", np.ones((25, 5)))
    assert len(read(tmp_path / "a.npy")) == 1
    np.save(tmp_path / "a.npy", np.ones((26, 5)))
    with pytest.raises(
        ViewError, match=r"1.0 KiB of data .* limit is 1000 bytes \(a quarter of the available memory\)"
    ):
        read(tmp_path / "a.npy")
    monkeypatch.setattr(mvlvm.io.size_limits, "available_memory", lambda: float("inf"))
    assert SizeLimit().n_bytes == 2**31


def test_the_available_memory_is_that_of_the_container(tmp_path, monkeypatch):
    limit, info = tmp_path / "memory.max", tmp_path / "meminfo"
    monkeypatch.setattr(mvlvm.io.size_limits, "_CONTAINER_LIMIT", limit)
    monkeypatch.setattr(mvlvm.io.size_limits, "_MEMORY_INFO", info)
    assert available_memory() == mvlvm.io.size_limits.physical_memory()
    info.write_text("MemTotal: 9 kB\nMemAvailable:   3 kB\n")
    limit.write_text("max\n")
    assert available_memory() == 3 * 1024
    limit.write_text("2048\n")
    assert available_memory() == 2048


@pytest.mark.parametrize("suffix", [*WRITERS, "npy", "npz"])
def test_infinity_is_rejected_with_its_column_and_row(tmp_path, suffix):
    path, table = tmp_path / f"t.{suffix}", RNA.copy()
    table.loc["c3", "g2"] = -np.inf
    match suffix:
        case "npy":
            np.save(path, table)
        case "npz":
            np.savez(path, t=table, t_names=list(table.columns))
        case _:
            WRITERS[suffix](table, path)
    row = "2" if suffix.startswith("np") else "'c3'"
    column = "1" if suffix == "npy" else "'g2'"
    with pytest.raises(
        ViewError, match=f"Column {column} of .*t.{suffix} must hold finite numbers.*Got -inf in row {row}"
    ):
        read(path)


def test_infinity_in_text_is_rejected(tmp_path):
    for word in ("inf", "-Infinity", "1e999"):
        (tmp_path / "t.csv").write_text(f"id,x,y\na,1,2\nb,3,{word}\n")
        with pytest.raises(ViewError, match="Column 'y' of .*t.csv must hold"):
            read(tmp_path / "t.csv")


def test_a_pipe_is_rejected(tmp_path):
    os.mkfifo(tmp_path / "p.npy")
    with pytest.raises(ViewError, match="p.npy must be a regular file. Got a pipe"):
        read(tmp_path / "p.npy")


def test_an_array_shorter_than_it_declares_is_rejected(tmp_path):
    (tmp_path / "a.npy").write_bytes(npy_header((4, 3)) + bytes(95))
    with pytest.raises(ViewError, match=r"a.npy is damaged.*declares an array of shape \(4, 3\).*holds 95 bytes"):
        read(tmp_path / "a.npy")
    (tmp_path / "a.npy").write_bytes(npy_header((4, -3)) + bytes(96))
    with pytest.raises(ViewError, match="a.npy is damaged"):
        read(tmp_path / "a.npy")
