"""Raw files in the formats of the public sources, created from the converted files."""

import gzip
import io
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(os.environ.get("MVLVM_DATA") or "no data")


def shared_arrays(file: str) -> dict[str, np.ndarray]:
    """Return the arrays of a data file, or skip the test."""
    if not (FOLDER / file).exists():
        pytest.skip(f"$MVLVM_DATA does not contain {file}")
    with np.load(FOLDER / file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def assert_same_arrays(path: Path, expected: Mapping[str, np.ndarray]) -> None:
    """Assert that a file contains exactly the expected arrays: names, dtypes and values, including NaN."""
    with np.load(path, allow_pickle=False) as archive:
        assert sorted(archive.files) == sorted(expected)
        for name, array in expected.items():
            assert archive[name].dtype == array.dtype, name
            np.testing.assert_array_equal(archive[name], array, err_msg=name)


def idx_gz(array: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
    return gzip.compress(header + array.tobytes(), compresslevel=1)


def tar_gz(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def cifar_members(X: np.ndarray, y: np.ndarray, folder: str = "cifar-10-batches-bin") -> dict[str, bytes]:
    """Split images into the six batches of the binary archive, test batch first, since the order must not matter."""
    records = np.concatenate([y[:, None], X.transpose(0, 3, 1, 2).reshape(len(X), -1)], axis=1).astype(np.uint8)
    names = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
    batches = {name: part.tobytes() for name, part in zip(names, np.split(records, 6), strict=True)}
    return {f"{folder}/{name}": batches[name] for name in sorted(names, reverse=True)} | {
        f"{folder}/readme.html": b"hi"
    }


def files_under(folder: Path) -> dict[str, bytes]:
    """Return relative path -> contents of all files in a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def write_mnist(folder, n=40, seed=0):
    """Write `mnist.npz` with `n` random images; return the (n, 28, 28) images."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    images = rng.integers(0, 256, (n, 28, 28), dtype=np.uint8)
    np.savez_compressed(
        folder / "mnist.npz", X=images, y=np.arange(n, dtype=np.uint8) % 10, n_train=np.int64(3 * n // 4)
    )
    return images
