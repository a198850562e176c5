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
from jaxtyping import Float, Int
from torch import Tensor

from mvlvm.models.modes import find_modes, follow_modes
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.models.new_rows import MOST_PLACES, likelihood_at, predict_at, standard_draws, starts, training_places, weigh
from mvlvm.models.observed import ObservedView
from mvlvm.models.view_function import ViewFunction

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
class _Exercise:
    """Something to predict: views as a user might have them, and what was hidden.

    Attributes:
        target: the number of the view to predict.
        task: 0 if all of the target is hidden, 1 if half of its columns.
        seen: number of a view -> what is shown of it.
        truth: what is not shown of the target; NaN elsewhere.
    """

    target: int
    task: int
    seen: dict[int, Float[Tensor, "n _"]]
    truth: Float[Tensor, "n _"]


@torch.no_grad()
def learn_tempering(
    model: MultiViewLVM, views: Sequence[ObservedView], generator: torch.Generator
) -> tuple[Tempering, ...]:
    """Give every view its tempering.

    Args:
        model: trained.
        views: what was seen, in the order of the modules.
        generator: of rows, halves and spectral points.
    """
    Ys = [view.with_gaps(len(model.latent.mean)) for view in views]
    densities = torch.zeros((2, len(Ys), len(LEVELS) + 1), dtype=torch.float64)
    n_entries = torch.zeros((2, len(Ys)), dtype=torch.float64)
    order = torch.randperm(len(Ys[0]), generator=generator, device=generator.device)
    if model.latent.weight is not None:  # rows that do not count are no places to be at
        order = order[model.latent.weight[order] > 0]
    for k in range(_N_FOLDS):
        held_out = order[k::_N_FOLDS]
        fold = _Fold(model, Ys, order[~torch.isin(order, held_out)], generator)
        for exercise in _exercises(Ys, held_out, generator):
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
        _widest_of_the_best(0.5 * (own + shared)) if was_tried else LEVELS[0]
        for own, was_tried in zip(scores, tried.tolist(), strict=True)
    ]


def _widest_of_the_best(scores: Float[Tensor, " L"]) -> float:
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
        Ys: Sequence[Float[Tensor, "N _"]],
        rows: Int[Tensor, " R"],
        generator: torch.Generator,
    ) -> None:
        latent = model.latent
        kept = [ObservedView(torch.full_like(Y, torch.nan).index_copy(0, rows, Y[rows]), latent.weight) for Y in Ys]
        weights = (
            view.infer_weights(latent, seen, n_latent_draws=_N_LATENT_DRAWS, generator=generator)
            for view, seen in zip(model.feature_views, kept, strict=True)
        )
        self.functions = [
            ViewFunction((posterior,), view.likelihood).double()
            for view, posterior in zip(model.feature_views, weights, strict=True)
        ]
        self.places = training_places(latent, rows[:MOST_PLACES], _N_LATENT_DRAWS, generator)
        self.at_places = [self.places.predict(function) for function in self.functions]
        self.eps = standard_draws((_N_LATENT_DRAWS, latent.mean.shape[1]), latent.mean, generator)

    def log_densities(self, exercise: _Exercise) -> Float[Tensor, " L"]:
        """Give the log density of what is hidden, summed over entries, for every level of tempering."""
        seen = [(self.functions[v], Y) for v, Y in exercise.seen.items()]
        log_likelihood = likelihood_at(seen, [self.at_places[v] for v in exercise.seen])
        modes = find_modes(seen, starts(log_likelihood, self.places), tempering=LEVELS[0])
        target, densities = exercise.target, []
        for level in (*LEVELS, _NOTHING):
            modes = follow_modes(seen, modes, tempering=level)
            places = weigh(log_likelihood, modes, self.places.log_prior, tempering=level)
            prediction = predict_at(places, self.functions[target], self.at_places[target], self.eps)
            likelihood = self.functions[target].likelihood
            densities.append(float(likelihood.log_predictive_density(exercise.truth, *prediction).sum()))
        return torch.tensor(densities, dtype=torch.float64)


def _exercises(Ys: Sequence[Float[Tensor, "N _"]], held_out: Tensor, generator: torch.Generator) -> Iterator[_Exercise]:
    """Leave out one view after the other, whole and by half."""
    has = torch.stack([~torch.isnan(Y[held_out]).all(dim=1) for Y in Ys])
    for target, Y in enumerate(Ys):
        others = [v for v in range(len(Ys)) if v != target]
        rows = held_out[has[target] & has[others].any(dim=0)][:_ROWS_PER_FOLD]
        if len(rows):
            yield _Exercise(target, 0, {v: Ys[v][rows] for v in others}, Y[rows])
        rows = held_out[has[target]][:_ROWS_PER_FOLD]
        hidden = torch.randperm(Y.shape[1], generator=generator, device=Y.device) < Y.shape[1] // 2
        if len(rows) and hidden.any():
            shown = {v: Ys[v][rows] for v in others} | {target: Y[rows].masked_fill(hidden, torch.nan)}
            yield _Exercise(target, 1, shown, Y[rows].masked_fill(~hidden, torch.nan))
