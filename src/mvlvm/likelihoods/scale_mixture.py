r"""The log density of a Student t variable plus a normal one.

A Student t variable is normal with variance s^2 / l, where l has a gamma distribution with shape and rate nu / 2. The
sum is then normal with variance v + s^2 / l, and what is left is an integral over x = log l, of exp(H):

$$ H(x) = \log \mathrm{Gamma}(e^x; \nu / 2, \nu / 2) + x + \log N(\delta; 0, v + s^2 e^{-x}). $$

It may have two modes, one for each variable that can explain a large delta, but it is analytic: the trapezoid rule over
all of its range is right to many digits.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.shapes import Scalar

# exp(H) is left out where it is below exp(-_DIGITS) times its largest value.
_DIGITS = 27.0
_LONGEST_STEP = 0.4
# Steps per standard deviation of log l, sqrt(2 / nu), where that is narrow.
_STEPS_PER_DEVIATION = 2.0


def log_student_t_plus_normal(
    delta: Float[Tensor, "*s"], variance: Float[Tensor, "*s"], squared_scale: Scalar, nu: Scalar
) -> Float[Tensor, "*s"]:
    """Give the log density at delta of s t + N(0, variance), differentiable by delta and variance.

    Args:
        delta: where.
        variance: of the normal variable, zero or positive.
        squared_scale: s^2.
        nu: the degrees of freedom of t.
    """
    half = 0.5 * nu
    constant = half * half.log() - torch.lgamma(half) - 0.5 * math.log(2 * math.pi)
    squares, total = delta.square(), torch.full_like(delta, -torch.inf)
    low, high = _range(squares.detach(), variance.detach(), squared_scale.item(), nu.item())
    step = min(_LONGEST_STEP, math.sqrt(2 / nu.item()) / _STEPS_PER_DEVIATION)
    for i in range(math.floor(low / step), math.ceil(high / step) + 1):
        x = step * i
        V = variance + squared_scale * math.exp(-x)
        total = torch.logaddexp(total, half * (x - math.exp(x)) - 0.5 * (V.log() + squares / V))
    return total + constant + math.log(step)


def _range(squares: Tensor, variance: Tensor, squared_scale: float, nu: float) -> tuple[float, float]:
    """Bound the x where exp(H) counts, for all entries."""
    # y - 1 + exp(-y) > k at y = k + sqrt(2 k), and y - log(1 + y) > k too
    largest = float(squares.max()) if squares.numel() else 0.0
    surprise = float((squares / (variance + squared_scale)).max()) if squares.numel() else 0.0
    # H rises below the x where s^2 exp(-x) = delta^2 ...
    by_scale = -math.log(max(1.0, largest / squared_scale)) - _beyond(2 * _DIGITS / nu)
    # ... and the normal density at delta gains no more than its exponent at x = 0
    by_density = -_beyond((2 * _DIGITS + surprise) / nu)
    return max(by_scale, by_density), math.log1p(_beyond(2 * _DIGITS / nu))


def _beyond(k: float) -> float:
    return k + math.sqrt(2 * k)
