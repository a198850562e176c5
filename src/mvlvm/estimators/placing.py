"""New rows against a fitted model: where they lie, what their views look like, how likely they are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.estimators.fitted import FittedModel
from mvlvm.models.modes import find_modes
from mvlvm.models.new_rows import (
    TrainingPlaces,
    likelihood_at,
    place,
    predict_at,
    standard_draws,
    starts,
    training_places,
)
from mvlvm.models.prediction import Prediction
from mvlvm.models.refinement import SeenView
from mvlvm.models.view_function import ViewFunction
from mvlvm.randomness import Stream, make_generator

# More training rows than these are as dense as a posterior needs them.
_MOST_PLACES = 2000
# Rows are worked on in portions, so that the largest array of a portion has about this many numbers.
_MOST_NUMBERS = 4e6
_MOST_CLIMBS = 5

Arrays = Mapping[str, Float[np.ndarray, "N _"]]


@dataclass(frozen=True)
class NewRows:
    """Rows that were not in training, and the model that is to make sense of them.

    Attributes:
        fitted: the model.
        arrays: view name -> rows in the data's units; NaN is missing. Any of the model's views, at least one.
    """

    fitted: FittedModel
    arrays: Arrays

    @torch.no_grad()
    def latents(self) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
        """Give the best mode of every row's posterior, mean and standard deviation."""
        at_training = [self._at_places(name) for name in self.arrays]
        found = []
        for seen in self._portions():
            first = starts(likelihood_at(seen, at_training), self._places)
            modes = find_modes(seen, first, tempering=1.0)
            found.append(torch.stack([modes.mean[:, 0], modes.std[:, 0]]))
        mean, std = torch.cat(found, dim=1).cpu().numpy()
        return mean, std

    @torch.no_grad()
    def predict(self, targets: Sequence[str], *, include_noise: bool = True) -> tuple[Arrays, Arrays]:
        """Give mean and standard deviation of views, in the data's units.

        Args:
            targets: the views.
            include_noise: whether the standard deviations are those of entries, or those of the function alone.
        """
        at_training = {name: self._at_places(name) for name in {*self.arrays, *targets}}
        parts: dict[str, list[Prediction]] = {name: [] for name in targets}
        for seen in self._portions():
            for level, names in _by_tempering(self.fitted, targets).items():
                places = place(seen, self._places, [at_training[name] for name in self.arrays], tempering=level)
                for name in names:
                    parts[name].append(predict_at(places, self._functions[name], at_training[name], self._eps))
        means, stds = {}, {}
        for name, predictions in parts.items():
            scaling, noise = self.fitted.views[name].scaling, self._functions[name].noise_variance
            variance = torch.cat([part.variance for part in predictions]) - (0.0 if include_noise else noise)
            means[name] = scaling.undo(torch.cat([part.mean for part in predictions]).cpu().numpy())
            stds[name] = scaling.undo_std(variance.clamp_min(0).sqrt().cpu().numpy())
        return means, stds

    @torch.no_grad()
    def log_density(self) -> float:
        """Give the log density of all that was seen, in the data's units, and summed over rows."""
        at_training = [self._at_places(name) for name in self.arrays]
        total = 0.0
        for seen in self._portions():
            total += float(place(seen, self._places, at_training, tempering=1.0).log_evidence.sum())
        for name, Y in self.arrays.items():
            scaling = self.fitted.views[name].scaling
            total -= float((~np.isnan(Y) * np.log(scaling.factor))[:, scaling.kept].sum())
        return total

    @property
    def n_seen(self) -> int:
        """The number of entries that were seen, in columns that the model knows."""
        return sum(int((~np.isnan(Y))[:, self._kept(name)].sum()) for name, Y in self.arrays.items())

    @property
    def n_empty(self) -> int:
        """The number of rows in which nothing was seen."""
        empty = [np.isnan(Y[:, self._kept(name)]).all(axis=1) for name, Y in self.arrays.items()]
        return int(np.all(empty, axis=0).sum())

    def _kept(self, name: str) -> np.ndarray:
        return self.fitted.views[name].scaling.kept

    def _portions(self) -> Iterator[list[SeenView]]:
        """Give the rows in portions, scaled, with the views' functions."""
        device = self.fitted.model.latent.mean.device
        Ys = {name: torch.as_tensor(self.fitted.views[name].scaling.apply(Y)) for name, Y in self.arrays.items()}
        n_places, D = self._places.mean.shape
        widest = max(max(self._functions[name].posteriors[0].mean.shape) for name in Ys)
        n_rows = max(1, int(_MOST_NUMBERS / max(_MOST_CLIMBS * D * widest, n_places)))
        for portion in zip(*(Y.split(n_rows) for Y in Ys.values()), strict=True):
            yield [(self._functions[name], Y.to(device)) for name, Y in zip(Ys, portion, strict=True)]

    @cached_property
    def _functions(self) -> dict[str, ViewFunction]:
        return {name: view.function.double() for name, view in self.fitted.views.items()}

    @cached_property
    def _places(self) -> TrainingPlaces:
        latent, generator = self.fitted.model.latent, self._generator()
        rows = torch.randperm(len(latent.mean), generator=generator)[:_MOST_PLACES].to(latent.mean.device)
        return training_places(latent, rows, defaults.N_LATENT_DRAWS, generator)

    @cached_property
    def _eps(self) -> Float[Tensor, "S D"]:
        mean = self.fitted.model.latent.mean
        return standard_draws((defaults.N_LATENT_DRAWS, mean.shape[1]), mean, self._generator())

    def _at_places(self, name: str) -> Prediction:
        return self._places.predict(self._functions[name])

    def _generator(self) -> torch.Generator:
        """Draws come from the CPU: a model that was fitted on a GPU predicts the same when it is loaded without one."""
        return make_generator(self.fitted.seed, Stream.NEW_ROWS)


def _by_tempering(fitted: FittedModel, targets: Sequence[str]) -> dict[float, list[str]]:
    """Gather the views that are predicted with the same tempering."""
    levels: dict[float, list[str]] = {}
    for name in targets:
        levels.setdefault(fitted.views[name].tempering, []).append(name)
    return levels
