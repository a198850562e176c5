r"""How much the likelihood of a row is to count when a view is predicted from it, learned from the training rows.

Residuals of one row are correlated, so its M entries count for fewer than M, and a posterior that takes them at face
value is too narrow. By how much is found by doing on training rows what a user will do: rows are held out of the
weights, a view is left out and predicted from the others, and the tempering that gives it the highest log density is
kept. A model of one view predicts one half of its columns from the other.

The latents of the rows that stay, and the kernels, have seen the rows that are held out, which flatters narrow
posteriors. So the widest of all temperings that do about as well as the best is chosen; and as a hundred rows of one
view say little, what was found for a view is averaged with the mean over all views.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mvlvm.evidence.row_density import row_log_density
from mvlvm.models.modes import find_modes, follow_modes
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.models.new_rows import likelihood_at, predict_at, standard_draws, starts, training_places, weigh
from mvlvm.models.observed import ObservedView
from mvlvm.models.prediction import infer_weights
from mvlvm.models.view_function import ViewFunction

LEVELS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
# What "about as well" is, in nats per entry.
_ABOUT_AS_WELL = 0.01
_N_FOLDS = 3
_ROWS_PER_FOLD = 40
_N_PLACES = 2000
_N_LATENT_DRAWS = 4


@dataclass(frozen=True)
class _Exercise:
    """Something to predict: views as a user might have them, and what was hidden.

    Attributes:
        target: the number of the view to predict.
        seen: number of a view -> what is shown of it.
        truth: what is not shown of the target; NaN elsewhere.
    """

    target: int
    seen: dict[int, Float[Tensor, "n _"]]
    truth: Float[Tensor, "n _"]


@torch.no_grad()
def learn_tempering(
    model: MultiViewLVM, views: Sequence[ObservedView], generator: torch.Generator
) -> tuple[float, ...]:
    """Give, for every view, how much the others' likelihood is to count when it is predicted.

    Args:
        model: trained.
        views: what was seen, in the order of the modules.
        generator: of rows, halves and spectral points.
    """
    Ys = [view.with_gaps(len(model.latent.mean)) for view in views]
    densities = torch.zeros((len(Ys), len(LEVELS)), dtype=torch.float64)
    n_entries = torch.zeros((len(Ys), 1), dtype=torch.float64)
    order = torch.randperm(len(Ys[0]), generator=generator, device=generator.device)
    for k in range(_N_FOLDS):
        held_out = order[k::_N_FOLDS]
        fold = _Fold(model, Ys, order[~torch.isin(order, held_out)], generator)
        for exercise in _exercises(Ys, held_out, generator):
            densities[exercise.target] += fold.log_densities(exercise)
            n_entries[exercise.target] += (~torch.isnan(exercise.truth)).sum().cpu()
    scores = densities / n_entries.clamp_min(1)
    return tuple(_widest_of_the_best(0.5 * (own + scores.mean(dim=0))) for own in scores)


def _widest_of_the_best(scores: Float[Tensor, " L"]) -> float:
    return min(
        level for level, score in zip(LEVELS, scores.tolist(), strict=True) if score >= scores.max() - _ABOUT_AS_WELL
    )


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
        kept = [ObservedView(torch.full_like(Y, torch.nan).index_copy(0, rows, Y[rows])) for Y in Ys]
        weights = (
            infer_weights(view, latent, seen, n_latent_draws=_N_LATENT_DRAWS, generator=generator)
            for view, seen in zip(model.feature_views, kept, strict=True)
        )
        self.functions = [
            ViewFunction((posterior,), view.noise_variance.double()).double()
            for view, posterior in zip(model.feature_views, weights, strict=True)
        ]
        self.places = training_places(latent, rows[:_N_PLACES], _N_LATENT_DRAWS, generator)
        self.at_places = [self.places.predict(function) for function in self.functions]
        self.eps = standard_draws((_N_LATENT_DRAWS, latent.mean.shape[1]), latent.mean, generator)

    def log_densities(self, exercise: _Exercise) -> Float[Tensor, " L"]:
        """Give the log density of what is hidden, summed over entries, for every level of tempering."""
        seen = [(self.functions[v], Y) for v, Y in exercise.seen.items()]
        log_likelihood = likelihood_at(seen, [self.at_places[v] for v in exercise.seen])
        modes, target, densities = None, exercise.target, []
        for level in LEVELS:
            if modes is None:
                modes = find_modes(seen, starts(log_likelihood, self.places), tempering=level)
            else:
                modes = follow_modes(seen, modes, tempering=level)
            places = weigh(log_likelihood, modes, tempering=level)
            prediction = predict_at(places, self.functions[target], self.at_places[target], self.eps)
            densities.append(float(row_log_density(exercise.truth, *prediction).sum()))
        return torch.tensor(densities, dtype=torch.float64)


def _exercises(Ys: Sequence[Float[Tensor, "N _"]], held_out: Tensor, generator: torch.Generator) -> Iterator[_Exercise]:
    """Leave out one view after the other; of a single view, one half of its columns after the other."""
    if len(Ys) == 1:
        Y = Ys[0][held_out[:_ROWS_PER_FOLD]]
        half = torch.randperm(Y.shape[1], generator=generator, device=Y.device) < Y.shape[1] // 2
        for shown in (half, ~half):
            yield _Exercise(0, {0: Y.masked_fill(~shown, torch.nan)}, Y.masked_fill(shown, torch.nan))
        return
    for target, Y in enumerate(Ys):
        others = {v: Y for v, Y in enumerate(Ys) if v != target}
        known = torch.stack([~torch.isnan(Y[held_out]).all(dim=1) for Y in others.values()]).any(dim=0)
        rows = held_out[known & ~torch.isnan(Y[held_out]).all(dim=1)][:_ROWS_PER_FOLD]
        yield _Exercise(target, {v: Y[rows] for v, Y in others.items()}, Y[rows])
