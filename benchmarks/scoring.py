"""What the benchmarks measure: errors in units of a column's spread, and how far error bars can be trusted."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Bool, Float

from mvlvm.evaluation import coverage, log_density, reliability

Matrix = Float[np.ndarray, "N M"]


@dataclass(frozen=True)
class Units:
    """Columns in units of their own spread, as far as a method may know it; constant columns are left out.

    Attributes:
        mean: of the columns.
        std: standard deviations of the columns.
    """

    mean: Float[np.ndarray, " M"]
    std: Float[np.ndarray, " M"]

    @classmethod
    def of(cls, Y: Matrix) -> Self:
        """Measure columns by their observed entries."""
        return cls(np.nanmean(Y, axis=0), np.nanstd(Y, axis=0))

    def apply(self, Y: Matrix) -> Matrix:
        """Give entries in these units."""
        return (Y - self.mean)[:, self.varies] / self.std[self.varies]

    def apply_to_std(self, S: Matrix) -> Matrix:
        """Give standard deviations in these units."""
        return S[:, self.varies] / self.std[self.varies]

    @property
    def varies(self) -> Bool[np.ndarray, " M"]:
        """The columns that count."""
        return self.std > 0


def rmse(truth: Float[np.ndarray, "..."], guess: Float[np.ndarray, "..."]) -> float:
    """Give the root of the mean squared error over all entries."""
    return float(np.sqrt(np.mean((truth - guess) ** 2)))


def calibration(truth: Matrix, mean: Matrix, std: Matrix) -> dict[str, float | list[float]]:
    """Give what error bars are judged by; entries whose truth is NaN do not count."""
    curve = reliability(truth, mean, std)
    return {
        **{f"covers {percent}": coverage(truth, mean, std, level=percent / 100) for percent in (50, 80, 95)},
        "log density": log_density(truth, mean, std),
        "expected": curve.expected.tolist(),
        "observed": curve.observed.tolist(),
        "entries": curve.n_entries,
    }
