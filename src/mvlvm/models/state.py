"""The state of a view during training besides its parameters, one class for every kind of view.

States are immutable: the log evidence returns a new one, and the training loop decides which to keep. What can be
computed again from the data and the rest of a state, such as a compressed view, is its cache: it is not part of
`essential`, which is what a stopped run needs to continue.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.evidence.collapsed_blocked import noise_threshold
from mvlvm.evidence.feature_space import Target
from mvlvm.evidence.weight_space import ColumnWeights
from mvlvm.linalg.cpu_arithmetic import Arithmetic
from mvlvm.linalg.cuda import Workspace
from mvlvm.linalg.gram import supports_tf32
from mvlvm.models.compression import Compression, principal_directions, squared_norm
from mvlvm.models.data import ViewData

# Essential values of a state by name: numbers and tensors.
Essential = Mapping[str, Any]

# The initial noise variance is not an estimate of the noise of a view, so compression waits until it has been learned.
_STEPS_TO_LEARN_NOISE = 100


@dataclass(frozen=True)
class StateSettings:
    """How the states of views are made.

    Attributes:
        dtype: precision of the features.
        max_energy_share: energy that compression may remove from a complete Gaussian view, as a share of the noise's;
            None for no compression.
        memory_budget: bytes that the features of a view may take during a step.
        arithmetic: implementation of float32 products and functions on a CPU.
        workspace: scratch memory with undefined contents, shared by views whose evidences are computed in turn.
    """

    dtype: torch.dtype
    max_energy_share: float | None = None
    memory_budget: float = defaults.MEMORY_BUDGET
    arithmetic: Arithmetic = field(default_factory=Arithmetic)
    workspace: Workspace = field(default_factory=Workspace, repr=False, compare=False)


@dataclass(frozen=True)
class CompleteState:
    """State of a Gaussian view without missing entries.

    Attributes:
        n_kept: number of leading directions that are kept.
        exact: whether everything that is divided by the noise variance is float64.
        target: the values whose collapsed evidence is computed, compressed or not; a cache.
        compression: of which `target` is a truncation; None if the view is not compressed; a cache.
        settings: how the state was made.
        n_points: number of spectral points per mixture; None stands for all.
    """

    n_kept: int
    exact: bool
    target: Target
    compression: Compression | None
    settings: StateSettings
    n_points: int | None = None

    @classmethod
    def initial(cls, data: ViewData, settings: StateSettings) -> "CompleteState":
        """Return the state before training."""
        Y = data.scale_rows(data.Y)
        scale = None if data.sample_weight is None else data.sample_weight.sqrt().to(settings.dtype)
        if settings.max_energy_share is None:
            target = Target(Y, Y.shape[1], squared_norm(Y), 0.0, scale)
            return cls(Y.shape[1], True, target, None, settings)
        directions = principal_directions(Y, settings.dtype)
        compression = Compression(Y, directions, settings.max_energy_share, settings.dtype, scale)
        n_kept = compression.expected_n_kept()
        target = compression.truncate(n_kept, coarse=True)
        return cls(n_kept, True, target, compression, settings)

    def refreshed(self, noise_variance: float, n_steps: int, *, unit: float = 1.0) -> "CompleteState":
        """Return the state with the precision and the truncation that the current noise variance requires.

        Args:
            noise_variance: its current value.
            n_steps: number of training steps so far.
            unit: about the variance of the view.
        """
        exact, n_kept = noise_variance < noise_threshold(self.target.Y.device) * unit, self.n_kept
        if self.compression is not None and n_steps >= _STEPS_TO_LEARN_NOISE:
            n_kept = self.compression.updated_n_kept(n_kept, noise_variance)
        return self._with(n_kept, exact)

    @property
    def essential(self) -> Essential:
        """What the caches are computed from."""
        return {"n_kept": self.n_kept, "exact": self.exact, "n_points": self.n_points}

    def restored(self, essential: Essential) -> "CompleteState":
        """Return the state with other essential values."""
        return replace(self._with(essential["n_kept"], essential["exact"]), n_points=essential["n_points"])

    def with_points(self, n_points: int | None) -> "CompleteState":
        """Return the state with another number of spectral points."""
        return replace(self, n_points=n_points)

    def with_new_features(self) -> "CompleteState":
        """Return the state after the number of latent dimensions has changed."""
        return self

    @property
    def graph_key(self) -> tuple[int, bool, int | None]:
        """What a recorded CUDA step depends on."""
        return self.target.Y.shape[1], self.exact, self.n_points

    def _with(self, n_kept: int, exact: bool) -> "CompleteState":
        target = self.target
        rounds = supports_tf32(target.Y)
        if self.compression is not None and (n_kept != self.n_kept or (rounds and target.rounded_to_tf32 == exact)):
            target = self.compression.truncate(n_kept, coarse=not exact)
        return replace(self, n_kept=n_kept, exact=exact, target=target)


@dataclass(frozen=True)
class IncompleteState:
    """State of a Gaussian view with missing entries.

    Attributes:
        imputed: current values, with variational means in the place of missing entries.
        n_points: number of spectral points per mixture; None stands for all.
    """

    imputed: Float[Tensor, "R M"]
    n_points: int | None = None

    @property
    def essential(self) -> Essential:
        """All values."""
        return {"imputed": self.imputed, "n_points": self.n_points}

    def restored(self, essential: Essential) -> "IncompleteState":
        """Return the state with other essential values."""
        return IncompleteState(essential["imputed"], essential["n_points"])

    def with_points(self, n_points: int | None) -> "IncompleteState":
        """Return the state with another number of spectral points."""
        return replace(self, n_points=n_points)

    def with_new_features(self) -> "IncompleteState":
        """Return the state after the number of latent dimensions has changed."""
        return self

    @property
    def graph_key(self) -> None:
        """None: steps cannot be recorded, because the state changes in each."""
        return None


@dataclass(frozen=True)
class VariationalState:
    """State of a view with a variational posterior of the weights.

    Attributes:
        weights: q(weights); None before the first step.
        n_points: number of spectral points per mixture; None stands for all.
    """

    weights: ColumnWeights | None = None
    n_points: int | None = None

    @property
    def essential(self) -> Essential:
        """The parts of q(weights), and the number of points."""
        return {**({} if self.weights is None else self.weights._asdict()), "n_points": self.n_points}

    def restored(self, essential: Essential) -> "VariationalState":
        """Return the state with other essential values."""
        parts = {name: part for name, part in essential.items() if name != "n_points"}
        return VariationalState(ColumnWeights(**parts) if parts else None, essential["n_points"])

    def with_points(self, n_points: int | None) -> "VariationalState":
        """Return the state with another number of spectral points, whose features have other weights."""
        return self if n_points == self.n_points else VariationalState(None, n_points)

    def with_new_features(self) -> "VariationalState":
        """Return the state after the latent dimensions have changed, whose features have other weights."""
        return VariationalState(None, self.n_points)

    @property
    def graph_key(self) -> None:
        """None: steps cannot be recorded, because the state changes in each."""
        return None


ViewState = CompleteState | IncompleteState | VariationalState
