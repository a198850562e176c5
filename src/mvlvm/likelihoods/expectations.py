r"""Expectations over a normal function value f ~ N(m, v).

**Log predictive density.** $\log \int p(y | f)\, N(f; m, v)\, df$ for a log-concave p. With $f = m + s z$, $s^2 = v$,
the integrand is $e^{h(z)} / \sqrt{2 \pi}$ with $h(z) = \log p(y | m + s z) - z^2 / 2$. It has a single mode, and near
the mode it is nearly normal with variance $-1 / h''$. The trapezoidal rule over twelve of these standard deviations on
either side converges faster than any power of its step size, because the integrand is analytic.

**Expected softplus.** $E \log(1 + e^f)$ in closed form. The logistic function is approximated by a mixture of normal
distribution functions (Monahan & Stefanski, 1989),

$$ \sigma(x) \approx \sum_k p_k \Phi(x / c_k), \qquad \sum_k p_k = 1, $$

and so, with $q_k^2 = c_k^2 + v$ and $z_k = m / q_k$,

$$ E \sigma(f) = \sum_k p_k \Phi(z_k), \qquad
   E \mathrm{softplus}(f) = \sum_k p_k \big( m \Phi(z_k) + q_k \varphi(z_k) \big), \qquad
   E \sigma'(f) = \sum_k p_k \varphi(z_k) / q_k. $$

The nine pairs (p_k, c_k^2) below minimise the largest error of softplus. It is 2.0e-10, and averaging over f cannot
increase it. They were found by least squares on a fine grid of x in [0, 50] (softplus(x) - x / 2 and its approximation
are even), solving for the weights p_k in every iteration and repeatedly increasing the weights of the grid points with
the largest errors. The best error found with eight pairs is 1.1e-9, with six 5.6e-8. The errors of sigma and sigma' are
1.3e-9 and 7.8e-9. All errors are absolute: far below zero softplus is small, and its relative error is large.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm.linalg.precomputed_grad import attach_gradients

# Trapezoidal rule: distance of the nodes in standard deviations, and number of nodes on either side of the mode.
_STEP = 0.4
_N_NODES_PER_SIDE = 30
# Search for the mode.
_MAX_ITER = 100
_TOLERANCE = 1e-6
# Added to the variance, because the gradient with respect to v passes through s = sqrt(v), which has none at zero. The
# result changes by less than 1e-8 where the derivative of log p is at most 1000.
_VARIANCE_OFFSET = 1e-14
# Mixture weights p_k and squared scales c_k^2.
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
# Entries evaluated at a time, so that the arrays fit into the processor's cache.
_CHUNK_SIZE = 2**15

LogDensity = Callable[[Tensor], Tensor]
Derivatives = Callable[[Tensor], tuple[Tensor, Tensor]]


def log_integral(
    log_density: LogDensity,
    derivatives: Derivatives,
    *,
    mean: Float[Tensor, "N M"],
    variance: Float[Tensor, "N M"],
) -> Float[Tensor, "N M"]:
    """Return the log predictive density of each entry, N x M, differentiable with respect to mean and variance.

    Args:
        log_density: maps f to log p(y | f), a concave function.
        derivatives: maps f to the first and second derivative of log p(y | f) with respect to f.
        mean: m.
        variance: v, zero or positive.
    """
    std = (variance + _VARIANCE_OFFSET).sqrt()
    with torch.no_grad():
        mode = _mode(derivatives, mean, std)
        width = (1 - variance * derivatives(mean + std * mode)[1]).rsqrt()
    # The integral does not depend on the position of the nodes, so the gradient with respect to them is zero.
    peak = log_density(mean + std * mode) - 0.5 * mode.square()
    total = torch.zeros_like(peak)
    for i in range(-_N_NODES_PER_SIDE, _N_NODES_PER_SIDE + 1):
        z = mode + width * (_STEP * i)
        total = total + (log_density(mean + std * z) - 0.5 * z.square() - peak).exp()
    return peak + (total * width).log() + math.log(_STEP / math.sqrt(2 * math.pi))


def _mode(derivatives: Derivatives, mean: Tensor, std: Tensor) -> Tensor:
    """Return the maximum z of h, by Newton's method safeguarded by bisection.

    Where log p is nearly exponential, Newton steps converge but are short, and they may leave the bracket.
    """
    # z = s l'(m + s z) with decreasing l', so the mode lies between 0 and s l'(m)
    edge = std * derivatives(mean)[0]
    low, high = edge.clamp(max=0.0), edge.clamp(min=0.0)
    z = torch.zeros_like(mean)
    for i in range(_MAX_ITER):
        first, second = derivatives(mean + std * z)
        h_prime = std * first - z
        low, high = torch.where(h_prime > 0, z, low), torch.where(h_prime > 0, high, z)
        step = h_prime / (1 - std.square() * second)
        converged = step.abs() <= _TOLERANCE
        if bool(converged.all()):
            break
        use_newton = (z + step >= low) & (z + step <= high) & (i % 3 != 2)
        z = torch.where(use_newton | converged, z + step, 0.5 * (low + high))
    return z


def expected_softplus(mean: Float[Tensor, "*s"], variance: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """Return E log(1 + e^f) over f ~ N(mean, variance), in their shape, differentiable once with respect to both."""
    value, *gradients = _softplus_and_gradients(mean.detach(), variance.detach())
    return attach_gradients(value, gradients, (mean, variance))


def logistic_moments(
    mean: Float[Tensor, "*s"], variance: Float[Tensor, "*s"]
) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"]]:
    """Return E sigma(f) and Var sigma(f) over f ~ N(mean, variance), each in their shape."""
    _, grad_mean, grad_variance = _softplus_and_gradients(mean.detach(), variance.detach())
    # sigma^2 = sigma - sigma'; at variance zero the difference vanishes up to the error of the mixture
    return grad_mean, (grad_mean - 2 * grad_variance - grad_mean.square()).clamp(min=0.0)


def _softplus_and_gradients(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return E softplus and its gradients with respect to mean and variance, E sigma and E sigma' / 2."""
    pairs = zip(mean.reshape(-1).split(_CHUNK_SIZE), variance.reshape(-1).split(_CHUNK_SIZE), strict=True)
    chunks = [_evaluate_chunk(chunk_mean, chunk_variance) for chunk_mean, chunk_variance in pairs]
    value, grad_mean, grad_variance = (torch.cat(part).reshape(mean.shape) for part in zip(*chunks, strict=True))
    return value, grad_mean, grad_variance


def _evaluate_chunk(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sum over the pairs in place, with few arrays: this is the innermost loop of training."""
    density, weighted_density, erf_sum = torch.zeros_like(mean), torch.zeros_like(mean), torch.zeros_like(mean)
    inverse, z, erf = torch.empty_like(mean), torch.empty_like(mean), torch.empty_like(mean)
    scaled_mean = mean * math.sqrt(0.5)
    for weight, square in _PAIRS:
        torch.add(variance, square, out=inverse).rsqrt_()  # 1 / q
        torch.mul(scaled_mean, inverse, out=z)  # z / sqrt 2
        erf_sum.add_(torch.erf(z, out=erf), alpha=weight)  # Phi(z) = (1 + erf(z / sqrt 2)) / 2
        z.square_().neg_().exp_().mul_(inverse)  # sqrt(2 pi) phi(z) / q
        density.add_(z, alpha=weight / math.sqrt(2 * math.pi))
        weighted_density.add_(z, alpha=weight * square / math.sqrt(2 * math.pi))
    grad_mean = erf_sum.mul_(0.5).add_(0.5)
    # sum of p q phi(z) = sum of p (c^2 + v) phi(z) / q
    value = weighted_density.addcmul_(density, variance).addcmul_(mean, grad_mean)
    return value, grad_mean, density.mul_(0.5)
