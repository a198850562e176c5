r"""Spectral points in envelope form.

With the mean frequency $s = (w_1 + w_2)/2$ and half the difference $d = (w_1 - w_2)/2$,

    cos w1 x + cos w2 x = 2 cos(d x) cos(s x)        sin w1 x + sin w2 x = 2 cos(d x) sin(s x)

so the features of a pair of points are those of a stationary kernel, the carrier, times an envelope.

Random Fourier features whose inner products estimate the NG-SM kernel (Thm 2, Thm 3).
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


def random_features(
    X: Float[Tensor, "N D"], points: SpectralPoints, alpha: Float[Tensor, " Q"]
) -> Float[Tensor, "N F"]:
    r"""Map latents to features with $E[\phi(x)^\top \phi(y)] = k(x, y)$ [eq:rff_def, eq:RFF_NGSM].

    Printed, each pair of points gives
    $\tfrac12 \sqrt{\alpha_q / P}\, [\cos w_1 x + \cos w_2 x;\ \sin w_1 x + \sin w_2 x]$.
    With the mean frequency $s = (w_1 + w_2)/2$ and half the difference $d = (w_1 - w_2)/2$ that is

    $$ \sqrt{\alpha_q / P}\, \cos(d^\top x)\, [\cos(s^\top x);\ \sin(s^\top x)], $$

    a stationary feature times an envelope. The cosines of all mixtures come first, then the sines.
    """
    frequencies = envelope_form(points, alpha)
    carrier, height = X @ frequencies.carrier.T, frequencies.amplitude
    if frequencies.envelope is not None:
        height = torch.cos(X @ frequencies.envelope.T) * height
    return torch.cat([height * torch.cos(carrier), height * torch.sin(carrier)], dim=1)


def expected_features(
    mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"], points: SpectralPoints, alpha: Float[Tensor, " Q"]
) -> Float[Tensor, "N F"]:
    r"""Give the expectation of `random_features` over latents $x_n \sim N(\mathrm{mean}_n, \mathrm{std}_n^2)$.

    From $E \cos(w^\top x) = \exp(-\tfrac12 \sum_d w_d^2 \mathrm{std}_d^2) \cos(w^\top \mathrm{mean})$, and the same for
    the sine.
    """
    halves = []
    for w in (w.flatten(0, 1) for w in points):
        damping = torch.exp(-0.5 * std**2 @ (w**2).T)
        halves.append(torch.cat([damping * torch.cos(mean @ w.T), damping * torch.sin(mean @ w.T)], dim=1))
    return 0.5 * (halves[0] + halves[1]) * amplitude(points, alpha).repeat(2)


def features_and_jacobian(
    X: Float[Tensor, "N D"], points: SpectralPoints, alpha: Float[Tensor, " Q"]
) -> tuple[Float[Tensor, "N F"], Float[Tensor, "D N F"]]:
    r"""Give `random_features` and their derivatives by the latents, $\partial \phi_f(x_n) / \partial x_{nd}$."""
    w1, w2 = (w.flatten(0, 1) for w in points)
    height = 0.5 * amplitude(points, alpha)
    (cos1, sin1), (cos2, sin2) = ((torch.cos(X @ w.T) * height, torch.sin(X @ w.T) * height) for w in (w1, w2))
    Phi = torch.cat([cos1 + cos2, sin1 + sin2], dim=1)
    slopes = X.new_empty((X.shape[1], *Phi.shape))
    for d, slope in enumerate(slopes):
        cosines, sines = slope.chunk(2, dim=1)
        torch.mul(sin1, -w1[:, d], out=cosines).addcmul_(sin2, w2[:, d].expand_as(sin2), value=-1)
        torch.mul(cos1, w1[:, d], out=sines).addcmul_(cos2, w2[:, d].expand_as(cos2))
    return Phi, slopes
