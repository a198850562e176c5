"""An estimate of the memory that a fit needs, computed from the shapes of the views."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mvlvm.estimators.options import FitOptions, check_fit_options
from mvlvm.inference.tempering import MAX_FOLD_ROWS
from mvlvm.init.covariance import MAX_LANDMARKS
from mvlvm.init.initializations import ALIASES
from mvlvm.init.tsne import MAX_NEIGHBOURS
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.models.gaussian_views import NUMBERS_PER_FEATURE
from mvlvm.row_blocks import NUMBERS_PER_BLOCK
from mvlvm.views.interop import is_anndata, is_mudata, is_sparse
from mvlvm.views.layout import unpack
from mvlvm.views.likelihood_inference import AUTO
from mvlvm.views.scaling import per_view

_FLOAT64 = np.dtype(np.float64)
_GB = 1e9
# torch, its threads and the smallest fit.
_BASELINE = 0.02e9
# Arrays of the size of a block of rows that are in memory at the same time.
_ARRAYS_PER_BLOCK = 5
# Matrices of as many rows as the tempering of predictions is learned from.
_N_TEMPERING_MATRICES = 3
# Share of the columns that compression keeps, roughly: the number depends on the data.
_KEPT_SHARE = 0.3
# For every neighbour of a row, while affinities are made; matrices of pairs of landmarks.
_BYTES_PER_PAIR = 110.0
# An affinity with the numbers of its two rows.
_BYTES_OF_AFFINITY = 20.0
_N_LANDMARK_MATRICES = 9
# For every latent: mean, standard deviation, their gradients, two moments of each in Adam, and draws.
_NUMBERS_PER_LATENT = 20.0
# Matrices of the shape of a view that the bound in weight space allocates, for views that are not Gaussian.
_WEIGHT_SPACE_MATRICES = 10


@dataclass(frozen=True)
class ViewSize:
    """The size of one view.

    Attributes:
        n_rows: number of rows N.
        n_columns: number of columns M; one for a column of labels.
        n_copies: number of float64 matrices of this shape that input validation allocates.
    """

    n_rows: int
    n_columns: int
    n_copies: int

    @property
    def n_bytes(self) -> float:
        """Bytes of one float64 matrix of this shape."""
        return float(self.n_rows * self.n_columns * _FLOAT64.itemsize)


def view_sizes(views: Any) -> dict[str, ViewSize]:
    """Return view name -> its size, from shapes and types alone.

    Args:
        views: as for `as_views`; they are not validated.
    """
    if is_mudata(views):
        return {name: ViewSize(views.n_obs, adata.n_vars, 2) for name, adata in views.mod.items()}
    if is_anndata(views):
        return {"view0": ViewSize(views.n_obs, views.n_vars, 2)}
    _, tables = unpack(views)
    return {str(name): _size(table) for name, table in tables.items()}


def _size(table: Any) -> ViewSize:
    shape = table.shape if isinstance(getattr(table, "shape", None), tuple) else np.shape(table)
    n_rows, n_columns = (*shape, 1, 1)[:2]
    return ViewSize(int(n_rows), int(n_columns), _n_copies(table))


def _n_copies(table: Any) -> int:
    if is_sparse(table):
        return 2  # converted to a dense array of its own type first
    if isinstance(table, pd.DataFrame):
        return int(any(dtype != _FLOAT64 for dtype in table.dtypes))
    return int(not isinstance(table, np.ndarray) or table.dtype != _FLOAT64)


def total_bytes(sizes: Mapping[str, ViewSize]) -> float:
    """Return the number of bytes of all views as float64 matrices."""
    return sum((size.n_bytes for size in sizes.values()), 0.0)


@dataclass(frozen=True)
class MemoryEstimate:
    """The memory of a fit at its peak, beyond the data.

    Attributes:
        parts: purpose -> bytes; all parts are in memory at the same time.
        kept: bytes that a fitted estimator keeps until `prepare` is called, or everything has been computed.
    """

    parts: Mapping[str, float]
    kept: float = 0.0

    @property
    def total(self) -> float:
        """The peak memory in bytes."""
        return sum(self.parts.values())

    def __str__(self) -> str:
        largest = sorted(self.parts.items(), key=lambda part: -part[1])
        return f"fit needs about {self.total / _GB:.2g} GB: " + ", ".join(
            f"{name} {n_bytes / _GB:.2g}" for name, n_bytes in largest if n_bytes >= 0.005 * self.total
        )


def estimate_memory(parameters: Mapping[str, Any], views: Any) -> MemoryEstimate:
    """Estimate the peak memory of a fit from the shapes and types of the views.

    Args:
        parameters: the estimator's parameters.
        views: as for `fit`.
    """
    sizes = view_sizes(views)
    likelihoods = per_view(parameters["likelihood"], list(sizes), "likelihood")
    n_mixtures = per_view(parameters["n_mixtures"], list(sizes), "n_mixtures")
    options = check_fit_options(parameters)
    n_features = {name: 2 * Q * options.n_points for name, Q in n_mixtures.items()}
    weight_space = {name for name, kind in likelihoods.items() if kind not in (Gaussian.name, AUTO)}
    stages = [
        _preprocessing(sizes), _initializing(sizes, options), _training(sizes, options, n_features, weight_space),
        _conditioning(sizes),
    ]  # fmt: skip
    kept = total_bytes(sizes)
    return max((MemoryEstimate(_with_common(stage), kept) for stage in stages), key=lambda estimate: estimate.total)


def _preprocessing(sizes: Mapping[str, ViewSize]) -> dict[str, float]:
    """Return the memory after the views have been scaled."""
    copies = sum((size.n_copies * size.n_bytes for size in sizes.values()), 0.0)
    return {"views as float64": copies, "scaled views": total_bytes(sizes)}


def _initializing(sizes: Mapping[str, ViewSize], options: FitOptions) -> dict[str, float]:
    """Return the memory while initial latents are computed, other than principal components."""
    N, init = max(size.n_rows for size in sizes.values()), options.init if isinstance(options.init, str) else ""
    parts = {"scaled views": total_bytes(sizes)}
    if options.neighbor_weight or ALIASES.get(init, init) in ("auto", "tsne"):
        parts["neighbours"] = 0.5 * total_bytes(sizes) + _BYTES_PER_PAIR * MAX_NEIGHBOURS * N
    if init in ("auto", "covariance"):
        parts["landmarks"] = float(_N_LANDMARK_MATRICES * min(N, MAX_LANDMARKS) ** 2 * _FLOAT64.itemsize)
    return parts


def _training(
    sizes: Mapping[str, ViewSize], options: FitOptions, n_features: Mapping[str, int], weight_space: set[str]
) -> dict[str, float]:
    """Return the memory during a training step."""
    N, item = max(size.n_rows for size in sizes.values()), options.dtype.itemsize
    compressed = [_KEPT_SHARE * size.n_columns * N * item for name, size in sizes.items() if name not in weight_space]
    # evidences are computed in turn, so that only the features of one view are in memory
    features = max(min(NUMBERS_PER_FEATURE * F * N * item, options.memory_budget) for F in n_features.values())
    in_weight_space = [
        _WEIGHT_SPACE_MATRICES * sizes[name].n_bytes + 2 * N * n_features[name] * _FLOAT64.itemsize
        for name in weight_space
    ]
    return {
        "scaled views": total_bytes(sizes),
        "affinities": 2 * _BYTES_OF_AFFINITY * MAX_NEIGHBOURS * N if options.neighbor_weight else 0.0,
        "compressed views": sum(compressed, 0.0) if options.compress is not None else 0.0,
        "features": features,
        "weight space": max(in_weight_space, default=0.0),
        "latents": _NUMBERS_PER_LATENT * N * options.n_components * item,
    }


def _conditioning(sizes: Mapping[str, ViewSize]) -> dict[str, float]:
    """Return the memory when the tempering of predictions is learned, after training."""
    of_rows = [min(1.0, MAX_FOLD_ROWS / size.n_rows) * size.n_bytes for size in sizes.values()]
    return {"scaled views": total_bytes(sizes), "rows to learn from": _N_TEMPERING_MATRICES * sum(of_rows)}


def _with_common(parts: Mapping[str, float]) -> dict[str, float]:
    """Add the memory that every stage needs."""
    scaled = parts["scaled views"]
    blocks = _ARRAYS_PER_BLOCK * min(float(NUMBERS_PER_BLOCK * _FLOAT64.itemsize), scaled)
    return {**parts, "blocks of rows": blocks, "all else": _BASELINE}
