r"""Spectral points in envelope form.

With the mean frequency $s = (w_1 + w_2)/2$ and half the difference $d = (w_1 - w_2)/2$,

    cos w1 x + cos w2 x = 2 cos(d x) cos(s x)        sin w1 x + sin w2 x = 2 cos(d x) sin(s x)

so the features of a pair of points are those of a stationary kernel, the carrier, times an envelope.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.spectral.sampling import SpectralPoints


class Frequencies(NamedTuple):
    """The K = P Q frequencies of all mixtures.

    Attributes:
        carrier: s.
        envelope: d; None if the points are tied, d = 0.
        amplitude: sqrt(alpha_q / P) for every point of every mixture.
    """

    carrier: Float[Tensor, "K D"]
    envelope: Float[Tensor, "K D"] | None
    amplitude: Float[Tensor, " K"]


def envelope_form(points: SpectralPoints, alpha: Float[Tensor, " Q"]) -> Frequencies:
    """Turn pairs of points into carriers and envelopes."""
    w1, w2 = (w.flatten(0, 1) for w in points)
    if points.w1 is points.w2:
        return Frequencies(w1, None, amplitude(points, alpha))
    carrier = torch.lerp(w1, w2, 0.5)
    return Frequencies(carrier, carrier - w2, amplitude(points, alpha))


def amplitude(points: SpectralPoints, alpha: Float[Tensor, " Q"]) -> Float[Tensor, " K"]:
    """Give sqrt(alpha_q / P) for every point of every mixture."""
    n_points = points.w1.shape[1]
    return (alpha / n_points).sqrt().repeat_interleave(n_points)
