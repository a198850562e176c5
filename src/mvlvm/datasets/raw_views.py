"""Multi-view benchmarks in MATLAB files, converted to the files of the cache."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Int16
from scipy import sparse
from scipy.io import loadmat

from mvlvm.datasets.arrays import write_arrays

# The files give views without names; their widths tell them apart.
_MFEAT = {"fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47, "mor": 6}
_MFEAT_WHOLE = {"fac": np.uint16, "pix": np.uint8}
_BBCSPORT = {"segment1": 3183, "segment2": 3203}
_BDGP = {"visual": 1000, "text": 500}


def mfeat(raw: Mapping[str, Path], target: Path) -> None:
    """Convert six descriptions of handwritten numerals (UCI Multiple Features)."""
    file = loadmat(raw["UCI_Digits.mat"])
    views, label = _named_views(file["fea"], file["gt"], _MFEAT)
    write_arrays(target, {name: Y.astype(_MFEAT_WHOLE.get(name, np.float32)) for name, Y in views.items()} | label)


def bbcsport(raw: Mapping[str, Path], target: Path) -> None:
    """Convert two segments of sports articles."""
    file = loadmat(raw["BBCSport.mat"])
    views, label = _named_views(file["fea"], file["gt"], _BBCSPORT)
    write_arrays(target, {name: Y.astype(np.float32) for name, Y in views.items()} | label)


def bdgp(raw: Mapping[str, Path], target: Path) -> None:
    """Convert images of fly embryos and the words that describe them."""
    file = loadmat(raw["BDGP.mat"])
    views, label = _named_views(file["data"], file["truelabel"].ravel()[0], _BDGP)
    write_arrays(target, {name: Y.astype(np.float32) for name, Y in views.items()} | label)


def _named_views(
    cells: np.ndarray, classes: np.ndarray, widths: Mapping[str, int]
) -> tuple[dict[str, np.ndarray], dict[str, Int16[np.ndarray, " N"]]]:
    """Name the matrices of a MATLAB cell array by their widths, with a row for every sample."""
    _, label = np.unique(classes.ravel(), return_inverse=True)
    matrices = [cell.toarray() if sparse.issparse(cell) else cell for cell in cells.ravel()]
    upright = {Y.shape[1]: Y for Y in (Y if len(Y) == len(label) else Y.T for Y in matrices)}
    absent = [f"{name} ({width} columns)" for name, width in widths.items() if width not in upright]
    if absent:
        raise ValueError(f"No view is as wide as {', '.join(absent)}; there are views of {sorted(upright)} columns.")
    return {name: upright[width] for name, width in widths.items()}, {"label": label.astype(np.int16)}
