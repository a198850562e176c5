r"""Random features of a block of rows, and their vector-Jacobian product.

With the amplitude $a$ and the phases $\delta = d^\top x$ and $\sigma = s^\top x$, the features [eq:RFF_NGSM] are
$\phi_c = a \cos\delta \cos\sigma$ and $\phi_s = a \cos\delta \sin\sigma$. If $g$ is the gradient of a scalar with
respect to the features, its gradient is

    with respect to sigma:  phi_c g_s - phi_s g_c
    with respect to delta:  -tan(delta) (phi_c g_c + phi_s g_s)
    with respect to a:      (phi_c g_c + phi_s g_s) / a

which takes four trigonometric functions for features and gradients together; differentiating the features as printed in
the paper takes eight.
"""

from importlib.util import find_spec
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.cuda import Workspace
from mvlvm.linalg.gram import round_to_tf32, supports_tf32
from mvlvm.spectral.features import Frequencies

# Up to this number of latent dimensions, accumulating W X' dimension by dimension is faster than a matrix product.
_MAX_DIMS_ELEMENTWISE = 4


class FeatureBlock(NamedTuple):
    """The features of a block of rows, stored feature by feature so that the cosines and the sines are contiguous.

    Attributes:
        Phi: the features, all cosines before all sines.
        minus_tangent: -tan(delta); None if no gradients were requested, if the points are tied, or on a GPU, where
            computing it again is faster than reading it from memory.
        row_scale: the factor by which each row was multiplied; None means one.
        Phi64: the features in float64, if they were computed together with Phi.
    """

    Phi: Float[Tensor, "N F"]
    minus_tangent: Float[Tensor, "N K"] | None
    row_scale: Float[Tensor, " N"] | None
    Phi64: Float[Tensor, "N F"] | None

    def as_float64(self, workspace: Workspace) -> Float[Tensor, "N F"]:
        """Return the features in float64, N x F; a conversion is stored in `workspace`."""
        if self.Phi64 is not None or self.Phi.dtype == torch.float64:
            return self.Phi if self.Phi64 is None else self.Phi64
        return workspace.take("double", self.Phi.T.shape, self.Phi, torch.float64).copy_(self.Phi.T).T

    def without_float64(self) -> "FeatureBlock":
        """Return the block without its float64 copy, which is cheap to recompute."""
        return self._replace(Phi64=None)


class FrequencyGradients(NamedTuple):
    """Gradients with respect to the frequencies of the feature map.

    Attributes:
        frequencies: with respect to the carriers, followed by the envelopes unless the points are tied.
        amplitude: with respect to the amplitudes.
    """

    frequencies: Float[Tensor, "_ D"]
    amplitude: Float[Tensor, " K"]


def stack_frequencies(frequencies: Frequencies) -> Float[Tensor, "_ D"]:
    """Return the carriers, followed by the envelopes unless the points are tied: K x D or 2K x D."""
    if frequencies.envelope is None:
        return frequencies.carrier
    return torch.cat([frequencies.carrier, frequencies.envelope])


def feature_block(
    X: Float[Tensor, "N D"],
    frequencies: Frequencies,
    *,
    with_grad: bool,
    row_scale: Float[Tensor, " N"] | None = None,
    tf32: bool = False,
    workspace: Workspace | None = None,
    slot: int = 0,
) -> FeatureBlock:
    """Compute the random features of a block of rows [eq:RFF_NGSM].

    Args:
        X: the latents of the rows.
        frequencies: the frequencies of the feature map.
        with_grad: whether `features_vjp` will be called.
        row_scale: a factor for each row; None means one.
        tf32: whether a GPU may round the features to TF32, so that TF32 products with them are exact.
        workspace: memory for the block, which is overwritten by its next use; None allocates new memory.
        slot: distinguishes blocks whose features are in the workspace at the same time.
    """
    fused = _has_fused_kernels(X)
    if fused:
        from mvlvm.spectral.triton_kernels import fused_features

        Phi, Phi64 = fused_features(X, frequencies, with_float64=row_scale is None and not tf32, tf32=tf32)
        minus_tangent = None
    else:
        (Phi, minus_tangent), Phi64 = _features(X, frequencies, with_grad, workspace or Workspace(), slot), None
    if row_scale is not None:
        Phi.mul_(row_scale[:, None])
    if tf32 and supports_tf32(Phi) and (row_scale is not None or not fused):
        Phi = round_to_tf32(Phi.T).T
    return FeatureBlock(Phi, minus_tangent, row_scale, Phi64)


def _features(
    X: Float[Tensor, "N D"], frequencies: Frequencies, with_grad: bool, workspace: Workspace, slot: int
) -> tuple[Float[Tensor, "N F"], Float[Tensor, "N K"] | None]:
    """Return the features and, if requested, -tan(delta)."""
    K, amplitude = len(frequencies.amplitude), frequencies.amplitude[:, None]
    by_feature, shape = workspace.take(f"features {slot}", (2 * K, len(X)), X), (K, len(X))
    envelope, minus_tangent = amplitude, None
    if frequencies.envelope is not None:
        minus_delta = phases(-frequencies.envelope, X, workspace.take(f"tangent {slot}", shape, X))
        envelope = torch.cos(minus_delta, out=workspace.take("envelope", shape, X))
        minus_tangent = minus_delta.sin_().div_(envelope).T if with_grad else None
        envelope *= amplitude
    sigma = phases(frequencies.carrier, X, workspace.take("phase", shape, X))
    torch.cos(sigma, out=by_feature[:K])
    torch.sin(sigma, out=by_feature[K:])
    by_feature.view(2, *shape).mul_(envelope)
    return by_feature.T, minus_tangent


def phases(W: Float[Tensor, "K D"], X: Float[Tensor, "N D"], out: Float[Tensor, "K N"]) -> Float[Tensor, "K N"]:
    """Write the phases W X' to `out`."""
    if W.shape[1] > _MAX_DIMS_ELEMENTWISE:
        return torch.mm(W, X.T, out=out)
    torch.mul(W[:, :1], X.T[:1], out=out)
    for d in range(1, W.shape[1]):
        out.addcmul_(W[:, d : d + 1], X.T[d : d + 1])
    return out


def features_vjp(
    block: FeatureBlock,
    G: Float[Tensor, "N F"],
    X: Float[Tensor, "N D"],
    frequencies: Frequencies,
    workspace: Workspace | None = None,
) -> tuple[Float[Tensor, "N D"], FrequencyGradients]:
    """Compute the vector-Jacobian product of the features.

    Args:
        block: the features, computed with `with_grad=True`.
        G: the gradient of a scalar with respect to the features.
        X: the latents of the rows.
        frequencies: the frequencies of the feature map.
        workspace: memory for intermediate results; None allocates new memory.

    Returns:
        The gradients of the scalar with respect to the latents (N x D) and to the frequencies.
    """
    if _has_fused_kernels(X):
        from mvlvm.spectral.triton_kernels import fused_features_vjp

        unscaled = G if block.row_scale is None else G * block.row_scale[:, None]
        grad_X, grad_frequencies, grad_amplitude = fused_features_vjp(unscaled, X, frequencies)
        return grad_X, FrequencyGradients(grad_frequencies, grad_amplitude)
    K, workspace = len(frequencies.amplitude), workspace or Workspace()
    (cosines, sines), (grad_cosines, grad_sines) = block.Phi.T.split(K), G.T.split(K)
    W = stack_frequencies(frequencies)
    grad_phase = workspace.take("grad_phase", (len(W), len(X)), X)
    torch.mul(cosines, grad_sines, out=grad_phase[:K]).addcmul_(sines, grad_cosines, value=-1)
    grad_envelope = workspace.take("grad_envelope", (K, len(X)), X)
    torch.mul(cosines, grad_cosines, out=grad_envelope).addcmul_(sines, grad_sines)
    if block.minus_tangent is not None:
        torch.mul(grad_envelope, block.minus_tangent.T, out=grad_phase[K:])
    gradients = FrequencyGradients((X.T @ grad_phase.T).T, grad_envelope.sum(dim=1) / frequencies.amplitude)
    return (W.T @ grad_phase).T, gradients


def _has_fused_kernels(X: Float[Tensor, "N D"]) -> bool:
    """Return whether the Triton kernels can be used: float32 on a GPU, with Triton installed."""
    return X.is_cuda and X.dtype == torch.float32 and find_spec("triton") is not None
