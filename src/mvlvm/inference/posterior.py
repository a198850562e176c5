r"""The posterior of new rows' latents, and what it predicts.

One normal around one mode is overconfident: half a digit often goes with two different other halves. And the prior
N(0, I) knows nothing of where training put its rows. So the prior of a new row is half N(0, I), half "as one of the
training rows", and its posterior is a mixture:

* every training place a, with its own normal q(x_a), weighs  (1/A) p(y | a)^t, where its row's weight takes the place
  of the one;
* every mode of p(y | x)^t N(x; 0, I), found by climbing from the best training places and from the origin, weighs its
  evidence. These take over where no training row is near enough.

Predictions average over all of it. All of it is float64: which mode is the best must not hang on rounding.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mvlvm.inference.laplace import Modes, ObservedRows, find_modes
from mvlvm.inference.row_likelihood import pairwise_log_likelihood
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.weight_posterior import Prediction, ViewEntries, ViewFunction

# Of more training rows than these, a random choice stands for all: predictions are not to cost N^2.
MAX_CANDIDATES = 2000
# Climbs start at this many training places and at the origin.
_N_INITIAL_CANDIDATES = 4
N_INITIAL_LATENTS = _N_INITIAL_CANDIDATES + 1
_LOG_HALF = math.log(0.5)


@dataclass(frozen=True)
class CandidateLatents:
    """Some of the training rows' latents.

    Attributes:
        mean: their means.
        std: their standard deviations.
        draws: draws of them.
        weight: how often each counts; None is once.
    """

    mean: Float[Tensor, "A D"]
    std: Float[Tensor, "A D"]
    draws: Sequence[Float[Tensor, "A D"]]
    weight: Float[Tensor, " A"] | None = None

    @property
    def log_prior(self) -> Float[Tensor, " A"]:
        """The log of the probability that a new row is as one of them."""
        weight = self.mean.new_ones(len(self.mean)) if self.weight is None else self.weight.to(self.mean)
        return (weight / weight.sum()).log()

    def predict(self, view: ViewFunction | ViewEntries) -> Prediction:
        """Give what a view's function, or its entries, are at these places."""
        return view.predict(self.mean, self.std, self.draws)


def candidate_latents(
    latent: GaussianLatent, rows: Int[Tensor, " A"], n_draws: int, generator: torch.Generator
) -> CandidateLatents:
    """Take some of the training rows' latents."""
    mean, std = latent.mean[rows].double(), latent.std[rows].double()
    weight = None if latent.sample_weight is None else latent.sample_weight[rows]
    draws = [mean + std * eps for eps in antithetic_normals((n_draws, *mean.shape), mean, generator)]
    return CandidateLatents(mean, std, draws, weight)


def antithetic_normals(
    shape: tuple[int, ...], like: Float[Tensor, "..."], generator: torch.Generator
) -> Float[Tensor, "..."]:
    """Draw standard normal numbers, in pairs of opposite sign, so that their mean is zero.

    They are drawn where the generator is, so that a GPU can have those of a CPU.

    Args:
        shape: the first axis counts the draws, an even number.
        like: a tensor on the device they are for.
        generator: their source.
    """
    half = (shape[0] // 2, *shape[1:])
    eps = torch.randn(half, generator=generator, dtype=torch.float64, device=generator.device)
    return torch.cat([eps, -eps]).to(like.device)


@dataclass(frozen=True)
class MixturePosterior:
    """The posterior of rows' latents: training places and modes, with weights that sum to one in every row.

    Attributes:
        training_weight: of every training place.
        modes: normals around the modes.
        mode_weight: their weights.
        log_evidence: the log of the integral of likelihood times prior.
    """

    training_weight: Float[Tensor, "N A"]
    modes: Modes
    mode_weight: Float[Tensor, "N K"]
    log_evidence: Float[Tensor, " N"]

    def select_rows(self, rows: Bool[Tensor, " N"]) -> "MixturePosterior":
        """Give the places of some rows."""
        modes = Modes(*(values[rows] for values in self.modes))
        return MixturePosterior(self.training_weight[rows], modes, self.mode_weight[rows], self.log_evidence[rows])


def concatenate_posteriors(parts: Iterable[MixturePosterior]) -> MixturePosterior:
    """Put the places of several sets of rows below each other."""
    columns = list(zip(*((p.training_weight, *p.modes, p.mode_weight, p.log_evidence) for p in parts), strict=True))
    training_weight, *modes, mode_weight, log_evidence = (torch.cat(column) for column in columns)
    return MixturePosterior(training_weight, Modes(*modes), mode_weight, log_evidence)


def mixture_posterior(
    seen: Sequence[ObservedRows], training: CandidateLatents, at_training: Sequence[Prediction], *, tempering: float
) -> MixturePosterior:
    """Give the posterior of new rows' latents.

    Args:
        seen: the views that were seen, with what was seen; NaN is missing. At least one.
        training: where training rows lie.
        at_training: what each of these views' functions is there.
        tempering: how much the likelihood counts, t, from 0 to 1.
    """
    log_likelihood = candidate_log_likelihood(seen, at_training)
    modes = find_modes(seen, initial_latents(log_likelihood, training), tempering=tempering)
    return mix(log_likelihood, modes, training.log_prior, tempering=tempering)


def candidate_log_likelihood(seen: Sequence[ObservedRows], at_training: Sequence[Prediction]) -> Float[Tensor, "N A"]:
    """Give the log likelihood of every row at every training place."""
    pairs = zip(seen, at_training, strict=True)
    parts = [pairwise_log_likelihood(function.likelihood, Y, predicted) for (function, Y), predicted in pairs]
    return torch.stack(parts).sum(dim=0)


def initial_latents(log_likelihood: Float[Tensor, "N A"], training: CandidateLatents) -> Float[Tensor, "N S D"]:
    """Give the training places that explain each row best, and the prior's mean."""
    n_starts = min(_N_INITIAL_CANDIDATES, len(training.mean))
    nearest = training.mean[log_likelihood.topk(n_starts, dim=1).indices]
    return torch.cat([nearest, torch.zeros_like(nearest[:, :1])], dim=1)


def mix(
    log_likelihood: Float[Tensor, "N A"], modes: Modes, log_prior: Float[Tensor, " A"], *, tempering: float
) -> MixturePosterior:
    """Weigh training places and modes against each other."""
    n_places = log_likelihood.shape[1]
    of_training = tempering * log_likelihood + log_prior
    log_weight = torch.cat([of_training, modes.log_evidence], dim=1) + _LOG_HALF
    weight = torch.softmax(log_weight, dim=1)
    return MixturePosterior(weight[:, :n_places], modes, weight[:, n_places:], torch.logsumexp(log_weight, dim=1))


def posterior_predictive(
    places: MixturePosterior, view: ViewFunction | ViewEntries, at_training: Prediction, eps: Float[Tensor, "S D"]
) -> Prediction:
    """Predict a view's function, or its entries, averaged over where the rows may lie.

    Args:
        places: where.
        view: its function or entries.
        at_training: what they are at the training places.
        eps: standard normal draws, the same for every row so that no row depends on its neighbours.
    """
    mean = places.training_weight @ at_training.mean
    second = places.training_weight @ (at_training.mean.square() + at_training.variance)
    for k in range(places.mode_weight.shape[1]):
        center, std = places.modes.mean[:, k], places.modes.std[:, k]
        at_mode = view.predict(center, std, [center + std * e for e in eps])
        weight = places.mode_weight[:, k, None]
        mean = mean + weight * at_mode.mean
        second = second + weight * (at_mode.mean.square() + at_mode.variance)
    return Prediction(mean, (second - mean.square()).clamp_min(0))
