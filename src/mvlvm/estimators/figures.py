"""Figures of a fitted model as methods of the estimators; matplotlib is imported when one is drawn."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int
from sklearn.utils.validation import check_is_fitted

from mvlvm.checks import check_choice, require
from mvlvm.errors import ViewError
from mvlvm.estimators.fitted import FittedModel


class FigureMixin(ABC):
    """Figures of a fitted model. All methods return matplotlib axes."""

    model_: FittedModel
    history_: Mapping[str, np.ndarray]

    @abstractmethod
    def relevance(self, *, of: str = "variation") -> Any:
        """Return the relevance of the latent dimensions for the views."""

    @abstractmethod
    def kernel_matrix(self, view: str, X1: Any = None, X2: Any = None, *, n_draws: int | None = None) -> Any:
        """Return the learned kernel matrix of one view."""

    @abstractmethod
    def factors(self, views: Any = None, *, return_std: bool = False) -> Any:
        """Return the latents in all dimensions."""

    def plot_latent(
        self, color: Any = None, *, dims: Sequence[int] | None = None, uncertainty: bool = True, label: str = "",
        axes: Any = None,
    ) -> Any:  # fmt: skip
        """Plot the latents of the training rows.

        One dimension is drawn as a strip, two as a map, and more as maps of pairs of dimensions.

        Args:
            color: of the rows: text, booleans, categories or few different integers are classes, other numbers are
                values; None, NaN and empty text mark unknown ones, which are grey.
            dims: the dimensions to draw, of `factors()`; None stands for all shared ones.
            uncertainty: whether to draw ellipses of one posterior standard deviation, for up to 3,000 rows.
            label: title of the legend, or label of the colour bar.
            axes: to draw into, for one or two dimensions; None makes a new figure.

        Returns:
            The axes; a list of them for more than two dimensions.
        """
        check_is_fitted(self)  # pyright: ignore[reportArgumentType]
        plots = _plots()
        mean, std = self.factors(return_std=True)
        return plots.plot_embedding(
            mean.to_numpy(), color, std=std.to_numpy() if uncertainty else None,
            dims=range(self.model_.dimensions.n_shared) if dims is None else dims, names=list(mean.columns),
            label=label, axes=axes,
        )  # fmt: skip

    def plot_relevance(self, *, of: str = "variation") -> Any:
        """Plot the relevance of the latent dimensions for the views.

        Args:
            of: "variation" for shares of the variation of a view, "variance" for the explained variance that is lost
                without a dimension.
        """
        check_is_fitted(self)  # pyright: ignore[reportArgumentType]
        plots, of = _plots(), check_choice(of, "of", ("variation", "variance"))
        draw = plots.plot_relevance if of == "variation" else plots.plot_explained_variance
        return draw(self.relevance(of=of)).axes[0]

    def plot_history(self, *, by: str = "step") -> Any:
        """Plot the bound, and the learning rate, over the steps or the time of training.

        Args:
            by: "step" or "seconds".
        """
        check_is_fitted(self)  # pyright: ignore[reportArgumentType]
        return _plots().plot_history(self.history_, by=check_choice(by, "by", ("step", "seconds")))

    def plot_kernel(self, view: str, *, order: Any = None, axes: Any = None) -> Any:
        """Plot the learned kernel matrix of one view over the training rows.

        Args:
            view: its name.
            order: values to sort the rows by, such as labels; None keeps their order.
            axes: to draw into; None makes a new figure.
        """
        K = self.kernel_matrix(view)
        rows = None if order is None else sorting_order(order, len(K))
        return _plots().plot_kernel_matrix(K if rows is None else K[np.ix_(rows, rows)], title=view, axes=axes)


def sorting_order(values: Any, n_rows: int) -> Int[np.ndarray, " N"]:
    """Return the order of rows by some values; unknown ones are last.

    Raises:
        ViewError: there is not one value per row.
    """
    column = pd.Series(np.asarray(values, dtype=object)).infer_objects()
    if len(column) != n_rows:
        raise ViewError(f"order must have one value per row, {n_rows}. Got {len(column)}.")
    column = column if pd.api.types.is_numeric_dtype(column) else column.where(column.isna(), column.astype(str))
    return column.sort_values(kind="stable").index.to_numpy()


def _plots() -> Any:
    require("matplotlib", "A figure", "plots")
    from mvlvm import plots

    return plots
