r"""`spectral/blocks.py` for a GPU: the same mathematics in one kernel each way, so that memory is passed over once.

A program works on a tile of rows; slopes by frequencies are summed over the rows of a tile inside it, and over tiles
afterwards, in the same order every time. Triton comes with the CUDA builds of torch.
"""

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

from mvlvm.spectral.features import Frequencies

# Tiles of rows and features, and warps of a program: everything stays in registers, and sums need no other warp.
# Measured on an H200 among fifty others: a third of the time of the slowest, within 5 % of the fastest both ways.
_ROWS, _FEATURES, _WARPS = 64, 4, 1


def fused_features(
    X: Float[Tensor, "N D"], frequencies: Frequencies, *, twice: bool, coarse: bool
) -> tuple[Float[Tensor, "N F"], Float[Tensor, "N F"] | None]:
    """Give the features of some rows, lying feature by feature.

    Args:
        X: their latents.
        frequencies: of the feature map.
        twice: whether to give them again in float64.
        coarse: whether they are rounded to what TF32 can hold.
    """
    (N, D), K = X.shape, len(frequencies.amplitude)
    by_feature = X.new_empty((2 * K, N))
    double = X.new_empty((2 * K, N), dtype=torch.float64) if twice else by_feature
    tied = frequencies.envelope is None
    envelope = frequencies.carrier if frequencies.envelope is None else frequencies.envelope
    grid = (triton.cdiv(N, _ROWS), triton.cdiv(K, _FEATURES))
    _features_kernel[grid](
        X, X.stride(0), X.stride(1), frequencies.carrier.contiguous(), envelope.contiguous(), frequencies.amplitude,
        by_feature[:K], by_feature[K:], double[:K], double[K:], N, K, D, tied, twice, coarse, _ROWS, _FEATURES,
        num_warps=_WARPS,
    )  # fmt: skip
    return by_feature.T, double.T if twice else None


def fused_features_vjp(
    G: Float[Tensor, "N F"], X: Float[Tensor, "N D"], frequencies: Frequencies
) -> tuple[Float[Tensor, "N D"], Float[Tensor, "_ D"], Float[Tensor, " K"]]:
    """Give the slopes by latents, by carriers and envelopes, and by amplitudes."""
    (N, D), K = X.shape, len(frequencies.amplitude)
    tied = frequencies.envelope is None
    envelope = frequencies.carrier if frequencies.envelope is None else frequencies.envelope
    n_tiles, n_feature_tiles, n_kinds = triton.cdiv(N, _ROWS), triton.cdiv(K, _FEATURES), (1 if tied else 2)
    grad_X = X.new_empty((n_feature_tiles, D, N))
    partial = X.new_empty((n_tiles, n_kinds * D + 1, K))
    by_feature = G.T.contiguous()
    _features_vjp_kernel[(n_tiles, n_feature_tiles)](
        X, X.stride(0), X.stride(1), frequencies.carrier.contiguous(), envelope.contiguous(), frequencies.amplitude,
        by_feature[:K], by_feature[K:], grad_X, partial, N, K, D, tied,
        _ROWS, _FEATURES, num_warps=_WARPS,
    )  # fmt: skip
    summed = partial.sum(dim=0)
    return grad_X.sum(dim=0).T, summed[:-1].reshape(n_kinds, D, K).transpose(1, 2).reshape(n_kinds * K, D), summed[-1]


@triton.jit
def _angles(X, x_row, x_column, carrier, envelope, rows, is_row, features, is_feature,
            D: tl.constexpr, TIED: tl.constexpr, ROWS: tl.constexpr, FEATURES: tl.constexpr):  # fmt: skip
    sigma = tl.zeros((FEATURES, ROWS), dtype=tl.float32)
    delta = tl.zeros((FEATURES, ROWS), dtype=tl.float32)
    for d in tl.static_range(D):
        x = tl.load(X + rows * x_row + d * x_column, mask=is_row, other=0.0)
        sigma += tl.load(carrier + features * D + d, mask=is_feature, other=0.0)[:, None] * x[None, :]
        if not TIED:
            delta += tl.load(envelope + features * D + d, mask=is_feature, other=0.0)[:, None] * x[None, :]
    return sigma, delta


@triton.jit
def _cos_sin(angle):
    """Give cosine and sine to float32's last bits or so, for angles up to some ten thousand.

    The nearest multiple of pi / 2 is taken off in three parts, so that nothing is lost, and both functions come from
    the rest: half the work of calling one after the other.
    """
    n = tl.floor(angle * 0.6366197723675814 + 0.5)
    r = angle - n * 1.5703125
    r = r - n * 4.837512969970703125e-4
    r = r - n * 7.54978995489188216e-8
    square = r * r
    sine = r + r * square * (-1.6666654611e-1 + square * (8.3321608736e-3 - square * 1.9515295891e-4))
    cosine = 1.0 - 0.5 * square + square * square * (
        4.166664568298827e-2 + square * (-1.388731625493765e-3 + square * 2.443315711809948e-5)
    )  # fmt: skip
    quadrant = n.to(tl.int32) & 3
    swapped = (quadrant & 1) == 1
    cos = tl.where(swapped, sine, cosine)
    sin = tl.where(swapped, cosine, sine)
    cos = tl.where((quadrant == 1) | (quadrant == 2), -cos, cos)
    sin = tl.where(quadrant >= 2, -sin, sin)
    return cos, sin


@triton.jit
def _round_to_tf32(values):
    """Round to the nearest number of eleven bits, as `linalg/gram.py` does."""
    bits = values.to(tl.int32, bitcast=True)
    return ((bits + 0xFFF + ((bits >> 13) & 1)) & -0x2000).to(tl.float32, bitcast=True)


@triton.jit
def _features_kernel(
    X, x_row, x_column, carrier, envelope, amplitude, cosines, sines, cosines64, sines64,
    N, K, D: tl.constexpr, TIED: tl.constexpr, TWICE: tl.constexpr, COARSE: tl.constexpr,
    ROWS: tl.constexpr, FEATURES: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    features = tl.program_id(1) * FEATURES + tl.arange(0, FEATURES)
    is_row, is_feature = rows < N, features < K
    sigma, delta = _angles(
        X, x_row, x_column, carrier, envelope, rows, is_row, features, is_feature, D, TIED, ROWS, FEATURES
    )  # fmt: skip
    cosine, sine = _cos_sin(sigma)
    height = tl.load(amplitude + features, mask=is_feature, other=0.0)[:, None]
    if not TIED:
        height = height * _cos_sin(delta)[0]
    place = features.to(tl.int64)[:, None] * N + rows[None, :]
    is_entry = is_feature[:, None] & is_row[None, :]
    cosine, sine = height * cosine, height * sine
    if COARSE:
        cosine, sine = _round_to_tf32(cosine), _round_to_tf32(sine)
    tl.store(cosines + place, cosine, mask=is_entry)
    tl.store(sines + place, sine, mask=is_entry)
    if TWICE:
        tl.store(cosines64 + place, cosine.to(tl.float64), mask=is_entry)
        tl.store(sines64 + place, sine.to(tl.float64), mask=is_entry)


@triton.jit
def _features_vjp_kernel(
    X, x_row, x_column, carrier, envelope, amplitude, grad_cosines, grad_sines, grad_X, partial,
    N, K, D: tl.constexpr, TIED: tl.constexpr, ROWS: tl.constexpr, FEATURES: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0).to(tl.int64)
    rows = tile * ROWS + tl.arange(0, ROWS)
    features = tl.program_id(1) * FEATURES + tl.arange(0, FEATURES)
    is_row, is_feature = rows < N, features < K
    n_kinds: tl.constexpr = 1 if TIED else 2
    partial += tile * (n_kinds * D + 1) * K
    grad_X += tl.program_id(1).to(tl.int64) * D * N
    sigma, delta = _angles(
        X, x_row, x_column, carrier, envelope, rows, is_row, features, is_feature, D, TIED, ROWS, FEATURES
    )  # fmt: skip
    place = features.to(tl.int64)[:, None] * N + rows[None, :]
    is_entry = is_feature[:, None] & is_row[None, :]
    grad_cosine = tl.load(grad_cosines + place, mask=is_entry, other=0.0)
    grad_sine = tl.load(grad_sines + place, mask=is_entry, other=0.0)
    cosine, sine = _cos_sin(sigma)
    a = tl.load(amplitude + features, mask=is_feature, other=0.0)[:, None]
    envelope_height, envelope_slope = _cos_sin(delta)
    grad_height = cosine * grad_cosine + sine * grad_sine
    grad_sigma = a * envelope_height * (cosine * grad_sine - sine * grad_cosine)
    grad_delta = -a * envelope_slope * grad_height
    for d in tl.static_range(D):
        x = tl.load(X + rows * x_row + d * x_column, mask=is_row, other=0.0)[None, :]
        s = tl.load(carrier + features * D + d, mask=is_feature, other=0.0)[:, None]
        along = tl.sum(grad_sigma * s, axis=0)
        tl.store(partial + d * K + features, tl.sum(grad_sigma * x, axis=1), mask=is_feature)
        if not TIED:
            e = tl.load(envelope + features * D + d, mask=is_feature, other=0.0)[:, None]
            along += tl.sum(grad_delta * e, axis=0)
            tl.store(partial + (D + d) * K + features, tl.sum(grad_delta * x, axis=1), mask=is_feature)
        tl.store(grad_X + d * N + rows, along, mask=is_row)
    tl.store(partial + n_kinds * D * K + features, tl.sum(envelope_height * grad_height, axis=1), mask=is_feature)
