r"""The expectation of log(1 + x^2) over a normal x ~ N(d, w), at any d and w.

$$ \log(1 + a) = \int_0^\infty (1 - e^{-a t})\, e^{-t}\, \frac{dt}{t}, \qquad
   \phi(t) = E e^{-t x^2} = \sqrt{k}\, e^{-t d^2 k}, \quad k = \frac{1}{1 + 2 t w}, $$

so the expectation is, with $a = E x^2 = d^2 + w$,

$$ E \log(1 + x^2) = \log(1 + a) + \int_0^\infty (e^{-a t} - \phi(t))\, e^{-t}\, \frac{dt}{t}. $$

In log t the integrand is analytic, and the trapezoid rule has an error of about exp(-pi^2 / step).
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.known_slopes import with_known_slopes

_STEP = 0.45
_HIGHEST = 3.1  # of log t: exp(-exp(3.1)) = 2e-10
_SMALL = 3e-4  # the lowest t, where x^2 is about 1: what is left out is about its square
# Entries at a time, so that the arrays of a portion stay in the processor's cache.
_PORTION = 2**15


def expected_log_one_plus_square(d: Float[Tensor, "*s"], w: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """Give E log(1 + x^2) over x ~ N(d, w), differentiable once by both."""
    value, *slopes = _evaluate(d.detach(), w.detach())
    return with_known_slopes(value, slopes, (d, w))


def _evaluate(d: Tensor, w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Give the value and its slopes by d and w."""
    nodes = _nodes(d.square(), w)
    pairs = zip(d.reshape(-1).split(_PORTION), w.reshape(-1).split(_PORTION), strict=True)
    parts = [_evaluate_portion(some_d, some_w, nodes) for some_d, some_w in pairs]
    value, by_d, by_w = (torch.cat(part).reshape(d.shape) for part in zip(*parts, strict=True))
    return value, by_d, by_w


def _evaluate_portion(d: Tensor, w: Tensor, nodes: list[float]) -> tuple[Tensor, Tensor, Tensor]:
    """Sum over the nodes in place. The reference exp(-a t) gives 1 / (1 + a) to both slopes."""
    squares = d.square()
    a = squares + w
    value, by_square, by_w = a.log1p(), 1 / (1 + a), 1 / (1 + a)
    k, phi, reference, exponent = (torch.empty_like(a) for _ in range(4))
    for t in nodes:
        torch.mul(w, 2 * t, out=k).add_(1).reciprocal_()
        torch.mul(a, -t, out=reference).sub_(t).exp_().mul_(_STEP)
        torch.mul(squares, k, out=exponent).mul_(-t)
        torch.sub(exponent, t, out=phi).exp_().mul_(_STEP)
        value.add_(reference).sub_(phi.mul_(torch.sqrt(k, out=k)))
        k.square_()
        by_square.addcmul_(phi, k, value=t).sub_(reference, alpha=t)
        exponent.mul_(2).add_(1).mul_(k)  # k - 2 t d^2 k^2
        by_w.addcmul_(phi, exponent, value=t).sub_(reference, alpha=t)
    return value, by_square.mul_(d).mul_(2), by_w


def _nodes(squares: Tensor, w: Tensor) -> list[float]:
    """Give t from where the integrands begin to where they end."""
    # Var x^2 = 2 w (w + 2 d^2) belongs to the value, and the half to its slope by w, which does not vanish with w
    spread = float((2 * (w + 0.5) * (w + 2 * squares)).max().clamp(1.0, 1e30)) if w.numel() else 1.0
    # in whole steps, that the nodes stay where they are when an entry moves
    n_below = math.ceil((0.5 * math.log(spread) - math.log(_SMALL)) / _STEP)
    return [math.exp(_STEP * i) for i in range(-n_below, math.ceil(_HIGHEST / _STEP) + 1)]
