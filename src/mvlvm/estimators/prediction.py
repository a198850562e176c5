"""Gaps of views, filled with predictions.

New rows against a fitted model: where they lie, what their views look like, how likely they are.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mvlvm import defaults
from mvlvm.checks import listed
from mvlvm.errors import ViewWarning
from mvlvm.estimators.fitted import FittedModel
from mvlvm.inference.laplace import ObservedRows, find_modes
from mvlvm.inference.posterior import (
    MAX_CANDIDATES,
    N_INITIAL_LATENTS,
    CandidateLatents,
    antithetic_normals,
    candidate_latents,
    candidate_log_likelihood,
    initial_latents,
    mixture_posterior,
    posterior_predictive,
)
from mvlvm.models.weight_posterior import Prediction, ViewEntries, ViewFunction
from mvlvm.randomness import Stream, make_generator
from mvlvm.row_blocks import row_blocks
from mvlvm.training.progress import row_bar
from mvlvm.views.layout import Views
from mvlvm.views.scaling import observed_rows

Arrays = Mapping[str, Float[np.ndarray, "N _"]]


def fill_gaps(views: Views, means: Arrays, stds: Arrays) -> tuple[Arrays, Arrays]:
    """Put predictions where nothing was observed, and warn of columns that nobody can fill.

    Args:
        views: views with gaps.
        means: view name -> predicted entries.
        stds: view name -> their standard deviations.

    Returns:
        The filled views, and the standard deviations of what was filled in, zero elsewhere.
    """
    filled, uncertainty = {}, {}
    for name, Y in views.arrays.items():
        gap = np.isnan(Y)
        filled[name] = np.where(gap, means[name], Y)
        # a column of labels has a standard deviation for every class
        uncertainty[name] = np.where(gap, stds[name], 0.0)
        still_empty = np.flatnonzero(np.isnan(filled[name]).any(axis=0))
        if len(still_empty):
            labels = views.layout.columns.get(name)
            columns = still_empty.tolist() if labels is None else [labels[place] for place in still_empty]
            warnings.warn(
                f"View '{name}' keeps gaps in {len(columns)} column(s) ({listed(columns)}): training has not seen an "
                "entry of them. Drop these columns, or fit rows that have them.",
                ViewWarning,
                stacklevel=3,
            )
    return filled, uncertainty


Rows = Int[np.ndarray, " n"]


@dataclass(frozen=True)
class NewRows:
    """Rows that were not in training, and the model that is to make sense of them.

    Attributes:
        fitted: the model.
        arrays: view name -> rows as its likelihood takes them; NaN is missing. Any of the model's views, at least one.
        verbose: whether to show a progress bar.
    """

    fitted: FittedModel
    arrays: Arrays
    verbose: bool = False

    @torch.no_grad()
    def latents(self) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
        """Give the best mode of every row's posterior, mean and standard deviation."""
        at_training = [self._at_places(name) for name in self.arrays]
        found = []
        for _, seen in self._portions():
            first = initial_latents(candidate_log_likelihood(seen, at_training), self._places)
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
        means, stds = ({name: self.fitted.views[name].empty_rows(self._n_rows) for name in targets} for _ in range(2))
        views = {name: _straight_or_entries(self._functions[name], include_noise) for name in targets}
        for name, rows, predicted in self._predictions(views):
            if isinstance(views[name], ViewFunction):
                predicted = self._functions[name].likelihood.respond(*predicted, include_noise=include_noise)
            mean, variance = (values.cpu().numpy() for values in predicted)
            scaling = self.fitted.views[name].scaling
            means[name][rows], stds[name][rows] = scaling.undo(mean), scaling.undo_std(np.sqrt(variance))
        return means, stds

    @torch.no_grad()
    def log_density_of(self, target: str, Y: Float[np.ndarray, "N M"]) -> tuple[float, int]:
        """Give the log density of a view's entries, each for itself, given the views of these rows.

        Args:
            target: the view.
            Y: its entries as the likelihood takes them; NaN is missing.

        Returns:
            The sum over entries in the data's units, and how many they are.
        """
        scaling, likelihood = self.fitted.views[target].scaling, self._functions[target].likelihood
        total, n_seen = -scaling.log_volume(Y), 0
        for _, rows, predicted in self._predictions({target: self._functions[target]}):
            scaled = torch.as_tensor(scaling.apply(Y[rows]), device=self._eps.device)
            total += float(likelihood.log_predictive_density(scaled, *predicted).sum())
            n_seen += likelihood.count_entries(scaled)
        return total, n_seen

    def _predictions(self, targets: Mapping[str, ViewFunction | ViewEntries]) -> Iterator[tuple[str, Rows, Prediction]]:
        """Predict views, some rows at a time, each with the tempering it takes."""
        at_training = {name: self._places.predict(view) for name, view in targets.items()}
        seen_at_training = [self._at_places(name) for name in self.arrays]
        levels = {name: self._tempering(name) for name in targets}
        for portion, seen in self._portions():
            for level in np.unique([levels[name][portion] for name in targets]):
                # views of rows that take the same tempering share their places
                wanted = {name: levels[name][portion] == level for name in levels}
                needed = np.any(list(wanted.values()), axis=0)
                rows_of = [(function, Y[torch.as_tensor(needed, device=Y.device)]) for function, Y in seen]
                places = mixture_posterior(rows_of, self._places, seen_at_training, tempering=float(level))
                for name, mine in wanted.items():
                    chosen = torch.as_tensor(mine[needed], device=self._eps.device)
                    if mine.any():
                        found = posterior_predictive(
                            places.select_rows(chosen), targets[name], at_training[name], self._eps
                        )
                        yield name, portion[mine], found

    @torch.no_grad()
    def log_density(self) -> float:
        """Give the log density of all that was seen, in the data's units, and summed over rows."""
        at_training = [self._at_places(name) for name in self.arrays]
        total = 0.0
        for _, seen in self._portions():
            total += float(mixture_posterior(seen, self._places, at_training, tempering=1.0).log_evidence.sum())
        for name, Y in self.arrays.items():
            total -= self.fitted.views[name].scaling.log_volume(Y)
        return total

    @property
    def n_seen(self) -> int:
        """The number of entries that were seen, in columns that the model knows; a class counts as one."""
        return sum(
            self._functions[name].likelihood.count_entries(torch.as_tensor(Y[rows][:, self._kept(name)]))
            for name, Y in self.arrays.items()
            for rows in row_blocks(*Y.shape)
        )

    @property
    def n_empty(self) -> int:
        """The number of rows in which nothing was seen."""
        seen = [observed_rows(Y, self._kept(name)) for name, Y in self.arrays.items()]
        return int((~np.any(seen, axis=0)).sum())

    def _kept(self, name: str) -> Bool[np.ndarray, " M"]:
        return self.fitted.views[name].scaling.kept

    @property
    def _n_rows(self) -> int:
        return len(next(iter(self.arrays.values())))

    def _tempering(self, name: str) -> Float[np.ndarray, " N"]:
        """Give the tempering of every row when a view is predicted: it depends on whether the row has the view."""
        tempering = self.fitted.views[name].tempering
        if name not in self.arrays:
            return np.full(self._n_rows, tempering.from_others)
        has_view = observed_rows(self.arrays[name], self._kept(name))
        return np.where(has_view, tempering.from_itself, tempering.from_others)

    def _portions(self) -> Iterator[tuple[Rows, list[ObservedRows]]]:
        """Give the rows in portions, scaled, with the views' functions."""
        n_places, D = self._places.mean.shape
        widest = max(max(self._functions[name].posteriors[0].mean.shape) for name in self.arrays)
        show = row_bar(self._n_rows, "Rows") if self.verbose else nullcontext(lambda n_rows: None)
        with show as advance:
            for block in row_blocks(self._n_rows, max(N_INITIAL_LATENTS * D * widest, n_places)):
                rows = np.arange(block.start, block.stop)
                yield rows, [(self._functions[name], self._scaled(name, rows)) for name in self.arrays]
                advance(len(rows))

    def _scaled(self, name: str, rows: Rows) -> Float[Tensor, "N _"]:
        Y = self.fitted.views[name].scaling.apply(self.arrays[name][rows])
        return torch.as_tensor(Y, device=self.fitted.model.latent.mean.device)

    @cached_property
    def _functions(self) -> dict[str, ViewFunction]:
        return {name: view.function.double() for name, view in self.fitted.views.items()}

    @cached_property
    def _places(self) -> CandidateLatents:
        latent, generator = self.fitted.model.latent, self._generator()
        rows = torch.randperm(len(latent.mean), generator=generator).to(latent.mean.device)
        if latent.weight is not None:  # rows that did not count are no places to be at
            rows = rows[latent.weight[rows] > 0]
        return candidate_latents(latent, rows[:MAX_CANDIDATES], defaults.N_LATENT_DRAWS, generator)

    @cached_property
    def _eps(self) -> Float[Tensor, "S D"]:
        mean = self.fitted.model.latent.mean
        return antithetic_normals((defaults.N_LATENT_DRAWS, mean.shape[1]), mean, self._generator())

    def _at_places(self, name: str) -> Prediction:
        return self._places.predict(self._functions[name])

    def _generator(self) -> torch.Generator:
        """Draws come from the CPU: a model that was fitted on a GPU predicts the same when it is loaded without one."""
        return make_generator(self.fitted.seed, Stream.NEW_ROWS)


def _straight_or_entries(function: ViewFunction, include_noise: bool) -> ViewFunction | ViewEntries:
    """Average over places what is straight enough to be averaged."""
    return ViewEntries(function, include_noise) if function.likelihood.log_link else function
