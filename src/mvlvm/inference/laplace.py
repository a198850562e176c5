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

from mvlvm.inference.row_likelihood import LogDensity, ObservedRows, RowLikelihood

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
# Modes need not have converged at the first tempering level, because they move little between two of them.
_N_STEPS_BEFORE_TRACKING, _N_TRACKING_STEPS = 5, 1
_N_MODES = 2
# Two modes are identical if they differ by less than this number of standard deviations in every dimension.
_SAME_MODE = 0.5

# Posterior variances do not exceed that of the prior, one, but for rounding.
_MAX_VARIANCE = 1 + 1e-6


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


class Iterate(NamedTuple):
    """Latents, and the untempered log likelihood there, which serves every tempering level.

    Attributes:
        X: the latents.
        rows: the row that each latent belongs to.
        log_likelihood: the log likelihood of these rows at the latents.
    """

    X: Float[Tensor, "L D"]
    rows: Int[Tensor, " L"]
    log_likelihood: LogDensity

    def select(self, chosen: Int[Tensor, " l"]) -> "Iterate":
        """Return some of the latents."""
        return Iterate(self.X[chosen], self.rows[chosen], LogDensity(*(part[chosen] for part in self.log_likelihood)))


class Candidates(NamedTuple):
    """Several latents of every row, which may coincide.

    Attributes:
        iterate: all different latents.
        which: the latents of every row among them.
    """

    iterate: Iterate
    which: Int[Tensor, "N K"]

    def replace(self, iterate: Iterate) -> "Candidates":
        """Return the same candidates after they have moved."""
        return Candidates(iterate, self.which)


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


def find_modes(observed: Sequence[ObservedRows], initial: Float[Tensor, "N S D"], *, tempering: float) -> Modes:
    """Find modes of every row's posterior from several initial latents; (N, K, D) with K <= 2.

    Args:
        observed: the observed views.
        initial: the initial latents, in the dtype of the functions' features.
        tempering: the exponent t of the likelihood, from 0 to 1.
    """
    likelihood = RowLikelihood([(function.first_draw(), Y) for function, Y in observed])
    best = _search(likelihood, initial, tempering)
    if any(len(function.posteriors) > 1 for function, _ in observed):
        likelihood = RowLikelihood(observed)
        best = best.replace(_evaluate(likelihood, best.iterate.X, best.iterate.rows))
    refined = gauss_newton(likelihood, best.iterate, tempering=tempering, n_steps=_N_FURTHER_STEPS)
    return _sorted_modes(best.replace(refined), tempering)[0]


def track_modes(
    observed: Sequence[ObservedRows], initial: Float[Tensor, "N S D"], *, levels: Sequence[float]
) -> Iterator[Modes]:
    """Find modes at the first of several tempering levels, track them through all others, and yield those of each.

    This is for the comparison of levels: duplicates are not tracked, and Jacobians are computed in float32.

    Args:
        observed: the observed views, each with one posterior of the weights.
        initial: the initial latents, in the dtype of the functions' features.
        levels: tempering levels, each close to the previous one; at zero, all modes are that of the prior.
    """
    likelihood = RowLikelihood(observed, torch.float32)
    best = _search(likelihood, initial, levels[0])
    found = gauss_newton(likelihood, best.iterate, tempering=levels[0], n_steps=_N_STEPS_BEFORE_TRACKING)
    modes, which = _sorted_modes(best.replace(found), levels[0])
    tracked = _distinct(Candidates(found, which), modes.log_evidence)
    for level, previous in zip(levels, (levels[0], *levels), strict=False):
        if level == 0:
            tracked = tracked.replace(tracked.iterate._replace(X=torch.zeros_like(tracked.iterate.X)))
        elif level != previous:  # the likelihood evaluated at the previous level is reused
            moved = gauss_newton(likelihood, tracked.iterate, tempering=level, n_steps=_N_TRACKING_STEPS)
            tracked = tracked.replace(moved)
        yield _sorted_modes(tracked, level)[0]


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
    likelihood = RowLikelihood(observed)
    start = _evaluate(likelihood, initial, torch.arange(len(initial), device=initial.device))
    return laplace_at(gauss_newton(likelihood, start, tempering=tempering, n_steps=n_steps), tempering=tempering)


def gauss_newton(likelihood: RowLikelihood, start: Iterate, *, tempering: float, n_steps: int) -> Iterate:
    """Return the latents after some damped Gauss-Newton steps; each evaluates all views once."""
    iterate, current = start, _log_posterior(start, tempering)
    damping = torch.full_like(current.value, _INITIAL_DAMPING)
    for _ in range(n_steps):
        diagonal = current.neg_hessian.diagonal(dim1=1, dim2=2) * damping[:, None]
        step = _solve(current.neg_hessian + torch.diag_embed(diagonal), current.gradient)
        proposal = _evaluate(likelihood, iterate.X + step, iterate.rows)
        proposed = _log_posterior(proposal, tempering)
        better = proposed.value > current.value
        predicted_gain = (0.5 * step * (current.gradient + diagonal * step)).sum(dim=1)
        gain_ratio = (proposed.value - current.value) / predicted_gain
        iterate = _where(better, proposal, iterate)
        current = _log_posterior(iterate, tempering)
        factor_if_fair = torch.where(gain_ratio > _BAD_GAIN_RATIO, 1.0, _FACTOR_AFTER_BAD)
        factor = torch.where(gain_ratio > _GOOD_GAIN_RATIO, _FACTOR_AFTER_GOOD, factor_if_fair)
        damping = (damping * factor).clamp(*_DAMPING_RANGE)
    return iterate


def laplace_at(iterate: Iterate, *, tempering: float) -> LaplaceApproximation:
    """Return the Laplace approximation at given latents, which are taken to be modes."""
    log_posterior = _log_posterior(iterate, tempering)
    covariance = _inverse(log_posterior.neg_hessian)
    log_volume = 0.5 * torch.linalg.slogdet(covariance).logabsdet
    std = covariance.diagonal(dim1=1, dim2=2).sqrt()
    return LaplaceApproximation(iterate.X, std, log_posterior.value + log_volume)


def _search(likelihood: RowLikelihood, initial: Float[Tensor, "N S D"], tempering: float) -> Candidates:
    """Return the best candidates for the modes of every row, a few steps from the initial latents."""
    N, S, D = initial.shape
    which = torch.arange(N * S, device=initial.device).reshape(N, S)
    start = _evaluate(likelihood, initial.reshape(N * S, D), (which // S).flatten())
    moved = gauss_newton(likelihood, start, tempering=tempering, n_steps=_N_FIRST_STEPS)
    modes, which = _sorted_modes(Candidates(moved, which), tempering)
    best = which.gather(1, modes.log_evidence.topk(min(_N_MODES, S), dim=1).indices)
    return Candidates(moved.select(best.flatten()), torch.arange(best.numel(), device=best.device).reshape(best.shape))


def _evaluate(likelihood: RowLikelihood, X: Float[Tensor, "L D"], rows: Int[Tensor, " L"]) -> Iterate:
    return Iterate(X, rows, likelihood(X, rows))


def _log_posterior(iterate: Iterate, tempering: float) -> LogDensity:
    """Return the tempered log likelihood plus the log prior, without its constant."""
    X, (value, gradient, neg_hessian) = iterate.X, (tempering * part for part in iterate.log_likelihood)
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


def _where(condition: Bool[Tensor, " L"], new: Iterate, old: Iterate) -> Iterate:
    """Select the latents of `new` where the condition holds, and of `old` elsewhere."""
    accepted = condition.nonzero().squeeze(1)
    pairs = zip((old.X, *old.log_likelihood), (new.X, *new.log_likelihood), strict=True)
    X, *log_likelihood = (before.index_copy(0, accepted, after[accepted]) for before, after in pairs)
    return Iterate(X, old.rows, LogDensity(*log_likelihood))


def _sorted_modes(candidates: Candidates, tempering: float) -> tuple[Modes, Int[Tensor, "N K"]]:
    """Return modes in the order of decreasing evidence, zero for duplicates, and which candidates they are."""
    approximation, which = laplace_at(candidates.iterate, tempering=tempering), candidates.which
    which = which.gather(1, approximation.log_evidence[which].argsort(dim=1, descending=True))
    modes = Modes(*(values[which] for values in approximation))
    for k in range(1, modes.mean.shape[1]):
        distance = (modes.mean[:, k, None] - modes.mean[:, :k]).abs() / modes.std[:, :k]
        is_duplicate = (distance < _SAME_MODE).all(dim=2).any(dim=1)
        modes.log_evidence[:, k].masked_fill_(is_duplicate, -torch.inf)
    return modes, which


def _distinct(candidates: Candidates, log_evidence: Float[Tensor, "N K"]) -> Candidates:
    """Replace duplicates, whose evidence is zero, by the first candidate of the row."""
    kept = log_evidence > -torch.inf
    kept[:, 0] = True
    position = (kept.flatten().cumsum(dim=0) - 1).reshape(kept.shape)
    which = torch.where(kept, position, position[:, :1])
    return Candidates(candidates.iterate.select(candidates.which[kept]), which)
