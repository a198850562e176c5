r"""The logarithm of $\int p(y | f)\, N(f; m, v)\, df$ for a log-concave p, to many digits.

With $f = m + s z$, $s^2 = v$, the integrand is $e^{h(z)} / \sqrt{2 \pi}$, $h(z) = \log p(y | m + s z) - z^2 / 2$. It
has one mode, near which it is nearly normal with variance $-1 / h''$. The trapezoid rule over twelve of these standard
deviations on either side converges faster than any power of its step, because the integrand is analytic.

The expectation of softplus(f) = log(1 + e^f) over a normal f, in closed form.

The logistic function is nearly a mixture of normal distribution functions (Monahan & Stefanski, 1989),

$$ \sigma(x) \approx \sum_k p_k \Phi(x / c_k), \qquad \sum_k p_k = 1, $$

and so, with $q_k^2 = c_k^2 + v$ and $z_k = m / q_k$, for f ~ N(m, v)

$$ E \sigma(f) = \sum_k p_k \Phi(z_k), \qquad
   E \mathrm{softplus}(f) = \sum_k p_k \big( m \Phi(z_k) + q_k \varphi(z_k) \big), \qquad
   E \sigma'(f) = \sum_k p_k \varphi(z_k) / q_k. $$

The nine pairs below make the largest error of softplus small. It is 2.0e-10, and averaging over f cannot make it
larger. They were found by least squares on a fine grid of x in [0, 50] (softplus(x) - x / 2 and its mixture are even),
the weights p_k solved for at every step and the points weighted more, again and again, where the error was largest.
With eight pairs the best found is 1.1e-9, with six 5.6e-8. The errors of sigma and sigma' are 1.3e-9 and
7.8e-9. All errors are absolute: far below zero softplus is small, and its relative error is not.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.precomputed_grad import attach_gradients

# Standard deviations between nodes, and how many nodes lie on either side.
_STEP = 0.4
_REACH = 30
_MOST_STEPS = 100
_TOLERANCE = 1e-6
# Added to the variance: at zero the slope by s = sqrt(v) would be lost. The result moves by less than 1e-8 where log p
# has slopes up to 1000.
_BREATH = 1e-14

LogDensity = Callable[[Tensor], Tensor]
Slopes = Callable[[Tensor], tuple[Tensor, Tensor]]


def log_integral(
    log_density: LogDensity,
    slopes: Slopes,
    *,
    mean: Float[Tensor, "N M"],
    variance: Float[Tensor, "N M"],
) -> Float[Tensor, "N M"]:
    """Give the log of the integral, entry by entry, differentiable by mean and variance.

    Args:
        log_density: gives log p(y | f) from f.
        slopes: gives its first two derivatives by f; the second is never positive.
        mean: m.
        variance: v, zero or positive.
    """
    std = (variance + _BREATH).sqrt()
    with torch.no_grad():
        centre = _mode(slopes, mean, std)
        width = (1 - variance * slopes(mean + std * centre)[1]).rsqrt()
    # The integral does not depend on where the nodes are, so its slopes by them are zero and left out.
    top = log_density(mean + std * centre) - 0.5 * centre.square()
    total = torch.zeros_like(top)
    for i in range(-_REACH, _REACH + 1):
        z = centre + width * (_STEP * i)
        total = total + (log_density(mean + std * z) - 0.5 * z.square() - top).exp()
    return top + (total * width).log() + math.log(_STEP / math.sqrt(2 * math.pi))


def _mode(slopes: Slopes, mean: Tensor, std: Tensor) -> Tensor:
    """Find the z where h is largest: Newton's steps, with bisections in between.

    Where log p is nearly an exponential Newton's steps are sure but short, and they may leave the bracket.
    """
    # z = s l'(m + s z) with l' falling, so the mode lies between 0 and s l'(m)
    edge = std * slopes(mean)[0]
    low, high = edge.clamp(max=0.0), edge.clamp(min=0.0)
    z = torch.zeros_like(mean)
    for i in range(_MOST_STEPS):
        first, second = slopes(mean + std * z)
        rise = std * first - z
        low, high = torch.where(rise > 0, z, low), torch.where(rise > 0, high, z)
        step = rise / (1 - std.square() * second)
        settled = step.abs() <= _TOLERANCE
        if bool(settled.all()):
            break
        inside = (z + step >= low) & (z + step <= high) & (i % 3 != 2)
        z = torch.where(inside | settled, z + step, 0.5 * (low + high))
    return z


# Weights p_k and squared widths c_k^2.
_PAIRS = (
    (0.000264139292, 21.212611606623),
    (0.008073892471, 13.230197174378),
    (0.056400347593, 8.420569502098),
    (0.168401135601, 5.348086683672),
    (0.280933407687, 3.376666330181),
    (0.283974439472, 2.127109917921),
    (0.160266014600, 1.340775515108),
    (0.039357248417, 0.842354524019),
    (0.002329374867, 0.516108537336),
)
# Entries at a time, so that the arrays of a portion stay in the processor's cache.
_PORTION = 2**15


def expected_softplus(mean: Float[Tensor, "*s"], variance: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """Give E log(1 + e^f) over f ~ N(mean, variance), differentiable once by both."""
    value, *slopes = _evaluate(mean.detach(), variance.detach())
    return attach_gradients(value, slopes, (mean, variance))


def logistic_moments(
    mean: Float[Tensor, "*s"], variance: Float[Tensor, "*s"]
) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"]]:
    """Give E sigma(f) and Var sigma(f) over f ~ N(mean, variance)."""
    _, grad_mean, grad_variance = _evaluate(mean.detach(), variance.detach())
    # sigma^2 = sigma - sigma'; at variance 0 the difference is zero up to the error of the mixture
    return grad_mean, (grad_mean - 2 * grad_variance - grad_mean.square()).clamp(min=0.0)


def _evaluate(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Give E softplus, E sigma and E sigma' / 2."""
    pairs = zip(mean.reshape(-1).split(_PORTION), variance.reshape(-1).split(_PORTION), strict=True)
    parts = [_evaluate_portion(some_mean, some_variance) for some_mean, some_variance in pairs]
    value, grad_mean, grad_variance = (torch.cat(part).reshape(mean.shape) for part in zip(*parts, strict=True))
    return value, grad_mean, grad_variance


def _evaluate_portion(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sum over the pairs in place, in few arrays: this is the innermost loop of training."""
    density, spread, signs = torch.zeros_like(mean), torch.zeros_like(mean), torch.zeros_like(mean)
    inverse, z, errors = torch.empty_like(mean), torch.empty_like(mean), torch.empty_like(mean)
    halved = mean * math.sqrt(0.5)
    for weight, square in _PAIRS:
        torch.add(variance, square, out=inverse).rsqrt_()  # 1 / q
        torch.mul(halved, inverse, out=z)  # z / sqrt 2
        signs.add_(torch.erf(z, out=errors), alpha=weight)  # Phi(z) = (1 + erf(z / sqrt 2)) / 2
        z.square_().neg_().exp_().mul_(inverse)  # sqrt(2 pi) phi(z) / q
        density.add_(z, alpha=weight / math.sqrt(2 * math.pi))
        spread.add_(z, alpha=weight * square / math.sqrt(2 * math.pi))
    grad_mean = signs.mul_(0.5).add_(0.5)
    # sum of p q phi(z) = sum of p (c^2 + v) phi(z) / q
    value = spread.addcmul_(density, variance).addcmul_(mean, grad_mean)
    return value, grad_mean, density.mul_(0.5)
