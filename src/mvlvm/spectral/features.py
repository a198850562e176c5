r"""Random Fourier features whose inner products estimate the NG-SM kernel (Thm 2, Thm 3).

With the mean frequency $s = (w_1 + w_2)/2$ and half the difference $d = (w_1 - w_2)/2$ of a pair of spectral points,

    cos w1 x + cos w2 x = 2 cos(d x) cos(s x)        sin w1 x + sin w2 x = 2 cos(d x) sin(s x)

so the features of a pair are those of a stationary kernel, with the carrier frequency s, times the envelope cos(d x).
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.spectral.density import SpectralPoints


class Frequencies(NamedTuple):
    """The K = P Q frequencies of all mixture components, in envelope form.

    Attributes:
        carrier: the mean frequencies s.
        envelope: the half differences d; None if the points are tied, d = 0.
        amplitude: sqrt(alpha_q / P) of each point of each component.
    """

    carrier: Float[Tensor, "K D"]
    envelope: Float[Tensor, "K D"] | None
    amplitude: Float[Tensor, " K"]


def envelope_form(points: SpectralPoints, alpha: Float[Tensor, " Q"]) -> Frequencies:
    """Return carrier frequencies, envelope frequencies and amplitudes of pairs of spectral points [eq:RFF_NGSM]."""
    w1, w2 = (w.flatten(0, 1) for w in points)
    if points.w1 is points.w2:
        return Frequencies(w1, None, amplitude(points, alpha))
    carrier = torch.lerp(w1, w2, 0.5)
    return Frequencies(carrier, carrier - w2, amplitude(points, alpha))


def amplitude(points: SpectralPoints, alpha: Float[Tensor, " Q"]) -> Float[Tensor, " K"]:
    """Return sqrt(alpha_q / P) of each point of each component, of length K = P Q."""
    n_points = points.w1.shape[1]
    return (alpha / n_points).sqrt().repeat_interleave(n_points)


def random_features(
    X: Float[Tensor, "N D"], points: SpectralPoints, alpha: Float[Tensor, " Q"]
) -> Float[Tensor, "N F"]:
    r"""Map latents to features with $E[\phi(x)^\top \phi(y)] = k(x, y)$ [eq:rff_def, eq:RFF_NGSM].

    The paper writes the features of a pair of points as
    $\tfrac12 \sqrt{\alpha_q / P}\, [\cos w_1 x + \cos w_2 x;\ \sin w_1 x + \sin w_2 x]$.
    With the mean frequency $s = (w_1 + w_2)/2$ and half the difference $d = (w_1 - w_2)/2$ this equals

    $$ \sqrt{\alpha_q / P}\, \cos(d^\top x)\, [\cos(s^\top x);\ \sin(s^\top x)], $$

    a stationary feature times an envelope.

    Args:
        X: latents.
        points: pairs of spectral points of each mixture component.
        alpha: mixture weights.

    Returns:
        The features Phi, N x F with F = 2 P Q: the cosines of all components, then the sines.
    """
    frequencies = envelope_form(points, alpha)
    phase, envelope = X @ frequencies.carrier.T, frequencies.amplitude
    if frequencies.envelope is not None:
        envelope = torch.cos(X @ frequencies.envelope.T) * envelope
    return torch.cat([envelope * torch.cos(phase), envelope * torch.sin(phase)], dim=1)


def expected_features(
    mean: Float[Tensor, "N D"], std: Float[Tensor, "N D"], points: SpectralPoints, alpha: Float[Tensor, " Q"]
) -> Float[Tensor, "N F"]:
    r"""Return the expectation of `random_features` over latents $x_n \sim N(\mathrm{mean}_n, \mathrm{std}_n^2)$.

    Uses $E \cos(w^\top x) = \exp(-\tfrac12 \sum_d w_d^2 \mathrm{std}_d^2) \cos(w^\top \mathrm{mean})$ and the same
    identity for the sine in [eq:rff_def, eq:RFF_NGSM].

    Args:
        mean: means of the latents.
        std: standard deviations of the latents.
        points: pairs of spectral points of each mixture component.
        alpha: mixture weights.

    Returns:
        The expected features, N x F, in the order of `random_features`.
    """
    halves = []
    for w in (w.flatten(0, 1) for w in points):
        damping = torch.exp(-0.5 * std**2 @ (w**2).T)
        halves.append(torch.cat([damping * torch.cos(mean @ w.T), damping * torch.sin(mean @ w.T)], dim=1))
    return 0.5 * (halves[0] + halves[1]) * amplitude(points, alpha).repeat(2)


@torch.no_grad()
def features_and_jacobian(
    X: Float[Tensor, "N D"], points: SpectralPoints, alpha: Float[Tensor, " Q"], dtype: torch.dtype | None = None
) -> tuple[Float[Tensor, "N F"], Float[Tensor, "N D F"]]:
    r"""Return `random_features` (N x F) and their Jacobian $\partial \phi_f(x_n) / \partial x_{nd}$ (N x D x F).

    Neither is differentiable.

    Args:
        X: latents.
        points: pairs of spectral points of each mixture component.
        alpha: mixture weights.
        dtype: of the Jacobian; by default that of the features.
    """
    w1, w2 = (w.flatten(0, 1) for w in points)
    scale = 0.5 * amplitude(points, alpha)
    (cos1, sin1), (cos2, sin2) = ((torch.cos(X @ w.T) * scale, torch.sin(X @ w.T) * scale) for w in (w1, w2))
    Phi = torch.cat([cos1 + cos2, sin1 + sin2], dim=1)
    jacobian = X.new_empty((*X.shape, Phi.shape[1]), dtype=dtype)
    of_cosines, of_sines = jacobian.chunk(2, dim=2)
    w1, w2 = w1.T.to(jacobian), w2.T.to(jacobian)
    cos1, sin1, cos2, sin2 = (part.to(jacobian)[:, None] for part in (cos1, sin1, cos2, sin2))
    torch.mul(sin1, -w1, out=of_cosines).addcmul_(sin2, w2, value=-1)
    torch.mul(cos1, w1, out=of_sines).addcmul_(cos2, w2)
    return Phi, jacobian
