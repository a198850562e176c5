"""Scores of the benchmarks: errors in units of the standard deviation of a column, and calibration."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Bool, Float

from mvlvm.evaluation import coverage, log_density, reliability

Matrix = Float[np.ndarray, "N M"]


@dataclass(frozen=True)
class Units:
    """Standardisation of columns by their observed entries; constant columns are excluded.

    Attributes:
        mean: means of the columns.
        std: standard deviations of the columns.
    """

    mean: Float[np.ndarray, " M"]
    std: Float[np.ndarray, " M"]

    @classmethod
    def of(cls, Y: Matrix) -> Self:
        """Return the units of columns, from their observed entries."""
        return cls(np.nanmean(Y, axis=0), np.nanstd(Y, axis=0))

    def apply(self, Y: Matrix) -> Matrix:
        """Return entries in these units."""
        return (Y - self.mean)[:, self.varies] / self.std[self.varies]

    def apply_to_std(self, S: Matrix) -> Matrix:
        """Return standard deviations in these units."""
        return S[:, self.varies] / self.std[self.varies]

    @property
    def varies(self) -> Bool[np.ndarray, " M"]:
        """Columns that are not constant."""
        return self.std > 0


def rmse(truth: Float[np.ndarray, "..."], guess: Float[np.ndarray, "..."]) -> float:
    """Return the root mean squared error over all entries."""
    return float(np.sqrt(np.mean((truth - guess) ** 2)))


def calibration(truth: Matrix, mean: Matrix, std: Matrix) -> dict[str, float | list[float]]:
    """Return coverage, log density and the reliability curve; entries with NaN in `truth` are excluded."""
    curve = reliability(truth, mean, std)
    return {
        **{f"covers {percent}": coverage(truth, mean, std, level=percent / 100) for percent in (50, 80, 95)},
        "log density": log_density(truth, mean, std),
        "expected": curve.expected.tolist(),
        "observed": curve.observed.tolist(),
        "entries": curve.n_entries,
    }
