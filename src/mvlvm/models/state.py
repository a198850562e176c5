"""A complete Gaussian view on its way through training: its columns, its precision, its blocks of rows."""

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.evidence.collapsed import TruncatedColumns, log_evidence
from mvlvm.evidence.collapsed_blocked import FLOAT64_NOISE_THRESHOLD, BlockPlan, Target, blocked_log_evidence
from mvlvm.linalg.cuda import Workspace
from mvlvm.models.compression import Compressed, energy_of
from mvlvm.models.spectral_mixture import FeatureMap
from mvlvm.shapes import Scalar

# Rows of a block: on a processor its features stay in the cache, on a GPU launches must not matter.
_ROWS_OF_A_BLOCK = {"cpu": 4096, "cuda": 131072}
# Products like rows in multiples of this.
_ALIGNED = 16
# Numbers that are kept for every feature of a row: the feature itself, and half a tangent.
_KEPT_PER_FEATURE = 1.5
_STEPS_TO_LEARN_NOISE = 100


class WorkingView:
    """How the evidence of a view is computed at present.

    Args:
        Y: the view, its rows weighed.
        row_scale: the roots of the rows' weights; None is one.
        dtype: of its features.
        share: what may be cut of the view, as a share of the noise's energy; None cuts nothing.
        memory_budget: bytes that features may take.
        space: memory for features, which views that take turns may share.
    """

    def __init__(
        self,
        Y: Float[Tensor, "N M"],
        row_scale: Float[Tensor, " N"] | None,
        *,
        dtype: torch.dtype,
        share: float | None = None,
        memory_budget: float = defaults.MEMORY_BUDGET,
        space: Workspace | None = None,
    ) -> None:
        scale = None if row_scale is None else row_scale.to(dtype)
        self._whole = Target(Y, Y.shape[1], energy_of(Y), 0.0, scale)
        self._compressed = None if share is None else Compressed(Y, share=share, dtype=dtype, row_scale=scale)
        self._memory_budget = memory_budget
        self._exact, self._space = True, space or Workspace()

    @property
    def target(self) -> Target:
        """The view as its evidence takes it."""
        return self._whole if self._compressed is None else self._compressed.target

    @property
    def setting(self) -> tuple[int, bool]:
        """What a recorded step has taken for granted: columns, and whether the noise is small."""
        return self.target.Y.shape[1], self._exact

    def settle(self, noise_variance: float, n_steps: int) -> None:
        """Choose columns and precision for the steps to come.

        Args:
            noise_variance: as it is now.
            n_steps: steps of training so far; what the noise starts at says nothing about the view.
        """
        self._exact = noise_variance < FLOAT64_NOISE_THRESHOLD
        if self._compressed is not None:
            self._compressed.round_as(coarse=not self._exact)
            if n_steps >= _STEPS_TO_LEARN_NOISE:
                self._compressed.cut(noise_variance)

    def log_evidence(self, X: Float[Tensor, "N D"], features: FeatureMap, noise_variance: Scalar) -> Scalar:
        """Give the log evidence of the view given latents and a feature map."""
        target, frequencies = self.target, features.frequencies()
        n_features = 2 * len(frequencies.amplitude)
        if n_features < len(X):
            return blocked_log_evidence(target, X, frequencies, noise_variance, self._plan(X, n_features))
        Phi = features(X) if target.row_scale is None else features(X) * target.row_scale[:, None]
        cut = TruncatedColumns(target.n_columns - target.Y.shape[1], target.truncated_energy)
        return log_evidence(target.Y, Phi, noise_variance, cut)

    def _plan(self, X: Float[Tensor, "N D"], n_features: int) -> BlockPlan:
        n_blocks = -(-len(X) // _ROWS_OF_A_BLOCK[X.device.type])
        to_keep = _KEPT_PER_FEATURE * n_features * len(X) * X.element_size()
        n_rows = _ALIGNED * -(-len(X) // (n_blocks * _ALIGNED))
        return BlockPlan(n_rows, keep=to_keep <= self._memory_budget, exact=self._exact, space=self._space)
