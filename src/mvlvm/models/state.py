"""What changes of a view during training besides its parameters.

A `ViewState` is immutable: the log evidence returns a new one, and the training loop decides which to keep.
"""

from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.evidence.collapsed_blocked import FLOAT64_NOISE_THRESHOLD, Target
from mvlvm.evidence.weight_space import ColumnWeights
from mvlvm.linalg.cuda import Workspace
from mvlvm.linalg.gram import supports_tf32
from mvlvm.models.compression import Compression, principal_directions, squared_norm
from mvlvm.models.data import ViewData

# The initial noise variance is not an estimate of the noise of a view, so compression waits until it has been learned.
_STEPS_TO_LEARN_NOISE = 100


@dataclass(frozen=True)
class ViewState:
    """Training state of one view that is not a parameter.

    Attributes:
        target: the values whose collapsed evidence is computed, compressed or not; None where entries are missing or
            the likelihood is not Gaussian.
        compression: of which `target` is a truncation; None if views are not compressed.
        n_kept: number of leading directions in `target`.
        exact: whether everything that is divided by the noise variance is float64.
        imputed: current values of a Gaussian view with missing entries, the variational means in their places.
        weights: q(weights) of a view that is not Gaussian; None before the first step.
        memory_budget: bytes that features may take during a step.
        workspace: scratch memory with undefined contents, shared by views whose evidences are computed in turn.
    """

    target: Target | None = None
    compression: Compression | None = None
    n_kept: int = 0
    exact: bool = True
    imputed: Float[Tensor, "R M"] | None = None
    weights: ColumnWeights | None = None
    memory_budget: float = defaults.MEMORY_BUDGET
    workspace: Workspace = field(default_factory=Workspace, repr=False, compare=False)

    @property
    def graph_key(self) -> tuple[int, bool] | None:
        """What a recorded CUDA step depends on; None if steps cannot be recorded because the state changes in each."""
        return None if self.target is None else (self.target.Y.shape[1], self.exact)

    def released(self) -> "ViewState":
        """Return the state without the compressed view and scratch memory, which are not needed after training."""
        return ViewState(imputed=self.imputed, weights=self.weights)


def initial_gaussian_state(
    data: ViewData,
    *,
    dtype: torch.dtype,
    max_energy_share: float | None,
    memory_budget: float,
    workspace: Workspace | None,
) -> ViewState:
    """Return the state of a Gaussian view before training.

    Args:
        data: the observations.
        dtype: precision of the features.
        max_energy_share: energy that compression may remove, as a share of the noise's; None for no compression.
        memory_budget: bytes that features may take during a step.
        workspace: scratch memory to share with other views.
    """
    state = ViewState(memory_budget=memory_budget, workspace=workspace or Workspace())
    if data.missing is not None:
        return replace(state, imputed=data.Y)
    Y, scale = data.scale_rows(data.Y), data.row_scale
    scale = None if scale is None else scale.to(dtype)
    if max_energy_share is None:
        return replace(state, target=Target(Y, Y.shape[1], squared_norm(Y), 0.0, scale), n_kept=Y.shape[1])
    compression = Compression(Y, principal_directions(Y, dtype), max_energy_share, dtype, scale)
    n_kept = compression.expected_n_kept()
    target = compression.truncate(n_kept, coarse=True)
    return replace(state, target=target, compression=compression, n_kept=n_kept)


def refresh_gaussian_state(state: ViewState, noise_variance: float, n_steps: int) -> ViewState:
    """Choose the precision and the truncation of the next steps by the current noise variance.

    Args:
        state: of a Gaussian view without missing entries.
        noise_variance: its current value.
        n_steps: number of training steps so far.
    """
    exact, compression, target = noise_variance < FLOAT64_NOISE_THRESHOLD, state.compression, state.target
    if compression is None or target is None:
        return replace(state, exact=exact)
    has_learned = n_steps >= _STEPS_TO_LEARN_NOISE
    n_kept = compression.updated_n_kept(state.n_kept, noise_variance) if has_learned else state.n_kept
    if n_kept != state.n_kept or (supports_tf32(target.Y) and target.on_grid == exact):
        target = compression.truncate(n_kept, coarse=not exact)
    return replace(state, target=target, n_kept=n_kept, exact=exact)
