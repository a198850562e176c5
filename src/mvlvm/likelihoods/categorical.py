r"""The expectation of log sum_c exp(f_c) over independent normal f_c, by one-dimensional quadrature.

If G_c are independent Gumbel variables, the largest f_c + G_c is for given f again one, moved by logsumexp(f), and
its mean is Euler's constant more. It has the distribution function $F(u) = \prod_c g_c(u)$, where
$g_c(u) = P(f_c + G_c \le u)$; a Gumbel variable moved by b has $R(u) = \exp(-e^{b - u})$. The difference of their
means is the area between the two:

$$ E\, \mathrm{logsumexp}(f) = b + \int R(u) - F(u)\, du, \qquad b = \mathrm{logsumexp}(m + v / 2), $$

with the b that makes their right tails alike. The slopes by m and v are, with p = softmax(f),

$$ E\, p_c = \int g_c' \prod_{e \ne c} g_e\, du, \qquad
   \tfrac12 E\, p_c (1 - p_c) = -\int \frac{\partial g_c}{\partial v_c} \prod_{e \ne c} g_e\, du. $$

f_c + G_c has the characteristic function $\Gamma(1 - it) \exp(i m t - v t^2 / 2)$, so g_c is a sum of sines
(Gil-Pelaez), a product of matrices for all u at once. Both sums, over u and over t, are trapezoid rules of analytic
functions, whose errors fall exponentially with the step.

The matrices grow with the square of the variance. Beyond a limit, logsumexp(k f) / k with k < 1 takes the place of
logsumexp(f): it is never below it, so that a bound stays one, nor more than log(C) / k above the largest f.

One of C classes, as a row with a one in the column of its class and zeros elsewhere: p(c | f) = softmax_c(f).
"""

import cmath
import math
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm.likelihoods.base import AbstractLikelihood, Response, Support, column_means
from mvlvm.linalg.precomputed_grad import attach_gradients

# What is left out of sums and integrals is about exp(-_DIGITS) = 8e-10.
_DIGITS = 21.0
_STEP = 0.5  # of u: the error is about exp(-pi^2 / step) = 3e-9
_HIGHEST = 15.0  # of t: Gamma(1 - it) falls as exp(-pi t / 2)
# Normal variables stay within so many standard deviations, up to exp(-_DIGITS).
_NORMAL_REACH = 6.0
_PORTION = 2**21
_LARGEST_VARIANCE = 256.0


def expected_logsumexp(mean: Float[Tensor, "N C"], variance: Float[Tensor, "N C"]) -> Float[Tensor, " N"]:
    """Give E log sum_c exp(f_c) over f_c ~ N(mean, variance), differentiable once by both."""
    value, *slopes = _evaluate(mean.detach(), variance.detach())
    return attach_gradients(value, slopes, (mean, variance))


class SoftmaxMoments(NamedTuple):
    """Means and variances of softmax(f)."""

    mean: Float[Tensor, "N C"]
    variance: Float[Tensor, "N C"]


def softmax_moments(mean: Float[Tensor, "N C"], variance: Float[Tensor, "N C"]) -> SoftmaxMoments:
    """Give E softmax_c(f) and Var softmax_c(f) over f_c ~ N(mean, variance)."""
    _, grad_mean, grad_variance = _evaluate(mean.detach(), variance.detach())
    # what the quadrature leaves out is shared among the classes
    share = grad_mean.clamp(min=0.0)
    share = share / share.sum(dim=1, keepdim=True)
    return SoftmaxMoments(share, (share - 2 * grad_variance - share.square()).clamp(min=0.0))


def _evaluate(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Give E logsumexp and its slopes by mean and variance, a portion of rows at a time."""
    n_classes = mean.shape[1]
    k = (_LARGEST_VARIANCE / variance.amax(dim=1, keepdim=True)).clamp(max=1.0).sqrt()
    mean, variance = k * mean, k.square() * variance
    # what is not finite stays so, and is found out where the bound is looked at
    largest = float(variance.nan_to_num(nan=0.0).max()) if len(variance) else 0.0
    sums = _plan(min(largest, _LARGEST_VARIANCE), n_classes, mean)
    n_rows = max(1, _PORTION // (n_classes * len(sums.t)))
    parts = [_evaluate_rows(m, v, sums) for m, v in zip(mean.split(n_rows), variance.split(n_rows), strict=True)]
    value, grad_mean, grad_variance = (torch.cat(part) for part in zip(*parts, strict=True))
    return value / k[:, 0], grad_mean, k * grad_variance


class _Sums(NamedTuple):
    """Where the sums are taken. `to_cdf` turns sin(x t) and cos(x t) into 1/2 - g, g' and dg / dv at all u."""

    u: Float[Tensor, " U"]
    t: Float[Tensor, " T"]
    to_cdf: Float[Tensor, "2*T 3*U"]
    lowest: float


def _plan(largest_variance: float, n_classes: int, like: Tensor) -> _Sums:
    """Choose nodes u about b and frequencies t that serve all variances up to the largest."""
    # in powers of two, that the nodes stay where they are when a variance moves
    v = 2.0 ** max(-4, math.ceil(math.log2(max(largest_variance, 1e-9))))
    reach = _NORMAL_REACH * math.sqrt(v)
    below = math.log(n_classes) + v / 2 + reach + math.log(_DIGITS)
    above = (_DIGITS + v) / 2  # R - F falls as exp(v - 2 (u - b))
    # a class so far below the others that chance does not bring it near adds nothing: it may as well be here
    lowest = -_DIGITS - v / 2 - math.sqrt(2) * reach
    # the sum over t takes a distribution for periodic: all that is likely has to fit into one period
    period = max(above - lowest + reach + math.log(_DIGITS), below + _DIGITS)
    u = torch.arange(-below, above + _STEP, _STEP, dtype=torch.float64).to(like)
    spacing = 2 * math.pi / period
    t = (torch.arange(math.ceil(_HIGHEST / spacing)).to(like) + 0.5) * spacing
    gamma = [_log_gamma(complex(1.0, -frequency)) for frequency in t.tolist()]
    size = torch.tensor([g.real for g in gamma], dtype=torch.float64).to(like).exp() * spacing / math.pi
    angle = torch.tensor([g.imag for g in gamma], dtype=torch.float64).to(like)[:, None] - t[:, None] * u
    # sin(x t + a) = sin(x t) cos a + cos(x t) sin a, and likewise for cos
    sine, cosine = torch.cat([angle.cos(), angle.sin()]), torch.cat([-angle.sin(), angle.cos()])
    size, twice_t = torch.cat([size, size])[:, None], torch.cat([t, t])[:, None]
    to_cdf = torch.cat([size / twice_t * sine, size * cosine, 0.5 * size * twice_t * sine], dim=1)
    return _Sums(u, t, to_cdf, lowest)


def _evaluate_rows(mean: Tensor, variance: Tensor, sums: _Sums) -> tuple[Tensor, Tensor, Tensor]:
    """Do the two sums for some rows."""
    (N, C), U = mean.shape, len(sums.u)
    b = (mean + 0.5 * variance).logsumexp(dim=1, keepdim=True)
    x = (mean - b).clamp(min=sums.lowest).reshape(-1, 1) * sums.t
    decay = (variance.reshape(-1, 1) * (-0.5 * sums.t.square())).exp()
    waves = torch.cat([x.sin() * decay, x.cos() * decay], dim=1) @ sums.to_cdf
    rest, density, by_v = waves.reshape(N, C, 3, U).unbind(dim=2)
    g = 0.5 - rest
    # products over all classes but one, without a division: g may be zero
    others, product = torch.empty_like(g), torch.ones_like(g[:, 0])
    for c in range(C):
        others[:, c] = product
        product = product * g[:, c]
    behind = torch.ones_like(product)
    for c in reversed(range(C)):
        others[:, c] *= behind
        behind = behind * g[:, c]
    R = (-sums.u).exp().neg().exp()
    value = b[:, 0] + _STEP * (R - product).sum(dim=1)
    # The slopes' integrands have the right tails of p R' and p R' / 2 with p = exp(m + v / 2 - b): add these
    left_out = 1 - _STEP * (R * (-sums.u).exp()).sum()
    p = (mean + 0.5 * variance - b).exp() * left_out
    return value, p + _STEP * (density * others).sum(dim=2), 0.5 * p - _STEP * (by_v * others).sum(dim=2)


def _log_gamma(z: complex) -> complex:
    """Give log Gamma(z) up to a multiple of 2 pi i, by Stirling's series beyond 10."""
    shift = 0j
    while z.real < 10:
        shift += cmath.log(z)
        z += 1
    series = 1 / (12 * z) - 1 / (360 * z**3) + 1 / (1260 * z**5) - 1 / (1680 * z**7)
    return (z - 0.5) * cmath.log(z) - z + 0.5 * math.log(2 * math.pi) + series - shift


# Predictive probabilities are right to about 1e-8; one that is smaller may come out as zero.
_SMALLEST_PROBABILITY = 1e-12


class Categorical(AbstractLikelihood):
    """log p(y | f) = sum_c y_c f_c - logsumexp(f), for rows y with a single one.

    The log density of a row stands in the column of its class; the other columns are zero. A row with any entry missing
    is missing altogether, and so is one without a one: its class is none of those that the model knows.
    """

    name: ClassVar[str] = "categorical"
    support: ClassVar[Support] = Support.ONE_HOT

    @classmethod
    def start(cls, Y: Float[Tensor, "N M"]) -> "Categorical":
        """Give the likelihood; there is nothing to learn."""
        return cls()

    def offset(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
        """Give the logarithms of the classes' shares, at least half a row each, with mean zero."""
        share, rows = column_means(torch.where(self._observed(Y), Y, torch.nan))
        f = torch.maximum(share, 0.5 / rows).log()
        return f - f.mean()

    def respond(
        self, mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"], *, include_noise: bool = True
    ) -> Response:
        """Give the classes' probabilities and the variance of y, or mean and variance of softmax(f)."""
        share, spread = softmax_moments(mean, variance)
        return Response(share, share * (1 - share) if include_noise else spread)

    def sample(self, f: Float[Tensor, "N M"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Draw a class for every row."""
        drawn = torch.multinomial(f.softmax(dim=1), 1, generator=generator)
        return torch.zeros_like(f).scatter_(1, drawn, 1.0)

    def count_entries(self, Y: Float[Tensor, "N M"]) -> int:
        """Give the number of rows with a class."""
        return int(self._observed(Y)[:, 0].sum())

    def _observed(self, Y: Tensor) -> Bool[Tensor, "N M"]:
        whole = ~torch.isnan(Y).any(dim=1, keepdim=True)
        return (whole & (Y != 0).any(dim=1, keepdim=True)).expand_as(Y)

    def _log_density(self, Y: Tensor, f: Tensor) -> Tensor:
        return Y * f.log_softmax(dim=1)

    def _expected(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return Y * (mean - expected_logsumexp(mean, variance)[:, None])

    def _pairwise(self, Y: Tensor, seen: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return Y @ (mean - expected_logsumexp(mean, variance)[:, None]).T

    def _log_predictive(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return Y * softmax_moments(mean, variance).mean.clamp(min=_SMALLEST_PROBABILITY).log()
