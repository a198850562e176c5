r"""The expectation of log(1 + x^2) over a normal x ~ N(d, w), at any d and w.

$$ \log(1 + a) = \int_0^\infty (1 - e^{-a t})\, e^{-t}\, \frac{dt}{t}, \qquad
   \phi(t) = E e^{-t x^2} = \sqrt{k}\, e^{-t d^2 k}, \quad k = \frac{1}{1 + 2 t w}, $$

so the expectation is, with $a = E x^2 = d^2 + w$,

$$ E \log(1 + x^2) = \log(1 + a) + \int_0^\infty (e^{-a t} - \phi(t))\, e^{-t}\, \frac{dt}{t}. $$

In log t the integrand is analytic, and the trapezoid rule has an error of about exp(-pi^2 / step).

The log density of a Student t variable plus a normal one.

A Student t variable is normal with variance s^2 / l, where l has a gamma distribution with shape and rate nu / 2. The
sum is then normal with variance v + s^2 / l, and what is left is an integral over x = log l, of exp(H):

$$ H(x) = \log \mathrm{Gamma}(e^x; \nu / 2, \nu / 2) + x + \log N(\delta; 0, v + s^2 e^{-x}). $$

It may have two modes, one for each variable that can explain a large delta, but it is analytic: the trapezoid rule over
all of its range is right to many digits.

Real entries with noise that has heavy tails, so that single wild entries do little harm.

$$ \log p(y | f) = \log\frac{\Gamma(\frac{\nu + 1}2)}{\Gamma(\frac\nu2) \sqrt{\pi \nu s^2}}
   - \frac{\nu + 1}2 \log\Big( 1 + \frac{(y - f)^2}{\nu s^2} \Big) $$
"""

import math
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.likelihoods.base import AbstractLikelihood, Response, Support
from mvlvm.linalg.precomputed_grad import attach_gradients
from mvlvm.parameters import positive, raw_positive
from mvlvm.shapes import Scalar

_STEP = 0.45
_HIGHEST = 3.1  # of log t: exp(-exp(3.1)) = 2e-10
_SMALL = 3e-4  # the lowest t, where x^2 is about 1: what is left out is about its square
# Entries at a time, so that the arrays of a portion stay in the processor's cache.
_PORTION = 2**15


def expected_log_one_plus_square(d: Float[Tensor, "*s"], w: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """Give E log(1 + x^2) over x ~ N(d, w), differentiable once by both."""
    value, *slopes = _evaluate(d.detach(), w.detach())
    return attach_gradients(value, slopes, (d, w))


def _evaluate(d: Tensor, w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Give the value and its slopes by d and w."""
    nodes = _nodes(d.square(), w)
    pairs = zip(d.reshape(-1).split(_PORTION), w.reshape(-1).split(_PORTION), strict=True)
    parts = [_evaluate_portion(some_d, some_w, nodes) for some_d, some_w in pairs]
    value, grad_d, grad_w = (torch.cat(part).reshape(d.shape) for part in zip(*parts, strict=True))
    return value, grad_d, grad_w


def _evaluate_portion(d: Tensor, w: Tensor, nodes: list[float]) -> tuple[Tensor, Tensor, Tensor]:
    """Sum over the nodes in place. The reference exp(-a t) gives 1 / (1 + a) to both slopes."""
    squares = d.square()
    a = squares + w
    value, grad_square, grad_w = a.log1p(), 1 / (1 + a), 1 / (1 + a)
    k, phi, reference, exponent = (torch.empty_like(a) for _ in range(4))
    for t in nodes:
        torch.mul(w, 2 * t, out=k).add_(1).reciprocal_()
        torch.mul(a, -t, out=reference).sub_(t).exp_().mul_(_STEP)
        torch.mul(squares, k, out=exponent).mul_(-t)
        torch.sub(exponent, t, out=phi).exp_().mul_(_STEP)
        value.add_(reference).sub_(phi.mul_(torch.sqrt(k, out=k)))
        k.square_()
        grad_square.addcmul_(phi, k, value=t).sub_(reference, alpha=t)
        exponent.mul_(2).add_(1).mul_(k)  # k - 2 t d^2 k^2
        grad_w.addcmul_(phi, exponent, value=t).sub_(reference, alpha=t)
    return value, grad_square.mul_(d).mul_(2), grad_w


def _nodes(squares: Tensor, w: Tensor) -> list[float]:
    """Give t from where the integrands begin to where they end."""
    # Var x^2 = 2 w (w + 2 d^2) belongs to the value, and the half to its slope by w, which does not vanish with w
    spread = float((2 * (w + 0.5) * (w + 2 * squares)).max().clamp(1.0, 1e30)) if w.numel() else 1.0
    # in whole steps, that the nodes stay where they are when an entry moves
    n_below = math.ceil((0.5 * math.log(spread) - math.log(_SMALL)) / _STEP)
    return [math.exp(_STEP * i) for i in range(-n_below, math.ceil(_HIGHEST / _STEP) + 1)]


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


# With two degrees of freedom or less the noise would have no variance.
_FEWEST_DEGREES = 2.0
_START_DEGREES = 4.0
# The median absolute deviation of a normal variable of variance one.
_NORMAL_DEVIATION = 0.6744897501960817
_ENTRIES_PER_PORTION = 2**20


class StudentT(AbstractLikelihood):
    """(y - f) / s has Student's t distribution; s and the degrees of freedom are the view's.

    Args:
        scale: where s starts.
        degrees_of_freedom: where nu starts, above 2.
    """

    name: ClassVar[str] = "student-t"
    support: ClassVar[Support] = Support.REAL
    real_valued: ClassVar[bool] = True

    def __init__(self, scale: float, degrees_of_freedom: float = _START_DEGREES) -> None:
        super().__init__()
        raw = [raw_positive(scale**2), raw_positive(degrees_of_freedom - _FEWEST_DEGREES)]
        self.raw_squared_scale, self.raw_degrees = (nn.Parameter(torch.tensor(x, dtype=torch.float64)) for x in raw)

    @classmethod
    def start(cls, Y: Float[Tensor, "N M"]) -> "StudentT":
        """Start where Gaussian views do, with a share of a variance that wild entries do not raise."""
        deviation = (Y - Y.nanmedian(dim=0).values).abs().nanmedian(dim=0).values / _NORMAL_DEVIATION
        variance = deviation.nan_to_num(nan=0.0).square().mean().item()
        scale = math.sqrt(defaults.INITIAL_NOISE_VARIANCE * (variance if variance > 0 else 1.0))
        return cls(scale).to(Y.dtype).to(Y.device)

    def offset(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
        """Give the median of every column."""
        return Y.nanmedian(dim=0).values.nan_to_num(nan=0.0)

    def respond(
        self, mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"], *, include_noise: bool = True
    ) -> Response:
        """Give mean and variance of y, or those of f."""
        c, nu = self._width_and_degrees(mean)
        return Response(mean, variance + c / (nu - 2) if include_noise else variance)

    def sample(self, f: Float[Tensor, "N M"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Draw real numbers: a normal variable over the root of a gamma variable."""
        c, nu = self._width_and_degrees(f)
        # torch's public gamma sampler takes no generator
        gamma = torch._standard_gamma((0.5 * nu).expand_as(f), generator=generator)  # pyright: ignore[reportPrivateImportUsage]
        noise = torch.randn(f.shape, generator=generator, dtype=f.dtype, device=f.device)
        return f + noise * (0.5 * c / gamma).sqrt()

    def describe(self) -> dict[str, Tensor]:
        """Give the scale s and the degrees of freedom."""
        degrees = _FEWEST_DEGREES + positive(self.raw_degrees)
        return {"scale": positive(self.raw_squared_scale).sqrt().detach(), "degrees_of_freedom": degrees.detach()}

    def _width_and_degrees(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Give nu s^2 and nu."""
        nu = _FEWEST_DEGREES + positive(self.raw_degrees).to(like)
        return nu * positive(self.raw_squared_scale).to(like), nu

    def _log_density(self, Y: Tensor, f: Tensor) -> Tensor:
        c, nu = self._width_and_degrees(f)
        return _at_the_top(c, nu) - 0.5 * (nu + 1) * ((Y - f).square() / c).log1p()

    def _expected(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        c, nu = self._width_and_degrees(mean)
        return _at_the_top(c, nu) - 0.5 * (nu + 1) * expected_log_one_plus_square((Y - mean) / c.sqrt(), variance / c)

    def _pairwise(self, Y: Tensor, seen: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        n_rows = max(1, _ENTRIES_PER_PORTION // max(1, mean.numel()))
        rows = [
            (self._expected(y[:, None], mean, variance.expand(len(y), -1, -1)) * s[:, None]).sum(dim=2)
            for y, s in zip(Y.split(n_rows), seen.split(n_rows), strict=True)
        ]
        return torch.cat(rows)

    def _log_predictive(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        c, nu = (parameter.detach() for parameter in self._width_and_degrees(mean))
        return log_student_t_plus_normal(Y - mean, variance, c / nu, nu)


def _at_the_top(c: Tensor, nu: Tensor) -> Tensor:
    """Give the log density at y = f."""
    return torch.lgamma(0.5 * (nu + 1)) - torch.lgamma(0.5 * nu) - 0.5 * (math.pi * c).log()
