r"""The posterior of new rows' latents as a mixture, and posterior predictions.

A single Gaussian around one mode is overconfident: half a digit is often compatible with two different other halves.
And the prior N(0, I) ignores the distribution of the training latents. So the prior of a new row is half N(0, I) and
half the empirical distribution of training latents, and its posterior is a mixture of

* candidate latents: every candidate a, a training row with its Gaussian q(x_a), has a weight proportional to
  (1/A) p(y | a)^t, or to its sample weight in place of the one;
* modes of p(y | x)^t N(x; 0, I), found from the best candidates and from the origin, with weights proportional to their
  evidence. They dominate where no training row is near enough.

Predictions average over the mixture. All computations are float64: the choice of the best mode must not depend on
rounding.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mvlvm.inference.laplace import Modes, find_modes, laplace_approximation
from mvlvm.inference.row_likelihood import ObservedRows, pairwise_log_likelihood
from mvlvm.inference.view_function import ViewEntries, ViewFunction
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.weight_posterior import Prediction

# Of more training rows, a random subset is used as candidates, so that the cost of predictions is not quadratic in N.
MAX_CANDIDATES = 2000
# Modes are searched from the best candidates and from the origin.
_N_INITIAL_CANDIDATES = 4
N_INITIAL_LATENTS = _N_INITIAL_CANDIDATES + 1
# Gauss-Newton steps of the faster posterior, from the best candidate and with one spectral draw.
_N_FAST_STEPS = 4
_LOG_HALF = math.log(0.5)


@dataclass(frozen=True)
class CandidateLatents:
    """The latents of some training rows, candidates for the latents of new rows.

    Attributes:
        mean: posterior means.
        std: posterior standard deviations.
        draws: posterior draws.
        sample_weight: sample weights; None if all are one.
    """

    mean: Float[Tensor, "A D"]
    std: Float[Tensor, "A D"]
    draws: Sequence[Float[Tensor, "A D"]]
    sample_weight: Float[Tensor, " A"] | None = None

    @property
    def log_prior(self) -> Float[Tensor, " A"]:
        """Log prior probabilities of the candidates, proportional to their sample weights."""
        weight = self.mean.new_ones(len(self.mean)) if self.sample_weight is None else self.sample_weight.to(self.mean)
        return (weight / weight.sum()).log()

    def predict(self, view: ViewFunction | ViewEntries) -> Prediction:
        """Return the mean and variance of a view's function, or of its entries, at the candidates, each (A, M)."""
        return view.predict(self.mean, self.std, self.draws)


def candidate_latents(
    latent: GaussianLatent, rows: Int[Tensor, " A"], n_draws: int, generator: torch.Generator
) -> CandidateLatents:
    """Return the latents of some training rows, with draws."""
    mean, std = latent.mean[rows].double(), latent.std[rows].double()
    sample_weight = None if latent.sample_weight is None else latent.sample_weight[rows]
    draws = [mean + std * eps for eps in antithetic_normals((n_draws, *mean.shape), mean, generator)]
    return CandidateLatents(mean, std, draws, sample_weight)


def antithetic_normals(
    shape: tuple[int, ...], like: Float[Tensor, "..."], generator: torch.Generator
) -> Float[Tensor, "..."]:
    """Return standard normal draws in antithetic pairs, so that their mean is zero.

    They are drawn on the generator's device, so that a GPU can have the draws of a CPU.

    Args:
        shape: the shape; the first axis counts the draws, an even number.
        like: a tensor on the device of the result.
        generator: the source of the draws.
    """
    half = (shape[0] // 2, *shape[1:])
    eps = torch.randn(half, generator=generator, dtype=torch.float64, device=generator.device)
    return torch.cat([eps, -eps]).to(like.device)


@dataclass(frozen=True)
class MixturePosterior:
    """The posterior of rows' latents: a mixture of candidates and modes, with weights that sum to one in every row.

    Attributes:
        candidate_weight: the weights of the candidates.
        modes: Laplace approximations around the modes.
        mode_weight: the weights of the modes.
        log_evidence: the log of the integral of likelihood times prior.
    """

    candidate_weight: Float[Tensor, "N A"]
    modes: Modes
    mode_weight: Float[Tensor, "N K"]
    log_evidence: Float[Tensor, " N"]

    def select_rows(self, rows: Bool[Tensor, " N"] | slice) -> "MixturePosterior":
        """Return the posterior of some rows."""
        modes = Modes(*(values[rows] for values in self.modes))
        return MixturePosterior(self.candidate_weight[rows], modes, self.mode_weight[rows], self.log_evidence[rows])


def concatenate_posteriors(parts: Iterable[MixturePosterior]) -> MixturePosterior:
    """Concatenate the posteriors of several sets of rows."""
    columns = list(zip(*((p.candidate_weight, *p.modes, p.mode_weight, p.log_evidence) for p in parts), strict=True))
    candidate_weight, *modes, mode_weight, log_evidence = (torch.cat(column) for column in columns)
    return MixturePosterior(candidate_weight, Modes(*modes), mode_weight, log_evidence)


def mixture_posterior(
    observed: Sequence[ObservedRows],
    candidates: CandidateLatents,
    at_candidates: Sequence[Prediction],
    *,
    tempering: float,
) -> MixturePosterior:
    """Return the posterior of new rows' latents.

    Args:
        observed: the observed views, at least one; NaN marks missing entries.
        candidates: the candidate latents.
        at_candidates: the predictions of these views at the candidates.
        tempering: the exponent t of the likelihood, from 0 to 1.
    """
    log_likelihood = candidate_log_likelihood(observed, at_candidates)
    modes = find_modes(observed, initial_latents(log_likelihood, candidates), tempering=tempering)
    return mix(log_likelihood, modes, candidates.log_prior, tempering=tempering)


def fast_mixture_posterior(
    observed: Sequence[ObservedRows],
    candidates: CandidateLatents,
    at_candidates: Sequence[Prediction],
    *,
    tempering: float,
) -> MixturePosterior:
    """Return the posterior with one mode only, near the best candidate: less accurate, and 15 to 20 times as fast.

    Args:
        observed: the observed views, at least one; NaN marks missing entries.
        candidates: the candidate latents.
        at_candidates: the predictions of these views at the candidates.
        tempering: the exponent t of the likelihood, from 0 to 1.
    """
    log_likelihood = candidate_log_likelihood(observed, at_candidates)
    best = candidates.mean[log_likelihood.argmax(dim=1)]
    first_draws = [(function.first_draw(), Y) for function, Y in observed]
    mode = laplace_approximation(first_draws, best, tempering=tempering, n_steps=_N_FAST_STEPS)
    modes = Modes(*(values[:, None] for values in mode))
    return mix(log_likelihood, modes, candidates.log_prior, tempering=tempering)


def candidate_log_likelihood(
    observed: Sequence[ObservedRows], at_candidates: Sequence[Prediction]
) -> Float[Tensor, "N A"]:
    """Return the log likelihood of every row at every candidate, summed over views, (N, A)."""
    total = at_candidates[0].mean.new_zeros((len(observed[0][1]), len(at_candidates[0].mean)))
    for (function, Y), predicted in zip(observed, at_candidates, strict=True):
        rows = (~torch.isnan(Y).all(dim=1)).nonzero().squeeze(1)  # rows without this view are skipped
        total.index_add_(0, rows, pairwise_log_likelihood(function.likelihood, Y[rows], predicted))
    return total


def initial_latents(log_likelihood: Float[Tensor, "N A"], candidates: CandidateLatents) -> Float[Tensor, "N S D"]:
    """Return the candidates of highest likelihood of every row, and the prior mean, (N, S, D)."""
    n_best = min(_N_INITIAL_CANDIDATES, len(candidates.mean))
    best = candidates.mean[log_likelihood.topk(n_best, dim=1).indices]
    return torch.cat([best, torch.zeros_like(best[:, :1])], dim=1)


def mix(
    log_likelihood: Float[Tensor, "N A"], modes: Modes, log_prior: Float[Tensor, " A"], *, tempering: float
) -> MixturePosterior:
    """Return the mixture of candidates and modes with normalised weights."""
    n_candidates = log_likelihood.shape[1]
    of_candidates = tempering * log_likelihood + log_prior
    log_weight = torch.cat([of_candidates, modes.log_evidence], dim=1) + _LOG_HALF
    weight = torch.softmax(log_weight, dim=1)
    log_evidence = torch.logsumexp(log_weight, dim=1)
    return MixturePosterior(weight[:, :n_candidates], modes, weight[:, n_candidates:], log_evidence)


def posterior_predictive(
    posterior: MixturePosterior, view: ViewFunction | ViewEntries, at_candidates: Prediction, eps: Float[Tensor, "S D"]
) -> Prediction:
    """Return the mean and variance of a view's function, or of its entries, under the mixture, each (N, M).

    Args:
        posterior: the posterior of the rows' latents.
        view: the view's function or entries.
        at_candidates: their predictions at the candidates.
        eps: standard normal draws, the same for every row so that rows do not depend on each other.
    """
    mean = posterior.candidate_weight @ at_candidates.mean
    second = posterior.candidate_weight @ (at_candidates.mean.square() + at_candidates.variance)
    for k in range(posterior.mode_weight.shape[1]):
        rows = posterior.mode_weight[:, k].nonzero().squeeze(1)  # duplicates of better modes have no weight
        weight, center, std = (values[rows, k] for values in (posterior.mode_weight, *posterior.modes[:2]))
        at_mode = view.predict(center, std, [center + std * e for e in eps])
        mean.index_add_(0, rows, weight[:, None] * at_mode.mean)
        second.index_add_(0, rows, weight[:, None] * (at_mode.mean.square() + at_mode.variance))
    return Prediction(mean, (second - mean.square()).clamp_min(0))
