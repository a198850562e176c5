r"""The categorical likelihood of one-hot rows, p(c | f) = softmax_c(f), and the expected logsumexp behind it.

**Expected logsumexp**, $E \log \sum_c \exp(f_c)$ over independent $f_c \sim N(m_c, v_c)$, by one-dimensional
quadrature. If G_c are independent Gumbel variables, then for given f the maximum of f_c + G_c is a Gumbel variable
shifted by logsumexp(f), so its mean is logsumexp(f) plus Euler's constant. Its distribution function is $F(u) = \prod_c
g_c(u)$ with $g_c(u) = P(f_c + G_c \le u)$. A Gumbel variable shifted by b has $R(u) = \exp(-e^{b - u})$. The difference
of the means of the two variables is the area between their distribution functions:

$$ E\, \mathrm{logsumexp}(f) = b + \int R(u) - F(u)\, du, \qquad b = \mathrm{logsumexp}(m + v / 2), $$

where this choice of b makes the right tails of R and F equal. The gradients with respect to m and v are, with
p = softmax(f),

$$ E\, p_c = \int g_c' \prod_{e \ne c} g_e\, du, \qquad
   \tfrac12 E\, p_c (1 - p_c) = -\int \frac{\partial g_c}{\partial v_c} \prod_{e \ne c} g_e\, du. $$

f_c + G_c has the characteristic function $\Gamma(1 - it) \exp(i m t - v t^2 / 2)$, so g_c is a sum of sines
(Gil-Pelaez), evaluated for all u at once by a matrix product. Both sums, over u and over t, are trapezoidal rules of
analytic functions, whose errors decrease exponentially with the inverse of the step size.

The matrices grow with the square of the variance. Beyond a limit, logsumexp(k f) / k with k < 1 replaces logsumexp(f).
It is never smaller, so a bound remains a bound, and it is at most log(C) / k larger than the maximum of f.
"""

import cmath
import math
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mvlvm.likelihoods.base import AbstractLikelihood, Response, Support, column_means
from mvlvm.linalg.precomputed_grad import attach_gradients

# Sums and integrals are truncated where the remainder is about exp(-_LOG_ACCURACY) = 8e-10.
_LOG_ACCURACY = 21.0
_STEP = 0.5  # of u: the error is about exp(-pi^2 / step) = 3e-9
_MAX_FREQUENCY = 15.0  # of t: Gamma(1 - it) decreases as exp(-pi t / 2)
# A normal variable stays within this number of standard deviations, except with probability exp(-_LOG_ACCURACY).
_NORMAL_REACH = 6.0
# Numbers in the largest array of a chunk of rows.
_CHUNK_SIZE = 2**21
_MAX_VARIANCE = 256.0
# Predictive probabilities are accurate to about 1e-8; a smaller one may evaluate to zero.
_MIN_PROBABILITY = 1e-12


def expected_logsumexp(mean: Float[Tensor, "N C"], variance: Float[Tensor, "N C"]) -> Float[Tensor, " N"]:
    """Return E log sum_c exp(f_c) over f_c ~ N(mean, variance), of length N, differentiable once in both arguments."""
    value, *gradients = _logsumexp_and_gradients(mean.detach(), variance.detach())
    return attach_gradients(value, gradients, (mean, variance))


class SoftmaxMoments(NamedTuple):
    """Means and variances of softmax(f), each N x C."""

    mean: Float[Tensor, "N C"]
    variance: Float[Tensor, "N C"]


def softmax_moments(mean: Float[Tensor, "N C"], variance: Float[Tensor, "N C"]) -> SoftmaxMoments:
    """Return E softmax_c(f) and Var softmax_c(f) over f_c ~ N(mean, variance), each N x C."""
    _, grad_mean, grad_variance = _logsumexp_and_gradients(mean.detach(), variance.detach())
    # normalising distributes the truncation error of the quadrature among the classes
    probability = grad_mean.clamp(min=0.0)
    probability = probability / probability.sum(dim=1, keepdim=True)
    return SoftmaxMoments(probability, (probability - 2 * grad_variance - probability.square()).clamp(min=0.0))


def _logsumexp_and_gradients(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return E logsumexp and its gradients with respect to mean and variance, computed in chunks of rows."""
    n_classes = mean.shape[1]
    k = (_MAX_VARIANCE / variance.amax(dim=1, keepdim=True)).clamp(max=1.0).sqrt()
    mean, variance = k * mean, k.square() * variance
    # values that are not finite propagate, and are detected where the bound is checked
    largest = float(variance.nan_to_num(nan=0.0).max()) if len(variance) else 0.0
    rule = _quadrature_rule(min(largest, _MAX_VARIANCE), n_classes, mean)
    n_rows = max(1, _CHUNK_SIZE // (n_classes * len(rule.t)))
    chunks = [_evaluate_rows(m, v, rule) for m, v in zip(mean.split(n_rows), variance.split(n_rows), strict=True)]
    value, grad_mean, grad_variance = (torch.cat(part) for part in zip(*chunks, strict=True))
    return value / k[:, 0], grad_mean, k * grad_variance


class _QuadratureRule(NamedTuple):
    """Nodes of both sums.

    Attributes:
        u: nodes of the integral over u, relative to b.
        t: frequencies of the sum of sines.
        to_cdf: maps sin(x t) and cos(x t) to 1/2 - g, g' and dg / dv at all u.
        lowest: the smallest m - b that needs to be distinguished.
    """

    u: Float[Tensor, " U"]
    t: Float[Tensor, " T"]
    to_cdf: Float[Tensor, "2*T 3*U"]
    lowest: float


def _quadrature_rule(largest_variance: float, n_classes: int, like: Tensor) -> _QuadratureRule:
    """Return nodes u around b and frequencies t that are valid for all variances up to the largest."""
    # rounded up to a power of two, so that the nodes stay fixed under small changes of a variance
    v = 2.0 ** max(-4, math.ceil(math.log2(max(largest_variance, 1e-9))))
    reach = _NORMAL_REACH * math.sqrt(v)
    below = math.log(n_classes) + v / 2 + reach + math.log(_LOG_ACCURACY)
    above = (_LOG_ACCURACY + v) / 2  # R - F decreases as exp(v - 2 (u - b))
    # a class so far below the others that it contributes nothing can be moved up to here
    lowest = -_LOG_ACCURACY - v / 2 - math.sqrt(2) * reach
    # the sum over t treats the distribution as periodic: its effective support has to fit into one period
    period = max(above - lowest + reach + math.log(_LOG_ACCURACY), below + _LOG_ACCURACY)
    u = torch.arange(-below, above + _STEP, _STEP, dtype=torch.float64).to(like)
    spacing = 2 * math.pi / period
    t = (torch.arange(math.ceil(_MAX_FREQUENCY / spacing)).to(like) + 0.5) * spacing
    gamma = [_log_gamma(complex(1.0, -frequency)) for frequency in t.tolist()]
    modulus = torch.tensor([g.real for g in gamma], dtype=torch.float64).to(like).exp() * spacing / math.pi
    angle = torch.tensor([g.imag for g in gamma], dtype=torch.float64).to(like)[:, None] - t[:, None] * u
    # sin(x t + a) = sin(x t) cos a + cos(x t) sin a, and likewise for the cosine
    sine, cosine = torch.cat([angle.cos(), angle.sin()]), torch.cat([-angle.sin(), angle.cos()])
    modulus, stacked_t = torch.cat([modulus, modulus])[:, None], torch.cat([t, t])[:, None]
    to_cdf = torch.cat([modulus / stacked_t * sine, modulus * cosine, 0.5 * modulus * stacked_t * sine], dim=1)
    return _QuadratureRule(u, t, to_cdf, lowest)


def _evaluate_rows(mean: Tensor, variance: Tensor, rule: _QuadratureRule) -> tuple[Tensor, Tensor, Tensor]:
    """Return E logsumexp and its gradients for a chunk of rows."""
    (N, C), U = mean.shape, len(rule.u)
    b = (mean + 0.5 * variance).logsumexp(dim=1, keepdim=True)
    x = (mean - b).clamp(min=rule.lowest).reshape(-1, 1) * rule.t
    decay = (variance.reshape(-1, 1) * (-0.5 * rule.t.square())).exp()
    sums = torch.cat([x.sin() * decay, x.cos() * decay], dim=1) @ rule.to_cdf
    half_minus_g, density, dg_dv = sums.reshape(N, C, 3, U).unbind(dim=2)
    g = 0.5 - half_minus_g
    # products over all other classes, without a division because g may be zero
    others, product = torch.empty_like(g), torch.ones_like(g[:, 0])
    for c in range(C):
        others[:, c] = product
        product = product * g[:, c]
    suffix_product = torch.ones_like(product)
    for c in reversed(range(C)):
        others[:, c] *= suffix_product
        suffix_product = suffix_product * g[:, c]
    R = (-rule.u).exp().neg().exp()
    value = b[:, 0] + _STEP * (R - product).sum(dim=1)
    # The integrands of the gradients have the right tails of p R' and p R' / 2 with p = exp(m + v / 2 - b): add these
    tail = 1 - _STEP * (R * (-rule.u).exp()).sum()
    p = (mean + 0.5 * variance - b).exp() * tail
    return value, p + _STEP * (density * others).sum(dim=2), 0.5 * p - _STEP * (dg_dv * others).sum(dim=2)


def _log_gamma(z: complex) -> complex:
    """Return log Gamma(z) up to a multiple of 2 pi i, by Stirling's series for real parts above 10."""
    shift = 0j
    while z.real < 10:
        shift += cmath.log(z)
        z += 1
    series = 1 / (12 * z) - 1 / (360 * z**3) + 1 / (1260 * z**5) - 1 / (1680 * z**7)
    return (z - 0.5) * cmath.log(z) - z + 0.5 * math.log(2 * math.pi) + series - shift


class Categorical(AbstractLikelihood):
    """The categorical likelihood, log p(y | f) = sum_c y_c f_c - logsumexp(f), for one-hot rows y.

    The log density of a row is reported in the column of its class; the other columns are zero. A row with any missing
    entry is treated as missing, and so is a row of zeros, whose class is not one of those that the model knows.
    """

    name: ClassVar[str] = "categorical"
    support: ClassVar[Support] = Support.ONE_HOT

    @classmethod
    def start(cls, Y: Float[Tensor, "N M"]) -> "Categorical":
        """Return the likelihood, which has no parameters."""
        return cls()

    def offset(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
        """Return the logarithms of the class frequencies, at least half a row each, centred to mean zero."""
        frequency, n_rows = column_means(torch.where(self._observed(Y), Y, torch.nan))
        f = torch.maximum(frequency, 0.5 / n_rows).log()
        return f - f.mean()

    def respond(
        self, mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"], *, include_noise: bool = True
    ) -> Response:
        """Return class probabilities and the variance of y or, without noise, of softmax(f), each N x M."""
        probability, spread = softmax_moments(mean, variance)
        return Response(probability, probability * (1 - probability) if include_noise else spread)

    def sample(self, f: Float[Tensor, "N M"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Sample one-hot rows, N x M."""
        drawn = torch.multinomial(f.softmax(dim=1), 1, generator=generator)
        return torch.zeros_like(f).scatter_(1, drawn, 1.0)

    def count_entries(self, Y: Float[Tensor, "N M"]) -> int:
        """Return the number of rows with a class."""
        return int(self._observed(Y)[:, 0].sum())

    def _observed(self, Y: Tensor) -> Bool[Tensor, "N M"]:
        complete = ~torch.isnan(Y).any(dim=1, keepdim=True)
        return (complete & (Y != 0).any(dim=1, keepdim=True)).expand_as(Y)

    def _log_density(self, Y: Tensor, f: Tensor) -> Tensor:
        return Y * f.log_softmax(dim=1)

    def _expected(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return Y * (mean - expected_logsumexp(mean, variance)[:, None])

    def _pairwise(self, Y: Tensor, observed: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return Y @ (mean - expected_logsumexp(mean, variance)[:, None]).T

    def _log_predictive(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        return Y * softmax_moments(mean, variance).mean.clamp(min=_MIN_PROBABILITY).log()
