"""How large views are, told from their shapes and types; nothing is read, copied or made dense.

How much memory a fit will need, told before it starts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from mvlvm.estimators.options import FitOptions, check_fit_options
from mvlvm.likelihoods import Gaussian
from mvlvm.optional_dependencies import is_dataframe
from mvlvm.row_blocks import NUMBERS_PER_BLOCK
from mvlvm.views.anndata import is_anndata, is_mudata
from mvlvm.views.layout import unpack
from mvlvm.views.likelihood_inference import AUTO
from mvlvm.views.scaling import per_view
from mvlvm.views.sparse import is_sparse

_BYTES_PER_NUMBER = np.dtype(np.float64)


@dataclass(frozen=True)
class ViewSize:
    """The size of one view.

    Attributes:
        n_rows: its rows, N.
        n_columns: its columns, M; one for a column of labels.
        n_copies: how many float64 matrices of this shape are made to let the view in.
    """

    n_rows: int
    n_columns: int
    n_copies: int

    @property
    def n_bytes(self) -> float:
        """Bytes of one float64 matrix of this shape."""
        return float(self.n_rows * self.n_columns * _BYTES_PER_NUMBER.itemsize)


def view_sizes(views: Any) -> dict[str, ViewSize]:
    """Give the size of every view.

    Args:
        views: as for `as_views`; what is wrong with them is not looked at.
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
        return 2  # dense in its own type first
    if is_dataframe(table):
        return int(any(dtype != _BYTES_PER_NUMBER for dtype in table.dtypes))
    return int(not isinstance(table, np.ndarray) or table.dtype != _BYTES_PER_NUMBER)


def total_bytes(sizes: Mapping[str, ViewSize]) -> float:
    """Give the bytes of all views as float64 matrices."""
    return sum((size.n_bytes for size in sizes.values()), 0.0)


_GB = 1e9
_FLOAT64 = 8
# What torch, its threads and the smallest fit take.
_ALL_ELSE = 0.12e9
# Arrays of the size of a block that are in memory at a time.
_ARRAYS_PER_BLOCK = 5
# Rows that the tempering of predictions is learned from, and matrices of so many rows that this takes.
_ROWS_TO_LEARN_FROM, _MATRICES_TO_LEARN_FROM = 4000, 3
# Compression keeps about this share of the columns; how many they are, only the data can tell.
_KEPT_SHARE = 0.3
# For every latent number: mean, deviation, their slopes and two averages of them in Adam, and draws.
_NUMBERS_PER_LATENT = 20.0
# Matrices of the shape of a view that a bound in weight space makes on its way, for views that are not Gaussian.
_WEIGHT_SPACE_MATRICES = 10


@dataclass(frozen=True)
class MemoryEstimate:
    """What a fit needs beyond its data, where it needs most.

    Attributes:
        parts: what it is needed for -> bytes; all of them are in memory at the same time.
    """

    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """The peak in bytes."""
        return sum(self.parts.values())

    def __str__(self) -> str:
        largest = sorted(self.parts.items(), key=lambda part: -part[1])
        return f"fit needs about {self.total / _GB:.2g} GB: " + ", ".join(
            f"{name} {n_bytes / _GB:.2g}" for name, n_bytes in largest if n_bytes >= 0.005 * self.total
        )


class EstimatesMemory(BaseEstimator):
    """The part of an estimator that tells what a fit will cost."""

    def estimate_memory(self, views: Any) -> MemoryEstimate:
        """Estimate the memory that `fit` will need at its peak, beyond the data themselves.

        Only shapes and types are looked at, so it takes no time. It is good to a third for complete Gaussian views on a
        CPU. Where entries are missing, twice the scaled views are needed; views of likelihood "auto" are taken for
        Gaussian.

        Args:
            views: as for `fit`.

        Returns:
            The estimate: `total` in bytes, `parts` by name; printed, it is a sentence.

        Example:
            >>> import numpy as np
            >>> from mvlvm import NGMVLVM
            >>> print(NGMVLVM().estimate_memory({"image": np.zeros((70_000, 784), dtype=np.float32)}))
            fit needs about 1.1 GB: views as float64 0.44, scaled views 0.44, all else 0.12, blocks of rows 0.08
        """
        parameters = self.get_params(deep=False)
        sizes = view_sizes(views)
        likelihoods = per_view(parameters["likelihood"], list(sizes), "likelihood")
        n_mixtures = per_view(parameters["n_mixtures"], list(sizes), "n_mixtures")
        options = check_fit_options(parameters)
        n_features = {name: 2 * Q * options.n_points for name, Q in n_mixtures.items()}
        weight_space = {name for name, kind in likelihoods.items() if kind not in (Gaussian.name, AUTO)}
        stages = [_letting_in(sizes), _training(sizes, options, n_features, weight_space), _conditioning(sizes)]
        return max((MemoryEstimate(_with_rest(stage)) for stage in stages), key=lambda estimate: estimate.total)


def _letting_in(sizes: Mapping[str, ViewSize]) -> dict[str, float]:
    """Give what is in memory when views have just been scaled."""
    copies = sum((size.n_copies * size.n_bytes for size in sizes.values()), 0.0)
    return {"views as float64": copies, "scaled views": total_bytes(sizes)}


def _training(
    sizes: Mapping[str, ViewSize], options: FitOptions, n_features: Mapping[str, int], weight_space: set[str]
) -> dict[str, float]:
    """Give what is in memory during a step of training."""
    N, item = max(size.n_rows for size in sizes.values()), options.dtype.itemsize
    compressed = [_KEPT_SHARE * size.n_columns * N * item for name, size in sizes.items() if name not in weight_space]
    # views take their turns, so that the features of only one are there
    features = max(min(1.5 * F * N * item, options.memory_budget) for F in n_features.values())
    in_weight_space = [
        _WEIGHT_SPACE_MATRICES * sizes[name].n_bytes + 2 * N * n_features[name] * _FLOAT64 for name in weight_space
    ]
    return {
        "scaled views": total_bytes(sizes),
        "compressed views": sum(compressed, 0.0) if options.compress is not None else 0.0,
        "features": features,
        "weight space": max(in_weight_space, default=0.0),
        "latents": _NUMBERS_PER_LATENT * N * options.n_components * item,
    }


def _conditioning(sizes: Mapping[str, ViewSize]) -> dict[str, float]:
    """Give what is in memory when the tempering of predictions is learned, after training."""
    of_rows = [min(1.0, _ROWS_TO_LEARN_FROM / size.n_rows) * size.n_bytes for size in sizes.values()]
    return {"scaled views": total_bytes(sizes), "rows to learn from": _MATRICES_TO_LEARN_FROM * sum(of_rows)}


def _with_rest(parts: Mapping[str, float]) -> dict[str, float]:
    """Add what every stage needs."""
    scaled = parts["scaled views"]
    blocks = _ARRAYS_PER_BLOCK * min(float(NUMBERS_PER_BLOCK * _FLOAT64), scaled)
    return {**parts, "blocks of rows": blocks, "all else": _ALL_ELSE}
