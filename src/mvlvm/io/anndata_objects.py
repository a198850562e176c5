"""Conversion of DataFrames to AnnData and MuData objects."""

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import pandas as pd

from mvlvm.checks import require


def as_anndata(frame: Any) -> Any:
    """Return a DataFrame as an AnnData."""
    anndata = require("anndata", "Returning results as AnnData")
    with suppress_anndata_warnings():
        return anndata.AnnData(
            frame.to_numpy(),
            obs=pd.DataFrame(index=frame.index.map(str)),
            var=pd.DataFrame(index=frame.columns.map(str)),
        )


def as_mudata(frames: Mapping[str, Any]) -> Any:
    """Return DataFrames with the same rows as a MuData with one modality each."""
    mudata = require("mudata", "Returning results as MuData")
    with suppress_anndata_warnings():
        return mudata.MuData({name: as_anndata(frame) for name, frame in frames.items()})


@contextmanager
def suppress_anndata_warnings() -> Iterator[None]:
    """Suppress warnings of anndata and mudata that do not concern the current call.

    Users are warned of duplicate names when they create the object. Columns of obs and var are not copied from the
    modalities to the MuData, which will be the default from mudata 0.4.
    """
    mudata = sys.modules.get("mudata")
    with warnings.catch_warnings(), mudata.set_options(pull_on_update=False) if mudata else nullcontext():
        warnings.filterwarnings("ignore", message=".*names (are not unique|should not be present)")
        yield
