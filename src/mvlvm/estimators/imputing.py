"""Gaps of views, filled with predictions."""

import warnings
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from mvlvm.errors import ViewWarning
from mvlvm.views.container import Views
from mvlvm.views.listing import listed

Arrays = Mapping[str, Float[np.ndarray, "N _"]]


def fill_gaps(views: Views, means: Arrays, stds: Arrays) -> tuple[Arrays, Arrays]:
    """Put predictions where nothing was observed, and warn of columns that nobody can fill.

    Args:
        views: views with gaps.
        means: view name -> predicted entries.
        stds: view name -> their standard deviations.

    Returns:
        The filled views, and the standard deviations of what was filled in, zero elsewhere.
    """
    filled, uncertainty = {}, {}
    for name, Y in views.arrays.items():
        gap = np.isnan(Y)
        filled[name] = np.where(gap, means[name], Y)
        # a column of labels has a standard deviation for every class
        uncertainty[name] = np.where(gap, stds[name], 0.0)
        still_empty = np.flatnonzero(np.isnan(filled[name]).any(axis=0))
        if len(still_empty):
            labels = views.layout.columns.get(name)
            columns = still_empty.tolist() if labels is None else [labels[place] for place in still_empty]
            warnings.warn(
                f"View '{name}' keeps gaps in {len(columns)} column(s) ({listed(columns)}): training has not seen an "
                "entry of them. Drop these columns, or fit rows that have them.",
                ViewWarning,
                stacklevel=3,
            )
    return filled, uncertainty
