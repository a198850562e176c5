"""Centring and scaling of views, undone again in everything that goes back to the user."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from mvlvm.errors import ViewError, ViewWarning

Scale = Literal["view", "column"] | None
SCALES = ("auto", "view", "column", None)

# A column whose range is below this share of its size varies by a few roundings only.
_CONSTANT_TOLERANCE = 1e-14
# What `choose_scale` calls most, many and alike. Measured: pixels and Gaussian process draws lose accuracy when their
# columns are scaled one by one; the four bicycle counts of BRIDGES gain.
_MOST = 0.5
_MANY_COLUMNS = 10
_LIKE_SPREAD = 4.0
# How many column names a warning lists.
_NAMES_SHOWN = 5


@dataclass(frozen=True)
class Scaling:
    """How one view was centred and scaled, and which of its columns the model sees.

    Attributes:
        mean: the column means.
        factor: what each centred column was divided by.
        kept: which columns vary; the others are constant and left out of the model.
        scale: the kind of scaling.
    """

    mean: Float[np.ndarray, " M"]
    factor: Float[np.ndarray, " M"]
    kept: Bool[np.ndarray, " M"]
    scale: Scale

    def apply(self, Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N R"]:
        """Centre and scale, and keep the columns that vary."""
        return ((Y - self.mean) / self.factor)[:, self.kept]

    def undo(self, Y: Float[np.ndarray, "N R"]) -> Float[np.ndarray, "N M"]:
        """Go back to the data's own units; constant columns get their constant."""
        full = np.tile(self.mean, (len(Y), 1))
        full[:, self.kept] += Y * self.factor[self.kept]
        return full

    def undo_std(self, std: Float[np.ndarray, "N R"]) -> Float[np.ndarray, "N M"]:
        """Give standard deviations in the data's own units; those of constant columns are zero."""
        full = np.zeros((len(std), len(self.mean)))
        full[:, self.kept] = std * self.factor[self.kept]
        return full

    def undo_variance(self, variance: float) -> float:
        """Give a variance common to all modelled columns in the data's own units, averaged over them."""
        return float(variance * np.mean(self.factor[self.kept] ** 2))


def fit_scalings(
    views: Mapping[str, Float[np.ndarray, "N _"]], scales: Mapping[str, Scale | Literal["auto"]]
) -> dict[str, Scaling]:
    """Choose how to centre and scale every view, and warn of columns that are left out.

    Args:
        views: view name -> matrix.
        scales: view name -> what to do, see `fit_scaling`.
    """
    scalings = {}
    for name, Y in views.items():
        scalings[name] = fit_scaling(name, Y, scales[name])
        if not scalings[name].kept.all():
            warnings.warn(_about_constants(name, scalings[name].kept), ViewWarning, stacklevel=3)
    return scalings


def fit_scaling(name: str, Y: Float[np.ndarray, "N M"], scale: Scale | Literal["auto"]) -> Scaling:
    """Choose how to centre and scale a view.

    Args:
        name: the view, for messages.
        Y: the view.
        scale: "view" divides all columns by one factor, so that their mean variance is one; "column" divides each by
            its own; None divides by nothing; "auto" chooses one of the first two by `choose_scale`.

    Raises:
        ViewError: no column varies.
    """
    mean, std = Y.mean(axis=0), Y.std(axis=0)
    kept = np.ptp(Y, axis=0) > _CONSTANT_TOLERANCE * np.abs(Y).max(axis=0)
    if not kept.any():
        raise ViewError(f"View '{name}' is constant: none of its {Y.shape[1]} columns varies. Leave the view out.")
    chosen = choose_scale(Y[:, kept]) if scale == "auto" else scale
    factor = np.ones_like(std)
    if chosen == "column":
        factor[kept] = std[kept]
    elif chosen == "view":
        factor[:] = np.sqrt(np.mean(std[kept] ** 2))
    return Scaling(mean, factor, kept, chosen)


def choose_scale(Y: Float[np.ndarray, "N M"]) -> Scale:
    """Guess whether a view's columns share one unit, so that differences in their spread mean something.

    Pixels, counts and one-hot labels do, and they show it: most columns end at the same smallest or the same largest
    value. So do many columns of like spread, such as the channels of one instrument. A handful of columns, or columns
    of very different spread, are different quantities with units of their own.
    """
    M = Y.shape[1]
    if M == 1:
        return "column"
    ends = (Y.min(axis=0), Y.max(axis=0))
    share_of_common_end = max(np.unique(end, return_counts=True)[1].max() / M for end in ends)
    low, high = np.quantile(Y.std(axis=0), (0.05, 0.95))
    alike = M >= _MANY_COLUMNS and high <= _LIKE_SPREAD * low
    return "view" if share_of_common_end > _MOST or alike else "column"


def _about_constants(name: str, kept: Bool[np.ndarray, " M"]) -> str:
    constant = np.flatnonzero(~kept)
    listed = ", ".join(map(str, constant[:_NAMES_SHOWN])) + (", ..." if len(constant) > _NAMES_SHOWN else "")
    return (
        f"View '{name}' has {len(constant)} constant column(s) ({listed}). They tell nothing about the latent; "
        "the model leaves them out, and reconstructions give their constant back."
    )
