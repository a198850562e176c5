r"""The Student t likelihood of real entries with heavy-tailed noise, which limits the influence of outliers.

$$ \log p(y | f) = \log\frac{\Gamma(\frac{\nu + 1}2)}{\Gamma(\frac\nu2) \sqrt{\pi \nu s^2}}
   - \frac{\nu + 1}2 \log\Big( 1 + \frac{(y - f)^2}{\nu s^2} \Big) $$

**Expected log density.** It needs E log(1 + x^2) over a normal x ~ N(d, w):

$$ \log(1 + a) = \int_0^\infty (1 - e^{-a t})\, e^{-t}\, \frac{dt}{t}, \qquad
   \phi(t) = E e^{-t x^2} = \sqrt{k}\, e^{-t d^2 k}, \quad k = \frac{1}{1 + 2 t w}, $$

so the expectation is, with $a = E x^2 = d^2 + w$,

$$ E \log(1 + x^2) = \log(1 + a) + \int_0^\infty (e^{-a t} - \phi(t))\, e^{-t}\, \frac{dt}{t}. $$

As a function of log t the integrand is analytic, and the error of the trapezoidal rule is about exp(-pi^2 / step).

**Log predictive density**, the density of a Student t variable plus a normal one. A Student t variable is normal with
variance s^2 / l, where l has a gamma distribution with shape and rate nu / 2. The sum is then normal with variance
v + s^2 / l, which leaves an integral of exp(H) over x = log l:

$$ H(x) = \log \mathrm{Gamma}(e^x; \nu / 2, \nu / 2) + x + \log N(\delta; 0, v + s^2 e^{-x}). $$

The integrand may have two modes, one for each variable that can explain a large delta, but it is analytic: the
trapezoidal rule over its whole range is accurate to many digits.
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

# E log(1 + x^2): trapezoidal rule over log t.
_STEP = 0.45
_MAX_LOG_T = 3.1  # exp(-exp(3.1)) = 2e-10
_MIN_T = 3e-4  # where x^2 is about 1: the truncation error is about its square
# Entries evaluated at a time, so that the arrays fit into the processor's cache.
_CHUNK_SIZE = 2**15

# Log predictive density: exp(H) is truncated where it is below exp(-_LOG_ACCURACY) times its maximum.
_LOG_ACCURACY = 27.0
_MAX_STEP = 0.4
# Steps per standard deviation of log l, sqrt(2 / nu), where the distribution of l is narrow.
_STEPS_PER_STD = 2.0

# The noise has a variance only for more than two degrees of freedom.
_MIN_DEGREES = 2.0
_INITIAL_DEGREES = 4.0
# The median absolute deviation of a standard normal variable.
_NORMAL_MAD = 0.6744897501960817
# Entries in a chunk of rows under all predictions.
_PAIRWISE_CHUNK_SIZE = 2**20


def expected_log_one_plus_square(d: Float[Tensor, "*s"], w: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """Return E log(1 + x^2) over x ~ N(d, w), in their shape, differentiable once with respect to both."""
    value, *gradients = _value_and_gradients(d.detach(), w.detach())
    return attach_gradients(value, gradients, (d, w))


def _value_and_gradients(d: Tensor, w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the expectation and its gradients with respect to d and w, computed in chunks."""
    nodes = _nodes(d.square(), w)
    pairs = zip(d.reshape(-1).split(_CHUNK_SIZE), w.reshape(-1).split(_CHUNK_SIZE), strict=True)
    chunks = [_evaluate_chunk(chunk_d, chunk_w, nodes) for chunk_d, chunk_w in pairs]
    value, grad_d, grad_w = (torch.cat(part).reshape(d.shape) for part in zip(*chunks, strict=True))
    return value, grad_d, grad_w


def _evaluate_chunk(d: Tensor, w: Tensor, nodes: list[float]) -> tuple[Tensor, Tensor, Tensor]:
    """Sum over the nodes in place. The reference exp(-a t) contributes 1 / (1 + a) to both gradients."""
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
    """Return the nodes t, over the range in which the integrands differ from zero."""
    # Var x^2 = 2 w (w + 2 d^2) determines the range for the value; the added 1/2 that for the gradient with respect to
    # w, which does not vanish with w
    spread = float((2 * (w + 0.5) * (w + 2 * squares)).max().clamp(1.0, 1e30)) if w.numel() else 1.0
    # in whole steps, so that the nodes stay fixed under small changes of an entry
    n_below = math.ceil((0.5 * math.log(spread) - math.log(_MIN_T)) / _STEP)
    return [math.exp(_STEP * i) for i in range(-n_below, math.ceil(_MAX_LOG_T / _STEP) + 1)]


def log_student_t_plus_normal(
    delta: Float[Tensor, "*s"], variance: Float[Tensor, "*s"], squared_scale: Scalar, nu: Scalar
) -> Float[Tensor, "*s"]:
    """Return the log density of s t + N(0, variance) at delta, differentiable with respect to delta and variance.

    Args:
        delta: where the density is evaluated.
        variance: the variance of the normal variable, zero or positive.
        squared_scale: s^2.
        nu: the degrees of freedom of t.

    Returns:
        The log densities, in the shape of delta.
    """
    half = 0.5 * nu
    constant = half * half.log() - torch.lgamma(half) - 0.5 * math.log(2 * math.pi)
    squares, total = delta.square(), torch.full_like(delta, -torch.inf)
    low, high = _range(squares.detach(), variance.detach(), squared_scale.item(), nu.item())
    step = min(_MAX_STEP, math.sqrt(2 / nu.item()) / _STEPS_PER_STD)
    for i in range(math.floor(low / step), math.ceil(high / step) + 1):
        x = step * i
        V = variance + squared_scale * math.exp(-x)
        total = torch.logaddexp(total, half * (x - math.exp(x)) - 0.5 * (V.log() + squares / V))
    return total + constant + math.log(step)


def _range(squares: Tensor, variance: Tensor, squared_scale: float, nu: float) -> tuple[float, float]:
    """Return the range of x outside of which exp(H) is negligible for all entries."""
    # y - 1 + exp(-y) > k at y = k + sqrt(2 k), and y - log(1 + y) > k too
    largest = float(squares.max()) if squares.numel() else 0.0
    mahalanobis = float((squares / (variance + squared_scale)).max()) if squares.numel() else 0.0
    # H increases below the x where s^2 exp(-x) = delta^2 ...
    from_scale = -math.log(max(1.0, largest / squared_scale)) - _decay_distance(2 * _LOG_ACCURACY / nu)
    # ... and the normal density at delta gains at most its exponent at x = 0
    from_density = -_decay_distance((2 * _LOG_ACCURACY + mahalanobis) / nu)
    return max(from_scale, from_density), math.log1p(_decay_distance(2 * _LOG_ACCURACY / nu))


def _decay_distance(k: float) -> float:
    """Return a distance y at which both y - 1 + exp(-y) and y - log(1 + y) exceed k."""
    return k + math.sqrt(2 * k)


class StudentT(AbstractLikelihood):
    """The Student t likelihood: (y - f) / s has a t distribution; s and nu are shared by the whole view.

    Args:
        scale: the initial value of s.
        degrees_of_freedom: the initial value of nu, above 2.
    """

    name: ClassVar[str] = "student-t"
    support: ClassVar[Support] = Support.REAL
    real_valued: ClassVar[bool] = True

    def __init__(self, scale: float, degrees_of_freedom: float = _INITIAL_DEGREES) -> None:
        super().__init__()
        raw = [raw_positive(scale**2), raw_positive(degrees_of_freedom - _MIN_DEGREES)]
        self.raw_squared_scale, self.raw_degrees = (nn.Parameter(torch.tensor(x, dtype=torch.float64)) for x in raw)

    @classmethod
    def start(cls, Y: Float[Tensor, "N M"]) -> "StudentT":
        """Return the likelihood with the initial noise of Gaussian views, from a robust estimate of the variance."""
        deviation = (Y - Y.nanmedian(dim=0).values).abs().nanmedian(dim=0).values / _NORMAL_MAD
        variance = deviation.nan_to_num(nan=0.0).square().mean().item()
        scale = math.sqrt(defaults.INITIAL_NOISE_VARIANCE * (variance if variance > 0 else 1.0))
        return cls(scale).to(Y.dtype).to(Y.device)

    def offset(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, " M"]:
        """Return the median of each column."""
        return Y.nanmedian(dim=0).values.nan_to_num(nan=0.0)

    def respond(
        self, mean: Float[Tensor, "N M"], variance: Float[Tensor, "N M"], *, include_noise: bool = True
    ) -> Response:
        """Return mean and variance of y or, without noise, of f, each N x M."""
        c, nu = self._width_and_degrees(mean)
        return Response(mean, variance + c / (nu - 2) if include_noise else variance)

    def sample(self, f: Float[Tensor, "N M"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Sample real entries, N x M: normal variables divided by the square root of gamma variables."""
        c, nu = self._width_and_degrees(f)
        # the public gamma sampler of torch does not accept a generator
        gamma = torch._standard_gamma((0.5 * nu).expand_as(f), generator=generator)  # pyright: ignore[reportPrivateImportUsage]
        noise = torch.randn(f.shape, generator=generator, dtype=f.dtype, device=f.device)
        return f + noise * (0.5 * c / gamma).sqrt()

    def describe(self) -> dict[str, Tensor]:
        """Return the scale s and the degrees of freedom nu."""
        degrees = _MIN_DEGREES + positive(self.raw_degrees)
        return {"scale": positive(self.raw_squared_scale).sqrt().detach(), "degrees_of_freedom": degrees.detach()}

    def _width_and_degrees(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Return nu s^2 and nu."""
        nu = _MIN_DEGREES + positive(self.raw_degrees).to(like)
        return nu * positive(self.raw_squared_scale).to(like), nu

    def _log_density(self, Y: Tensor, f: Tensor) -> Tensor:
        c, nu = self._width_and_degrees(f)
        return _log_density_at_mode(c, nu) - 0.5 * (nu + 1) * ((Y - f).square() / c).log1p()

    def _expected(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        c, nu = self._width_and_degrees(mean)
        # one expression: its order determines the order in which autograd sums the gradients of c and nu
        return _log_density_at_mode(c, nu) - 0.5 * (nu + 1) * expected_log_one_plus_square(
            (Y - mean) / c.sqrt(), variance / c
        )

    def _pairwise(self, Y: Tensor, observed: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        n_rows = max(1, _PAIRWISE_CHUNK_SIZE // max(1, mean.numel()))
        chunks = [
            (self._expected(y[:, None], mean, variance.expand(len(y), -1, -1)) * mask[:, None]).sum(dim=2)
            for y, mask in zip(Y.split(n_rows), observed.split(n_rows), strict=True)
        ]
        return torch.cat(chunks)

    def _log_predictive(self, Y: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        c, nu = (parameter.detach() for parameter in self._width_and_degrees(mean))
        return log_student_t_plus_normal(Y - mean, variance, c / nu, nu)


def _log_density_at_mode(c: Tensor, nu: Tensor) -> Tensor:
    """Return the log density at y = f."""
    return torch.lgamma(0.5 * (nu + 1)) - torch.lgamma(0.5 * nu) - 0.5 * (math.pi * c).log()
