r"""Laplace approximations of the posterior of new rows' latents, around one or several modes.

The log posterior of a row, with all model parameters fixed, is

$$ \log p(x \mid y) = \mathrm{const} + t \sum_v \log p(y_v \mid x) - \tfrac12 |x|^2 . $$

It is maximised by damped Gauss-Newton steps (Levenberg-Marquardt), independently for every row. The exponent t tempers
the likelihood: the residuals of a row are correlated (errors of neighbouring pixels, for example), so that M entries
carry less information than M independent ones.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mvlvm.inference.view_function import ViewFunction, row_log_likelihood
from mvlvm.models.weight_posterior import Prediction

# Levenberg-Marquardt damping relative to the diagonal of the negative Hessian: its initial value and its changes after
# good and bad steps. Steps are judged by the ratio of actual to predicted gain, not by the sign of the gain: a step
# that overshoots the mode may gain a little, and so would the next one in the opposite direction.
_INITIAL_DAMPING = 1e-2
_GOOD_GAIN_RATIO, _BAD_GAIN_RATIO = 0.75, 0.25
_FACTOR_AFTER_GOOD, _FACTOR_AFTER_BAD = 1 / 3, 4.0
_DAMPING_RANGE = (1e-6, 1e6)
# A few steps from all initial latents with a single spectral draw; the best continue with all draws. On MNIST, 96 rows
# of 100 are then within a tenth of their standard deviation of the result of forty steps.
_N_FIRST_STEPS, _N_FURTHER_STEPS = 3, 10
# Modes move little between two tempering levels.
_N_TRACKING_STEPS = 1
_N_MODES = 2
# Two modes are identical if they differ by less than this number of standard deviations in every dimension.
_SAME_MODE = 0.5

# Posterior variances do not exceed that of the prior, one, but for rounding.
_MAX_VARIANCE = 1 + 1e-6

# The function of a view, and its rows; NaN marks missing entries.
ObservedRows = tuple[ViewFunction, Float[Tensor, "_ _"]]


class LaplaceApproximation(NamedTuple):
    """A Gaussian approximation of the posterior of every row's latent.

    Attributes:
        mean: the mode.
        std: marginal standard deviations from the inverse negative Hessian; correlations are dropped.
        log_evidence: the log of the integral of likelihood times prior around the mode.
    """

    mean: Float[Tensor, "N D"]
    std: Float[Tensor, "N D"]
    log_evidence: Float[Tensor, " N"]


class LogDensity(NamedTuple):
    """A log density at the latent of every row, with its gradient and its negative (Gauss-Newton) Hessian."""

    value: Float[Tensor, " N"]
    gradient: Float[Tensor, "N D"]
    neg_hessian: Float[Tensor, "N D D"]


class Iterate(NamedTuple):
    """Latents, and the untempered log likelihood there, which serves every tempering level."""

    X: Float[Tensor, "N D"]
    log_likelihood: LogDensity


class Modes(NamedTuple):
    """Laplace approximations around several modes of every row's posterior, in the order of decreasing evidence.

    Attributes:
        mean: the modes.
        std: standard deviations.
        log_evidence: the log evidence of each; minus infinity for duplicates of better modes.
    """

    mean: Float[Tensor, "N K D"]
    std: Float[Tensor, "N K D"]
    log_evidence: Float[Tensor, "N K"]


def find_modes(
    observed: Sequence[ObservedRows],
    initial: Float[Tensor, "N S D"],
    *,
    tempering: float,
    n_steps: int = _N_FURTHER_STEPS,
) -> Modes:
    """Find modes of every row's posterior from several initial latents; (N, K, D) with K <= 2.

    Args:
        observed: the observed views.
        initial: the initial latents.
        tempering: the exponent t of the likelihood, from 0 to 1.
        n_steps: the number of Gauss-Newton steps of the best candidates.
    """
    single_draw = [(function.first_draw(), Y) for function, Y in observed]
    candidates = _sorted_unique(_approximate_all(single_draw, initial, tempering, _N_FIRST_STEPS))
    best = candidates.log_evidence.topk(min(_N_MODES, initial.shape[1]), dim=1).indices
    return _sorted_unique(_approximate_all(observed, _take_per_row(candidates.mean, best), tempering, n_steps))


def track_modes(observed: Sequence[ObservedRows], modes: Modes, levels: Sequence[float]) -> Iterator[Modes]:
    """Track modes through a sequence of tempering levels, and yield the modes at each.

    Args:
        observed: the observed views.
        modes: the modes at the first level.
        levels: tempering levels, each close to the previous one; at zero, all modes are that of the prior.
    """
    repeated = _repeat_rows(observed, modes.mean.shape[1])
    iterate = evaluate_likelihood(repeated, modes.mean.flatten(0, 1))
    for level, previous in zip(levels, (levels[0], *levels), strict=False):
        if level == 0:
            iterate = iterate._replace(X=torch.zeros_like(iterate.X))
        elif level != previous:  # the likelihood evaluated at the previous level is reused
            iterate = gauss_newton(repeated, iterate, tempering=level, n_steps=_N_TRACKING_STEPS)
        yield _sorted_unique(_as_modes(laplace_at(iterate, tempering=level), modes.mean.shape))


def laplace_approximation(
    observed: Sequence[ObservedRows], initial: Float[Tensor, "N D"], *, tempering: float, n_steps: int
) -> LaplaceApproximation:
    """Return the Laplace approximation around the mode nearest to initial latents, (N, D).

    Args:
        observed: the observed views.
        initial: the initial latents, in the dtype of the functions' features.
        tempering: the exponent t of the likelihood, from 0 to 1.
        n_steps: the number of Gauss-Newton steps.
    """
    start = evaluate_likelihood(observed, initial)
    return laplace_at(gauss_newton(observed, start, tempering=tempering, n_steps=n_steps), tempering=tempering)


def gauss_newton(observed: Sequence[ObservedRows], start: Iterate, *, tempering: float, n_steps: int) -> Iterate:
    """Return the latents after some damped Gauss-Newton steps; each evaluates all views once."""
    X, log_likelihood = start
    current = _log_posterior(X, log_likelihood, tempering)
    damping = torch.full_like(current.value, _INITIAL_DAMPING)
    for _ in range(n_steps):
        diagonal = current.neg_hessian.diagonal(dim1=1, dim2=2) * damping[:, None]
        step = _solve(current.neg_hessian + torch.diag_embed(diagonal), current.gradient)
        proposal = evaluate_likelihood(observed, X + step)
        proposed = _log_posterior(*proposal, tempering)
        better = proposed.value > current.value
        predicted_gain = (0.5 * step * (current.gradient + diagonal * step)).sum(dim=1)
        gain_ratio = (proposed.value - current.value) / predicted_gain
        X = torch.where(better[:, None], proposal.X, X)
        log_likelihood = _where(better, proposal.log_likelihood, log_likelihood)
        current = _where(better, proposed, current)
        factor_if_fair = torch.where(gain_ratio > _BAD_GAIN_RATIO, 1.0, _FACTOR_AFTER_BAD)
        factor = torch.where(gain_ratio > _GOOD_GAIN_RATIO, _FACTOR_AFTER_GOOD, factor_if_fair)
        damping = (damping * factor).clamp(*_DAMPING_RANGE)
    return Iterate(X, log_likelihood)


def laplace_at(iterate: Iterate, *, tempering: float) -> LaplaceApproximation:
    """Return the Laplace approximation at given latents, which are taken to be modes."""
    log_posterior = _log_posterior(*iterate, tempering)
    covariance = _inverse(log_posterior.neg_hessian)
    log_volume = 0.5 * torch.linalg.slogdet(covariance).logabsdet
    std = covariance.diagonal(dim1=1, dim2=2).sqrt()
    return LaplaceApproximation(iterate.X, std, log_posterior.value + log_volume)


def evaluate_likelihood(observed: Sequence[ObservedRows], X: Float[Tensor, "N D"]) -> Iterate:
    """Evaluate the log likelihood of rows at latents, with its derivatives."""
    N, D = X.shape
    total = LogDensity(X.new_zeros(N), X.new_zeros((N, D)), X.new_zeros((N, D, D)))
    for function, Y in observed:
        rows = (~torch.isnan(Y).all(dim=1)).nonzero().squeeze(1)  # rows without this view are skipped
        part = _view_log_likelihood(function, Y[rows], X[rows])
        for values, addition in zip(total, part, strict=True):
            values.index_add_(0, rows, addition)
    return Iterate(X, total)


def _log_posterior(X: Float[Tensor, "N D"], log_likelihood: LogDensity, tempering: float) -> LogDensity:
    """Return the tempered log likelihood plus the log prior, without its constant."""
    value, gradient, neg_hessian = (tempering * part for part in log_likelihood)
    return LogDensity(value - 0.5 * X.square().sum(dim=1), gradient - X, neg_hessian + torch.eye(X.shape[1]).to(X))


def _solve(A: Float[Tensor, "N D D"], b: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
    """Solve the systems of all rows; those that are singular to rounding by their eigenvectors."""
    x, failed = torch.linalg.solve_ex(A, b)
    bad = (failed != 0) | ~torch.isfinite(x).all(dim=1)
    if bad.any():
        x[bad] = (_inverse_by_eigenvectors(A[bad]) @ b[bad, :, None]).squeeze(2)
    return x


def _inverse(A: Float[Tensor, "N D D"]) -> Float[Tensor, "N D D"]:
    """Invert the negative Hessians of all rows.

    They are the identity, from the prior, plus a positive semidefinite matrix. Where that matrix is so large that the
    identity is lost to rounding, eigenvalues are clamped at one.
    """
    inverse, failed = torch.linalg.inv_ex(A)
    variance = inverse.diagonal(dim1=1, dim2=2)
    bad = (failed != 0) | ~((variance > 0) & (variance <= _MAX_VARIANCE)).all(dim=1)
    if bad.any():
        inverse[bad] = _inverse_by_eigenvectors(A[bad])
    return inverse


def _inverse_by_eigenvectors(A: Float[Tensor, "N D D"]) -> Float[Tensor, "N D D"]:
    eigenvalues, vectors = torch.linalg.eigh(A)
    return (vectors / eigenvalues.clamp_min(1)[:, None]) @ vectors.transpose(1, 2)


def _view_log_likelihood(function: ViewFunction, Y: Float[Tensor, "N M"], X: Float[Tensor, "N D"]) -> LogDensity:
    """Return the log likelihood of one view; its Gauss-Newton Hessian J' H J is positive semidefinite."""
    mean, variance, jacobian, variance_jacobian = function.linearise(X)
    row = row_log_likelihood(function.likelihood, Y, Prediction(mean, variance))
    J, J_variance = jacobian.transpose(0, 1), variance_jacobian.transpose(0, 1)
    gradient = (J @ row.grad_mean[:, :, None] + J_variance @ row.grad_variance[:, :, None]).squeeze(2)
    neg_hessian = (J * row.neg_hessian[:, None]) @ J.transpose(1, 2)
    return LogDensity(row.value, gradient, neg_hessian)


def _where(condition: Bool[Tensor, " N"], new: LogDensity, old: LogDensity) -> LogDensity:
    """Select rows of `new` where the condition holds, and of `old` elsewhere."""
    pairs = zip(new, old, strict=True)
    return LogDensity(*(torch.where(condition.reshape(-1, *[1] * (n.ndim - 1)), n, o) for n, o in pairs))


def _approximate_all(
    observed: Sequence[ObservedRows], initial: Float[Tensor, "N S D"], tempering: float, n_steps: int
) -> Modes:
    """Return Laplace approximations from all initial latents, as many modes per row."""
    repeated, flat = _repeat_rows(observed, initial.shape[1]), initial.flatten(0, 1)
    return _as_modes(laplace_approximation(repeated, flat, tempering=tempering, n_steps=n_steps), initial.shape)


def _repeat_rows(observed: Sequence[ObservedRows], times: int) -> list[ObservedRows]:
    return [(function, Y.repeat_interleave(times, dim=0)) for function, Y in observed]


def _as_modes(flat: LaplaceApproximation, shape: torch.Size) -> Modes:
    return Modes(flat.mean.reshape(shape), flat.std.reshape(shape), flat.log_evidence.reshape(shape[:2]))


def _sorted_unique(modes: Modes) -> Modes:
    """Sort modes by decreasing evidence, and set the evidence of duplicates to zero."""
    order = modes.log_evidence.argsort(dim=1, descending=True)
    modes = Modes(*(_take_per_row(values, order) for values in modes))
    for k in range(1, modes.mean.shape[1]):
        distance = (modes.mean[:, k, None] - modes.mean[:, :k]).abs() / modes.std[:, :k]
        is_duplicate = (distance < _SAME_MODE).all(dim=2).any(dim=1)
        modes.log_evidence[:, k].masked_fill_(is_duplicate, -torch.inf)
    return modes


def _take_per_row(values: Float[Tensor, "N S *D"], which: Int[Tensor, "N K"]) -> Float[Tensor, "N K *D"]:
    """Return some of each row's values, (N, K, ...)."""
    return values[torch.arange(len(values), device=values.device)[:, None], which]
