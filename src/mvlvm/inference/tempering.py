r"""Likelihood tempering: the exponent of a new row's likelihood, learned from the training rows.

The residuals of a row are correlated, so that its M entries carry less information than M independent ones, and an
untempered posterior is too narrow. The exponent t in p(y | x)^t (a power posterior) is chosen by cross-validation on
the tasks of a user. Rows are held out of the weights; then either a whole view is predicted from the others, or half of
a view's columns from all remaining entries. For each of the two tasks, the exponent is chosen by the log density of the
held-out entries.

The latents of the remaining rows and the kernels were trained on the held-out rows too, which favours narrow
posteriors. So the smallest exponent whose score is close to the best is chosen. And as a hundred rows of a single view
contain little information, the scores of a view are averaged with the mean over all views.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mvlvm.inference.laplace import track_modes
from mvlvm.inference.posterior import (
    MixturePosterior,
    antithetic_normals,
    candidate_latents,
    candidate_log_likelihood,
    concatenate_posteriors,
    initial_latents,
    mix,
    posterior_predictive,
)
from mvlvm.inference.row_likelihood import ObservedRows
from mvlvm.inference.view_function import ViewFunction, select_columns
from mvlvm.models.data import EntriesBySample, ViewData
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.views import ModelView
from mvlvm.models.weight_posterior import Prediction

# The exponents to choose from.
LEVELS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
# The exponent of the prior, the reference for gains.
_PRIOR_LEVEL = 0.0
# A score is close to the best if it is lower by at most so many nats per entry, and at most this fraction of the gain
# over the prior. Measured: a smaller first tolerance is too narrow for new rows of 170 tumours, a larger one too wide
# for halves of digits; the second protects a few predictable columns among many unpredictable ones.
_ABSOLUTE_TOLERANCE, _RELATIVE_TOLERANCE = 0.01, 0.1
_N_FOLDS = 3
_ROWS_PER_FOLD = 40
_N_LATENT_DRAWS = 4
# Of more rows, random subsets are used: to infer the weights of a fold, and as candidate latents of held-out rows.
MAX_FOLD_ROWS, MAX_FOLD_CANDIDATES = 4000, 1000


@dataclass(frozen=True)
class Tempering:
    """The exponents of a row's likelihood, from 0 to 1, when one of its views is predicted.

    Attributes:
        from_others: for rows without the view.
        from_itself: for rows with some observed entries of the view.
    """

    from_others: float = 1.0
    from_itself: float = 1.0


@dataclass(frozen=True)
class _HeldOutTask:
    """A prediction task with known answer.

    Attributes:
        target: the index of the view to predict.
        kind: 0 if the whole target is held out, 1 if half of its columns are.
        observed: index of a view -> its observed entries.
        truth: the held-out entries of the target; NaN elsewhere.
        held_out: the held-out columns of the target.
    """

    target: int
    kind: int
    observed: dict[int, Float[Tensor, "n _"]]
    truth: Float[Tensor, "n _"]
    held_out: Bool[Tensor, " M"]


@torch.no_grad()
def learn_tempering(
    latent: GaussianLatent, views: Mapping[str, ModelView], generator: torch.Generator
) -> dict[str, Tempering]:
    """Return the tempering of every view.

    Args:
        latent: posterior of the training rows.
        views: the trained views.
        generator: draws folds, halves of columns and spectral points.
    """
    N = len(latent.mean)
    modules = [view.module for view in views.values()]
    entries = [EntriesBySample(view.data, N) for view in views.values()]
    densities = torch.zeros((2, len(entries), len(LEVELS) + 1), dtype=torch.float64)
    n_entries = torch.zeros((2, len(entries)), dtype=torch.float64)
    order = torch.randperm(N, generator=generator, device=generator.device)
    if latent.sample_weight is not None:  # rows of weight zero are neither candidates nor held out
        order = order[latent.sample_weight[order] > 0]
    fold_of = torch.arange(len(order), device=order.device) % _N_FOLDS
    for k in range(_N_FOLDS):
        if not all(view.observed[order[fold_of != k]].any() for view in entries):
            continue  # some view has no rows to infer its weights from
        fold = _Fold(latent, list(views.values()), entries, order[fold_of != k], generator)
        tasks = list(_held_out_tasks(entries, order[fold_of == k], generator))
        counts = [modules[task.target].likelihood.count_entries(task.truth) for task in tasks]
        # a categorical view has one entry per row, so that there is no half to hold out
        counted = [(task, count) for task, count in zip(tasks, counts, strict=True) if count]
        for (task, count), of_levels in zip(counted, fold.log_densities([task for task, _ in counted]), strict=True):
            densities[task.kind, task.target] += of_levels
            n_entries[task.kind, task.target] += count
    levels = (_choose_levels(*kind) for kind in zip(densities, n_entries, strict=True))
    return {name: Tempering(*pair) for name, pair in zip(views, zip(*levels, strict=True), strict=True)}


def _choose_levels(densities: Float[Tensor, "V L"], n_entries: Float[Tensor, " V"]) -> list[float]:
    """Return the level of every view; a view without a task is not tempered."""
    has_task = n_entries > 0
    scores = densities / n_entries[:, None].clamp_min(1)
    mean_score = scores[has_task].mean(dim=0)
    return [
        _smallest_near_best(0.5 * (score + mean_score)) if tested else LEVELS[0]
        for score, tested in zip(scores, has_task.tolist(), strict=True)
    ]


def _smallest_near_best(scores: Float[Tensor, " L"]) -> float:
    """Return the smallest level with a score close to the best; the last score is that of the prior.

    Where no score is finite, the likelihood is not tempered.
    """
    *candidates, prior = scores.nan_to_num(nan=-torch.inf).tolist()
    best = max(candidates)
    if not math.isfinite(best) or not math.isfinite(prior):
        return LEVELS[0]
    tolerance = min(_ABSOLUTE_TOLERANCE, _RELATIVE_TOLERANCE * max(best - prior, 0.0))
    return min(level for level, score in zip(LEVELS, candidates, strict=True) if score >= best - tolerance)


class _Fold:
    """The model with its weights inferred from the rows of one fold, which come in random order."""

    def __init__(
        self,
        latent: GaussianLatent,
        views: Sequence[ModelView],
        entries: Sequence[EntriesBySample],
        rows: Int[Tensor, " R"],
        generator: torch.Generator,
    ) -> None:
        chosen = rows[:MAX_FOLD_ROWS]
        subset = latent.subset(chosen)
        weights = (
            replace(view, data=ViewData.from_array(Y[chosen], subset.sample_weight)).infer_weights(
                subset, n_latent_draws=_N_LATENT_DRAWS, generator=generator
            )
            for view, Y in zip(views, entries, strict=True)
        )
        self.functions = [
            ViewFunction((posterior,), view.module.likelihood).double()
            for view, posterior in zip(views, weights, strict=True)
        ]
        self.candidates = candidate_latents(latent, rows[:MAX_FOLD_CANDIDATES], _N_LATENT_DRAWS, generator)
        self.at_candidates = [self.candidates.predict(function) for function in self.functions]
        self.eps = antithetic_normals((_N_LATENT_DRAWS, latent.mean.shape[1]), latent.mean, generator)

    def log_densities(self, tasks: Sequence[_HeldOutTask]) -> Iterator[Float[Tensor, " L"]]:
        """Yield the log density of a task's held-out entries, summed, for every level and for the prior, (L,)."""
        if not tasks:
            return
        levels = (*LEVELS, _PRIOR_LEVEL)
        posteriors = self._posteriors(tasks, levels)
        for task, rows in zip(tasks, _consecutive_slices(tasks), strict=True):
            posterior = concatenate_posteriors(at_level.select_rows(rows) for at_level in posteriors)
            function, predicted, truth = self._select_columns(task.target, task.held_out, task.truth)
            prediction = posterior_predictive(posterior, function, predicted, self.eps)
            density = function.likelihood.log_predictive_density(truth.repeat(len(levels), 1), *prediction)
            yield density.reshape(len(levels), -1).sum(dim=1).cpu()

    def _posteriors(self, tasks: Sequence[_HeldOutTask], levels: Sequence[float]) -> list[MixturePosterior]:
        """Return the posterior of the rows of all tasks at every level; one batch of rows is faster than many."""
        observed, at_candidates = zip(*self._observed_rows(tasks), strict=True)
        log_likelihood = candidate_log_likelihood(observed, at_candidates)
        tracked = track_modes(observed, initial_latents(log_likelihood, self.candidates), levels=levels)
        return [
            mix(log_likelihood, modes, self.candidates.log_prior, tempering=level)
            for level, modes in zip(levels, tracked, strict=True)
        ]

    def _observed_rows(self, tasks: Sequence[_HeldOutTask]) -> Iterator[tuple[ObservedRows, Prediction]]:
        """Yield the observed entries of the rows of all tasks, with the predictions of their columns at the candidates.

        Views come once with all columns, and once for every task with some of its columns only.
        """
        rows_of = _consecutive_slices(tasks)
        for v, function in enumerate(self.functions):
            n_rows, n_columns = rows_of[-1].stop, function.posteriors[0].mean.shape[1]
            complete = function.posteriors[0].mean.new_full((n_rows, n_columns), torch.nan)
            for task, rows in zip(tasks, rows_of, strict=True):
                if v == task.target and v in task.observed and function.likelihood.collapses:
                    some, predicted, Y = self._select_columns(v, ~task.held_out, task.observed[v])
                    padded = complete.new_full((n_rows, Y.shape[1]), torch.nan)
                    padded[rows] = Y.to(padded)
                    yield (some, padded), predicted
                elif v in task.observed:
                    complete[rows] = task.observed[v].to(complete)
            yield (function, complete), self.at_candidates[v]

    def _select_columns(
        self, v: int, columns: Bool[Tensor, " M"], Y: Float[Tensor, "n M"]
    ) -> tuple[ViewFunction, Prediction, Float[Tensor, "n _"]]:
        """Drop the other columns of a Gaussian view to save time; other likelihoods may need all columns."""
        function, predicted = self.functions[v], self.at_candidates[v]
        if columns.all() or not function.likelihood.collapses:
            return function, predicted, Y
        at_candidates = Prediction(*(values[:, columns] for values in predicted))
        return select_columns(function, columns), at_candidates, Y[:, columns]


def _consecutive_slices(tasks: Sequence[_HeldOutTask]) -> list[slice]:
    """Return the rows of every task when those of all tasks follow each other."""
    stops = list(accumulate(len(task.truth) for task in tasks))
    return [slice(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def _held_out_tasks(
    views: Sequence[EntriesBySample], rows_held_out: Tensor, generator: torch.Generator
) -> Iterator[_HeldOutTask]:
    """Yield two tasks per view: the whole view held out, and half of its columns."""
    has = torch.stack([view.observed[rows_held_out] for view in views])
    for target, view in enumerate(views):
        others = [v for v in range(len(views)) if v != target]
        rows = rows_held_out[has[target] & has[others].any(dim=0)][:_ROWS_PER_FOLD]
        all_columns = torch.ones(view.n_columns, dtype=torch.bool, device=rows.device)
        if len(rows):
            yield _HeldOutTask(target, 0, {v: views[v][rows] for v in others}, view[rows], all_columns)
        rows = rows_held_out[has[target]][:_ROWS_PER_FOLD]
        half = torch.randperm(view.n_columns, generator=generator, device=rows.device) < view.n_columns // 2
        if len(rows) and half.any():
            Y = view[rows]
            observed = {v: views[v][rows] for v in others} | {target: Y.masked_fill(half, torch.nan)}
            yield _HeldOutTask(target, 1, observed, Y.masked_fill(~half, torch.nan), half)
