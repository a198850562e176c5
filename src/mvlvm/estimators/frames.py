"""What a fit found, as pandas DataFrames with names for rows and columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from mvlvm.estimators.fitted import FittedModel
from mvlvm.views.optional import require


def factor_frame(fitted: FittedModel) -> Any:
    """Give the latents, a row for every sample and a column for every dimension."""
    pandas = require("pandas", "Giving factors as a DataFrame")
    mean = fitted.model.latent.mean.detach().double().cpu().numpy()
    index = fitted.layout.index if fitted.layout.row_names is not None else None
    return pandas.DataFrame(mean, index=index, columns=fitted.dimensions.names())


def view_frame(table: Float[np.ndarray, "V D"], views: Sequence[str], fitted: FittedModel) -> Any:
    """Give a table of views and dimensions."""
    pandas = require("pandas", "Giving relevance as a DataFrame")
    return pandas.DataFrame(table, index=list(views), columns=fitted.dimensions.names())
