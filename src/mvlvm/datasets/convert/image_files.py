"""Converters for image data: MNIST's idx files, CIFAR-10's binary archive, and images in MATLAB files."""

import gzip
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import numpy as np
from jaxtyping import UInt8
from scipy.io import loadmat

from mvlvm.checks import require
from mvlvm.datasets.convert import write_arrays

CIFAR_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_CIFAR_BATCHES = (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin")
_CIFAR_TRAIN = 50_000
_SVHN_KEPT = 16_000


def grey(images: UInt8[np.ndarray, "N height width 3"]) -> UInt8[np.ndarray, "N height width"]:
    """Convert colour images to grey levels, (N, height, width), by the ITU-R 601 luma."""
    Image = require("PIL.Image", "Converting images to grey", "data")
    return np.stack([np.asarray(Image.fromarray(image).convert("L")) for image in images])


def resize(images: UInt8[np.ndarray, "N old old *channels"], side: int) -> UInt8[np.ndarray, "N side side *channels"]:
    """Resize images to (N, side, side, *channels) with Pillow's antialiased bilinear filter."""
    Image = require("PIL.Image", "Resizing images", "data")
    filtered = (Image.fromarray(image).resize((side, side), Image.Resampling.BILINEAR) for image in images)
    return np.stack([np.asarray(image) for image in filtered])


def mnist(raw: Mapping[str, Path], target: Path) -> None:
    """Convert the four gzipped idx files of MNIST; training rows first."""
    images = [_read_idx(raw[f"{part}-images-idx3-ubyte.gz"]) for part in ("train", "t10k")]
    labels = [_read_idx(raw[f"{part}-labels-idx1-ubyte.gz"]) for part in ("train", "t10k")]
    n_train = np.array(len(labels[0]), dtype=np.int64)
    write_arrays(target, {"X": np.concatenate(images), "y": np.concatenate(labels), "n_train": n_train})


def _read_idx(path: Path) -> UInt8[np.ndarray, "..."]:
    """Read a gzipped idx file of bytes: two zero bytes, data type, number of axes, axis lengths, values."""
    content = gzip.decompress(path.read_bytes())
    if content[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path.name} is not an idx file of bytes.")
    n_axes = content[3]
    shape = np.frombuffer(content, dtype=">u4", count=n_axes, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * n_axes).reshape(tuple(map(int, shape)))


def cifar10(raw: Mapping[str, Path], target: Path) -> None:
    """Convert CIFAR-10's binary archive to colour images: batches 1 to 5, then the test batch."""
    X, y = _read_cifar(raw["cifar-10-binary.tar.gz"])
    _write_cifar(target, X, y)


def cifar10_gray20(raw: Mapping[str, Path], target: Path) -> None:
    """Convert CIFAR-10's binary archive to grey images of 20 x 20 pixels."""
    X, y = _read_cifar(raw["cifar-10-binary.tar.gz"])
    _write_cifar(target, resize(grey(X), 20), y)


def _write_cifar(target: Path, X: UInt8[np.ndarray, "N ..."], y: UInt8[np.ndarray, " N"]) -> None:
    n_train = np.array(_CIFAR_TRAIN, dtype=np.int64)
    write_arrays(target, {"X": X, "y": y, "n_train": n_train, "class_names": np.array(CIFAR_CLASSES)})


def _read_cifar(path: Path) -> tuple[UInt8[np.ndarray, "N 32 32 3"], UInt8[np.ndarray, " N"]]:
    """Read the six batches in memory; nothing is extracted, so that member names never become paths."""
    batches: dict[str, bytes] = {}
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            name = PurePosixPath(member.name).name
            if stream is not None and name in _CIFAR_BATCHES:
                batches[name] = stream.read()
    absent = [name for name in _CIFAR_BATCHES if name not in batches]
    if absent:
        raise ValueError(f"{path.name} has no {', '.join(absent)}.")
    # a record consists of a label and the red, green and blue planes of an image
    records = np.frombuffer(b"".join(batches[name] for name in _CIFAR_BATCHES), dtype=np.uint8).reshape(
        -1, 1 + 3 * 1024
    )
    return records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), records[:, 0]


def svhn(raw: Mapping[str, Path], target: Path) -> None:
    """Convert the first 16,000 digits of SVHN's `train_32x32.mat`, which encodes the digit 0 as class 10."""
    file = loadmat(raw["train_32x32.mat"])
    X = file["X"][..., :_SVHN_KEPT].transpose(3, 0, 1, 2)
    write_arrays(target, {"X": X, "y": (file["y"].ravel()[:_SVHN_KEPT] % 10).astype(np.uint8)})


def frey_faces(raw: Mapping[str, Path], target: Path) -> None:
    """Convert `frey_rawface.mat`, whose columns are frames of 28 x 20 pixels."""
    write_arrays(target, {"X": loadmat(raw["frey_rawface.mat"])["ff"].T.reshape(-1, 28, 20)})


def yale(raw: Mapping[str, Path], target: Path) -> None:
    """Convert Deng Cai's crops of the Yale faces in two sizes."""
    (X32, y), (X64, _) = (_read_square_images(raw[f"Yale_{side}x{side}.mat"], side) for side in (32, 64))
    write_arrays(target, {"X32": X32.astype(np.uint8), "X64": X64.astype(np.uint8), "y": y})


def coil20(raw: Mapping[str, Path], target: Path) -> None:
    """Convert Deng Cai's 32 x 32 version of COIL-20."""
    X, y = _read_square_images(raw["COIL20.mat"], 32)
    write_arrays(target, {"X": X.astype(np.float32), "y": y})


def _read_square_images(path: Path, side: int) -> tuple[np.ndarray, UInt8[np.ndarray, " N"]]:
    """Read images stored as rows in column-major order, and class numbers that start at one.

    The arrays are named fea and gnd in the original files, X and Y in some copies.

    Returns:
        The (N, side, side) images and the (N,) class numbers, starting at zero.
    """
    file = loadmat(path)
    rows, classes = (file["fea"], file["gnd"]) if "fea" in file else (file["X"], file["Y"])
    return rows.reshape(-1, side, side).transpose(0, 2, 1), (classes.ravel() - 1).astype(np.uint8)
