r"""How much the likelihood of a row is to count when a view is predicted from it, learned from the training rows.

Residuals of one row are correlated, so its M entries count for fewer than M, and a posterior that takes them at face
value is too narrow. By how much is found by doing on training rows what a user will do. Rows are held out of the
weights; then a view is left out and predicted from the others, and half of a view's columns is left out and predicted
from all the rest. The tempering that gives what was left out the highest log density is kept, one for each of the two
tasks.

The latents of the rows that stay, and the kernels, have seen the rows that are held out, which flatters narrow
posteriors. So the widest of all temperings that do about as well as the best is chosen; and as a hundred rows of one
view say little, what was found for a view is averaged with the mean over all views.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mvlvm.inference.laplace import find_modes, track_modes
from mvlvm.inference.posterior import (
    antithetic_normals,
    candidate_latents,
    candidate_log_likelihood,
    concatenate_posteriors,
    initial_latents,
    mix,
    posterior_predictive,
)
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.models.data import EntriesBySample, ViewData
from mvlvm.models.multiview import MultiViewLVM, ViewStates
from mvlvm.models.weight_posterior import Prediction, ViewFunction

LEVELS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
# At this one nothing is learned from a row: the measure of what the others gain.
_NOTHING = 0.0
# What "about as well" is: at most so many nats per entry, and at most this share of the gain. Measured: less than the
# first is too narrow for new rows of 170 tumours, more is too wide for halves of digits; the second protects a few
# columns that can be predicted among many that cannot.
_MOST_LOST, _MOST_SHARE_LOST = 0.01, 0.1
_N_FOLDS = 3
_ROWS_PER_FOLD = 40
_N_LATENT_DRAWS = 4
# Of more rows than these, a random choice stands for all: to find the weights without those that are held out, and as
# places where a row may lie.
MAX_FOLD_ROWS, MAX_FOLD_CANDIDATES = 4000, 1000
# Climbs are followed from level to level, so that the first one need not end at the summit.
_STEPS_TO_BEGIN = 5


@dataclass(frozen=True)
class Tempering:
    """How much a row's likelihood counts, from 0 to 1, when one of its views is predicted.

    Attributes:
        from_others: in rows that lack the view.
        from_itself: in rows of which some entries of the view were seen.
    """

    from_others: float = 1.0
    from_itself: float = 1.0


@dataclass(frozen=True)
class _HeldOutTask:
    """Something to predict: views as a user might have them, and what was hidden.

    Attributes:
        target: the number of the view to predict.
        task: 0 if all of the target is hidden, 1 if half of its columns.
        seen: number of a view -> what is shown of it.
        truth: what is not shown of the target; NaN elsewhere.
        hidden: the columns of the target that are not shown.
    """

    target: int
    task: int
    seen: dict[int, Float[Tensor, "n _"]]
    truth: Float[Tensor, "n _"]
    hidden: Bool[Tensor, " M"]


@torch.no_grad()
def learn_tempering(
    model: MultiViewLVM, views: Sequence[ViewData], states: ViewStates, generator: torch.Generator
) -> tuple[Tempering, ...]:
    """Give every view its tempering.

    Args:
        model: trained.
        views: what was seen, in the order of the modules.
        states: the views' states after training.
        generator: of rows, halves and spectral points.
    """
    N = len(model.latent.mean)
    entries = [EntriesBySample(view, N) for view in views]
    densities = torch.zeros((2, len(entries), len(LEVELS) + 1), dtype=torch.float64)
    n_entries = torch.zeros((2, len(entries)), dtype=torch.float64)
    order = torch.randperm(N, generator=generator, device=generator.device)
    if model.latent.sample_weight is not None:  # rows that do not count are no places to be at
        order = order[model.latent.sample_weight[order] > 0]
    fold_of = torch.arange(len(order), device=order.device) % _N_FOLDS
    for k in range(_N_FOLDS):
        fold = _Fold(model, entries, states, order[fold_of != k], generator)
        for exercise in _held_out_tasks(entries, order[fold_of == k], generator):
            # a class is one entry, of which there is no half
            count = model.feature_views[exercise.target].likelihood.count_entries(exercise.truth)
            if count:
                densities[exercise.task, exercise.target] += fold.log_densities(exercise)
                n_entries[exercise.task, exercise.target] += count
    levels = (_choose_levels(*task) for task in zip(densities, n_entries, strict=True))
    return tuple(Tempering(*pair) for pair in zip(*levels, strict=True))


def _choose_levels(densities: Float[Tensor, "V L"], n_entries: Float[Tensor, " V"]) -> list[float]:
    """Choose a level for every view; one that no exercise has tried takes the likelihood at its word."""
    tried = n_entries > 0
    scores = densities / n_entries[:, None].clamp_min(1)
    shared = scores[tried].mean(dim=0)
    return [
        _smallest_near_best(0.5 * (own + shared)) if was_tried else LEVELS[0]
        for own, was_tried in zip(scores, tried.tolist(), strict=True)
    ]


def _smallest_near_best(scores: Float[Tensor, " L"]) -> float:
    """Give the lowest level that does about as well as the best; the last score is that of knowing nothing."""
    *candidates, nothing = scores.tolist()
    best = max(candidates)
    tolerance = min(_MOST_LOST, _MOST_SHARE_LOST * max(best - nothing, 0.0))
    return min(level for level, score in zip(LEVELS, candidates, strict=True) if score >= best - tolerance)


class _Fold:
    """The model with its weights conditioned on some rows only, given in random order."""

    def __init__(
        self,
        model: MultiViewLVM,
        views: Sequence[EntriesBySample],
        states: ViewStates,
        rows: Int[Tensor, " R"],
        generator: torch.Generator,
    ) -> None:
        latent, chosen = model.latent, rows[:MAX_FOLD_ROWS]
        some = latent.subset(chosen)
        weights = (
            view.infer_weights(
                some,
                ViewData.from_array(Y[chosen], some.sample_weight),
                state,
                n_latent_draws=_N_LATENT_DRAWS,
                generator=generator,
            )
            for view, Y, state in zip(model.feature_views, views, states, strict=True)
        )
        self.functions = [
            ViewFunction((posterior,), view.likelihood).double()
            for view, posterior in zip(model.feature_views, weights, strict=True)
        ]
        self.places = candidate_latents(latent, rows[:MAX_FOLD_CANDIDATES], _N_LATENT_DRAWS, generator)
        self.at_places = [self.places.predict(function) for function in self.functions]
        self.eps = antithetic_normals((_N_LATENT_DRAWS, latent.mean.shape[1]), latent.mean, generator)

    def log_densities(self, exercise: _HeldOutTask) -> Float[Tensor, " L"]:
        """Give the log density of what is hidden, summed over entries, for every level of tempering."""
        levels, seen, at_places = (*LEVELS, _NOTHING), [], []
        for v, Y in exercise.seen.items():
            shown = ~exercise.hidden if v == exercise.target else torch.ones_like(Y[0], dtype=torch.bool)
            function, predicted, Y = self._of_columns(v, shown, Y)
            seen.append((function, Y))
            at_places.append(predicted)
        log_likelihood = candidate_log_likelihood(seen, at_places)
        modes = find_modes(
            seen, initial_latents(log_likelihood, self.places), tempering=LEVELS[0], n_steps=_STEPS_TO_BEGIN
        )
        followed = zip(levels, track_modes(seen, modes, levels), strict=True)
        places = concatenate_posteriors(
            mix(log_likelihood, at, self.places.log_prior, tempering=t) for t, at in followed
        )
        function, predicted, truth = self._of_columns(exercise.target, exercise.hidden, exercise.truth)
        prediction = posterior_predictive(places, function, predicted, self.eps)
        density = function.likelihood.log_predictive_density(truth.repeat(len(levels), 1), *prediction)
        return density.reshape(len(levels), -1).sum(dim=1).cpu()

    def _of_columns(
        self, v: int, columns: Bool[Tensor, " M"], Y: Float[Tensor, "n M"]
    ) -> tuple[ViewFunction, Prediction, Float[Tensor, "n _"]]:
        """Leave out the columns of a view that nothing is asked of; classes belong together, and all stay."""
        function, predicted = self.functions[v], self.at_places[v]
        if columns.all() or not isinstance(function.likelihood, Gaussian):
            return function, predicted, Y
        at_places = Prediction(*(values[:, columns] for values in predicted))
        return function.select_columns(columns), at_places, Y[:, columns]


def _held_out_tasks(
    views: Sequence[EntriesBySample], held_out: Tensor, generator: torch.Generator
) -> Iterator[_HeldOutTask]:
    """Leave out one view after the other, whole and by half."""
    has = torch.stack([view.observed[held_out] for view in views])
    for target, view in enumerate(views):
        others = [v for v in range(len(views)) if v != target]
        rows = held_out[has[target] & has[others].any(dim=0)][:_ROWS_PER_FOLD]
        everything = torch.ones(view.n_columns, dtype=torch.bool, device=rows.device)
        if len(rows):
            yield _HeldOutTask(target, 0, {v: views[v][rows] for v in others}, view[rows], everything)
        rows = held_out[has[target]][:_ROWS_PER_FOLD]
        hidden = torch.randperm(view.n_columns, generator=generator, device=rows.device) < view.n_columns // 2
        if len(rows) and hidden.any():
            Y = view[rows]
            shown = {v: views[v][rows] for v in others} | {target: Y.masked_fill(hidden, torch.nan)}
            yield _HeldOutTask(target, 1, shown, Y.masked_fill(~hidden, torch.nan), hidden)
