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

from mvlvm.linalg.precision import has_tf32, on_tf32_grid
from mvlvm.spectral.frequencies import Frequencies


class FeatureBlock(NamedTuple):
    """What is kept of a block of rows. In memory it lies feature by feature, so that both halves are contiguous.

    Attributes:
        Phi: its features, all cosines before all sines.
        tangent: tan(delta); None if it was not asked for, the points are tied, or a GPU finds it faster again than in
            memory.
        row_scale: what every row of the features has been multiplied by; None is one.
        double: the features in float64, while they are at hand.
    """

    Phi: Float[Tensor, "N F"]
    tangent: Float[Tensor, "N K"] | None
    row_scale: Float[Tensor, " N"] | None
    double: Float[Tensor, "N F"] | None

    def in_double(self) -> Float[Tensor, "N F"]:
        """Give the features in float64."""
        return self.Phi.double() if self.double is None else self.double

    def to_keep(self) -> "FeatureBlock":
        """Give the block without what is quickly made again."""
        return self._replace(double=None)


class FrequencySlopes(NamedTuple):
    """Slopes by frequencies.

    Attributes:
        frequencies: by the carriers and, where there are some, the envelopes after them.
        amplitude: by the amplitudes.
    """

    frequencies: Float[Tensor, "_ D"]
    amplitude: Float[Tensor, " K"]


def stacked(frequencies: Frequencies) -> Float[Tensor, "_ D"]:
    """Give the carriers and, where there are some, the envelopes after them."""
    if frequencies.envelope is None:
        return frequencies.carrier
    return torch.cat([frequencies.carrier, frequencies.envelope])


def feature_block(
    X: Float[Tensor, "N D"],
    frequencies: Frequencies,
    *,
    with_slopes: bool,
    row_scale: Float[Tensor, " N"] | None = None,
    coarse: bool = False,
) -> FeatureBlock:
    """Give the features of some rows.

    Args:
        X: their latents.
        frequencies: of the feature map.
        with_slopes: whether `pull_back` will be called.
        row_scale: multiplies every row; None is one.
        coarse: whether a GPU may round features to what TF32 can hold, so that its products are exact.
    """
    if _fused(X):
        from mvlvm.spectral.fused_blocks import fused_features

        Phi, double = fused_features(X, frequencies, twice=row_scale is None, coarse=coarse)
        tangent = None
    else:
        (Phi, tangent), double = _features(X, frequencies, with_slopes), None
    if row_scale is not None:
        Phi.mul_(row_scale[:, None])
        Phi = on_tf32_grid(Phi.T).T if coarse and has_tf32(Phi) else Phi
    return FeatureBlock(Phi, tangent, row_scale, double)


def _features(
    X: Float[Tensor, "N D"], frequencies: Frequencies, with_slopes: bool
) -> tuple[Float[Tensor, "N F"], Float[Tensor, "N K"] | None]:
    K, amplitude = len(frequencies.amplitude), frequencies.amplitude[:, None]
    by_feature = X.new_empty((2 * K, len(X)))
    sigma, height, tangent = frequencies.carrier @ X.T, amplitude, None
    if frequencies.envelope is not None:
        delta = frequencies.envelope @ X.T
        height = torch.cos(delta)
        tangent = delta.sin_().div_(height).T if with_slopes else None
        height *= amplitude
    torch.cos(sigma, out=by_feature[:K]).mul_(height)
    torch.sin(sigma, out=by_feature[K:]).mul_(height)
    return by_feature.T, tangent


def pull_back(
    block: FeatureBlock, G: Float[Tensor, "N F"], X: Float[Tensor, "N D"], frequencies: Frequencies
) -> tuple[Float[Tensor, "N D"], FrequencySlopes]:
    """Give the slopes by latents and frequencies that the slopes G by the features stand for."""
    if _fused(X):
        from mvlvm.spectral.fused_blocks import fused_pull_back

        unscaled = G if block.row_scale is None else G * block.row_scale[:, None]
        by_X, by_frequencies, by_amplitude = fused_pull_back(unscaled, X, frequencies)
        return by_X, FrequencySlopes(by_frequencies, by_amplitude)
    K = len(frequencies.amplitude)
    (cosines, sines), (by_cosines, by_sines) = block.Phi.T.split(K), G.T.split(K)
    all_frequencies = stacked(frequencies)
    by_angle = X.new_empty((len(all_frequencies), len(X)))
    torch.mul(cosines, by_sines, out=by_angle[:K]).addcmul_(sines, by_cosines, value=-1)
    by_height = torch.mul(cosines, by_cosines).addcmul_(sines, by_sines)
    if block.tangent is not None:
        torch.mul(by_height, block.tangent.T, out=by_angle[K:]).neg_()
    slopes = FrequencySlopes((X.T @ by_angle.T).T, by_height.sum(dim=1) / frequencies.amplitude)
    return (all_frequencies.T @ by_angle).T, slopes


def _fused(X: Float[Tensor, "N D"]) -> bool:
    """Tell whether there are fused kernels for these rows."""
    return X.is_cuda and X.dtype == torch.float32 and find_spec("triton") is not None
