r"""The features of a block of rows, and the way back from their slopes to those of latents and frequencies.

With a the amplitude, $\delta = d^\top x$ and $\sigma = s^\top x$ the features are
$\phi_c = a \cos\delta \cos\sigma$ and $\phi_s = a \cos\delta \sin\sigma$, and if $g$ is the slope of anything by them,

    by sigma:  phi_c g_s - phi_s g_c
    by delta:  -tan(delta) (phi_c g_c + phi_s g_s)
    by a:      (phi_c g_c + phi_s g_s) / a

Four trigonometric functions for both ways, where differentiating the printed features takes eight.
"""

from importlib.util import find_spec
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.cuda import Workspace
from mvlvm.linalg.gram import round_to_tf32, supports_tf32
from mvlvm.spectral.features import Frequencies

# So thin matrices are multiplied faster column by column.
_THIN = 4


class FeatureBlock(NamedTuple):
    """What is kept of a block of rows. In memory it lies feature by feature, so that both halves are contiguous.

    Attributes:
        Phi: its features, all cosines before all sines.
        minus_tangent: -tan(delta); None if it was not asked for, the points are tied, or a GPU finds it faster again
            than in memory.
        row_scale: what every row of the features has been multiplied by; None is one.
        double: the features in float64, while they are at hand.
    """

    Phi: Float[Tensor, "N F"]
    minus_tangent: Float[Tensor, "N K"] | None
    row_scale: Float[Tensor, " N"] | None
    double: Float[Tensor, "N F"] | None

    def in_double(self, space: Workspace) -> Float[Tensor, "N F"]:
        """Give the features in float64, in memory that is used again."""
        if self.double is not None or self.Phi.dtype == torch.float64:
            return self.Phi if self.double is None else self.double
        return space.take("double", self.Phi.T.shape, self.Phi, torch.float64).copy_(self.Phi.T).T

    def to_keep(self) -> "FeatureBlock":
        """Give the block without what is quickly made again."""
        return self._replace(double=None)


class FrequencyGradients(NamedTuple):
    """Slopes by frequencies.

    Attributes:
        frequencies: by the carriers and, where there are some, the envelopes after them.
        amplitude: by the amplitudes.
    """

    frequencies: Float[Tensor, "_ D"]
    amplitude: Float[Tensor, " K"]


def stack_frequencies(frequencies: Frequencies) -> Float[Tensor, "_ D"]:
    """Give the carriers and, where there are some, the envelopes after them."""
    if frequencies.envelope is None:
        return frequencies.carrier
    return torch.cat([frequencies.carrier, frequencies.envelope])


def feature_block(
    X: Float[Tensor, "N D"],
    frequencies: Frequencies,
    *,
    with_grad: bool,
    row_scale: Float[Tensor, " N"] | None = None,
    coarse: bool = False,
    space: Workspace | None = None,
    slot: int = 0,
) -> FeatureBlock:
    """Give the features of some rows.

    Args:
        X: their latents.
        frequencies: of the feature map.
        with_grad: whether `features_vjp` will be called.
        row_scale: multiplies every row; None is one.
        coarse: whether a GPU may round features to what TF32 can hold, so that its products are exact.
        space: memory for them, whose contents last until it is used again; None asks for fresh memory.
        slot: tells blocks apart whose features are held at the same time.
    """
    fused = _fused(X)
    if fused:
        from mvlvm.spectral.triton_kernels import fused_features

        Phi, double = fused_features(X, frequencies, twice=row_scale is None and not coarse, coarse=coarse)
        minus_tangent = None
    else:
        (Phi, minus_tangent), double = _features(X, frequencies, with_grad, space or Workspace(), slot), None
    if row_scale is not None:
        Phi.mul_(row_scale[:, None])
    if coarse and supports_tf32(Phi) and (row_scale is not None or not fused):
        Phi = round_to_tf32(Phi.T).T
    return FeatureBlock(Phi, minus_tangent, row_scale, double)


def _features(
    X: Float[Tensor, "N D"], frequencies: Frequencies, with_grad: bool, space: Workspace, slot: int
) -> tuple[Float[Tensor, "N F"], Float[Tensor, "N K"] | None]:
    K, amplitude = len(frequencies.amplitude), frequencies.amplitude[:, None]
    by_feature, shape = space.take(f"features {slot}", (2 * K, len(X)), X), (K, len(X))
    height, minus_tangent = amplitude, None
    if frequencies.envelope is not None:
        minus_delta = _angles(-frequencies.envelope, X, space.take(f"tangent {slot}", shape, X))
        height = torch.cos(minus_delta, out=space.take("height", shape, X))
        minus_tangent = minus_delta.sin_().div_(height).T if with_grad else None
        height *= amplitude
    sigma = _angles(frequencies.carrier, X, space.take("angle", shape, X))
    torch.cos(sigma, out=by_feature[:K])
    torch.sin(sigma, out=by_feature[K:])
    by_feature.view(2, *shape).mul_(height)
    return by_feature.T, minus_tangent


def _angles(W: Float[Tensor, "K D"], X: Float[Tensor, "N D"], into: Float[Tensor, "K N"]) -> Float[Tensor, "K N"]:
    """Write W X'."""
    if W.shape[1] > _THIN:
        return torch.mm(W, X.T, out=into)
    torch.mul(W[:, :1], X.T[:1], out=into)
    for d in range(1, W.shape[1]):
        into.addcmul_(W[:, d : d + 1], X.T[d : d + 1])
    return into


def features_vjp(
    block: FeatureBlock,
    G: Float[Tensor, "N F"],
    X: Float[Tensor, "N D"],
    frequencies: Frequencies,
    space: Workspace | None = None,
) -> tuple[Float[Tensor, "N D"], FrequencyGradients]:
    """Give the slopes by latents and frequencies that the slopes G by the features stand for."""
    if _fused(X):
        from mvlvm.spectral.triton_kernels import fused_features_vjp

        unscaled = G if block.row_scale is None else G * block.row_scale[:, None]
        grad_X, grad_frequencies, grad_amplitude = fused_features_vjp(unscaled, X, frequencies)
        return grad_X, FrequencyGradients(grad_frequencies, grad_amplitude)
    K, space = len(frequencies.amplitude), space or Workspace()
    (cosines, sines), (grad_cosines, grad_sines) = block.Phi.T.split(K), G.T.split(K)
    W = stack_frequencies(frequencies)
    grad_angle = space.take("grad_angle", (len(W), len(X)), X)
    torch.mul(cosines, grad_sines, out=grad_angle[:K]).addcmul_(sines, grad_cosines, value=-1)
    grad_height = torch.mul(cosines, grad_cosines, out=space.take("grad_height", (K, len(X)), X)).addcmul_(
        sines, grad_sines
    )
    if block.minus_tangent is not None:
        torch.mul(grad_height, block.minus_tangent.T, out=grad_angle[K:])
    slopes = FrequencyGradients((X.T @ grad_angle.T).T, grad_height.sum(dim=1) / frequencies.amplitude)
    return (W.T @ grad_angle).T, slopes


def _fused(X: Float[Tensor, "N D"]) -> bool:
    """Tell whether there are fused kernels for these rows."""
    return X.is_cuda and X.dtype == torch.float32 and find_spec("triton") is not None
