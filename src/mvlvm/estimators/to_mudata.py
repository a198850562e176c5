"""Writing a fit into the MuData or AnnData object of its samples."""

import json
from typing import Any

import numpy as np
from jaxtyping import Int
from sklearn.utils.validation import check_is_fitted

from mvlvm.checks import listed
from mvlvm.errors import ViewError
from mvlvm.estimators.base import AbstractMultiViewLVM
from mvlvm.estimators.serialization import plain
from mvlvm.init.initializations import CUSTOM, is_custom
from mvlvm.version import __version__
from mvlvm.views.interop import is_anndata, is_mudata, suppress_anndata_warnings

MEAN_KEY, STD_KEY, FIT_KEY = "X_mvlvm", "X_mvlvm_std", "mvlvm"


def to_mudata(est: AbstractMultiViewLVM, mdata: Any) -> Any:
    """Write a fit into a MuData or AnnData, in place.

    `obsm["X_mvlvm"]` receives the latent means, `obsm["X_mvlvm_std"]` their standard deviations, and `uns["mvlvm"]` the
    parameters and the record of the fit, in types that .h5mu and .h5ad files support.

    Rows are matched by name if the fit has row names, so that `mdata` may have another order; otherwise row i of the
    fit is row i of `mdata`, or the row named "i" if all rows are named by such numbers.

    Args:
        est: a fitted estimator.
        mdata: a MuData or AnnData with the same rows.

    Returns:
        `mdata` itself.

    Raises:
        NotFittedError: the estimator is not fitted.
        ViewError: the rows do not match those of the fit.
        TypeError: `mdata` is neither a MuData nor an AnnData.
    """
    check_is_fitted(est)
    if not (is_mudata(mdata) or is_anndata(mdata)):
        raise TypeError(
            f"to_mudata writes into a MuData or AnnData. Got {type(mdata).__name__}. "
            "The arrays themselves are est.embedding_ and est.embedding_std_."
        )
    order = _matching_rows(est, mdata)
    with suppress_anndata_warnings():
        mdata.obsm[MEAN_KEY] = est.embedding_[order]
        mdata.obsm[STD_KEY] = est.embedding_std_[order]
        mdata.uns[FIT_KEY] = _summary(est)
    return mdata


def _matching_rows(est: AbstractMultiViewLVM, mdata: Any) -> Int[np.ndarray, " N"]:
    """Return the index of the row of the fit for every row of `mdata`."""
    fitted, wanted = est.model_.layout.row_names, list(mdata.obs_names)
    N = len(est.embedding_)
    numbers = [str(i) for i in range(N)]
    if fitted is None and set(wanted) == set(numbers):
        fitted = numbers  # the default names of AnnData, which are kept when rows are reordered
    if fitted == wanted or (fitted is None and len(wanted) == N):
        return np.arange(N)
    if fitted is None:
        raise ViewError(
            f"The fit has {N} rows without names, so the {type(mdata).__name__} must have as many. Got {len(wanted)}. "
            "Pass the rows that were fitted, or fit a DataFrame, AnnData or MuData, whose rows have names."
        )
    row_of = {name: i for i, name in enumerate(fitted)}
    if len(row_of) < N or len(set(wanted)) < len(wanted):
        raise ViewError(
            "Row names must be unique to be matched in another order. Got duplicate names. "
            "Call obs_names_make_unique() before the fit, or pass the rows in the order of the fit."
        )
    unknown = [name for name in wanted if name not in row_of]
    absent = sorted(set(fitted).difference(wanted), key=row_of.__getitem__)
    if unknown or absent:
        raise ViewError(
            f"The {type(mdata).__name__} must have the rows of the fit. Of the {N} rows of the fit it lacks "
            f"{_counted(absent)}; of its {len(wanted)} rows the fit does not have {_counted(unknown)}. "
            "Pass the rows that were fitted."
        )
    return np.array([row_of[name] for name in wanted])


def _counted(names: list[str]) -> str:
    return f"{len(names)} ({listed(names)})" if names else "none"


def _summary(est: AbstractMultiViewLVM) -> dict[str, Any]:
    """Return the parameters and the record of a fit, as text, numbers, arrays and dicts of them."""
    keys = [_key(name) for name in est.view_names_]
    return {
        "version": __version__,
        "estimator": type(est).__name__,
        "parameters": {name: _storable(name, value) for name, value in est.get_params(deep=False).items()},
        "view_names": np.array(est.view_names_, dtype=object),
        "elbo": est.elbo_,
        "n_iter": est.n_iter_,
        "stop_reason": est.stop_reason_,
        "likelihood": dict(zip(keys, est.likelihood_.values(), strict=True)),
        "noise_variance": {_key(name): variance for name, variance in est.noise_variance_.items()},
        "explained_variance": dict(zip(keys, est.explained_variance_.values(), strict=True)),
        "relevance": dict(zip(keys, est.relevance_, strict=True)),
        "history": {_key(column): np.asarray(values) for column, values in est.history_.items()},
    }


def _key(view: str) -> str:
    """Return the key of a view in the file, with slashes escaped: they would create a group."""
    return "%2E" if view == "." else view.replace("/", "%2F")


def _storable(parameter: str, value: Any) -> Any:
    """Convert a parameter for HDF5: None and settings per view become JSON text."""
    if parameter == "init" and is_custom(value):
        return CUSTOM
    if parameter == "init" and not isinstance(value, str):
        return np.asarray(value, dtype=np.float64)
    value = plain(parameter, value)
    return value if isinstance(value, str | int | float) else json.dumps(value)
