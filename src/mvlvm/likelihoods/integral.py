r"""The logarithm of $\int p(y | f)\, N(f; m, v)\, df$ for a log-concave p, to many digits.

With $f = m + s z$, $s^2 = v$, the integrand is $e^{h(z)} / \sqrt{2 \pi}$, $h(z) = \log p(y | m + s z) - z^2 / 2$. It
has one mode, near which it is nearly normal with variance $-1 / h''$. The trapezoid rule over twelve of these standard
deviations on either side converges faster than any power of its step, because the integrand is analytic.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

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
