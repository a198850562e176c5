"""Out-of-sample rows: their input validation, latents, predicted views and log density under a fitted model."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mvlvm import defaults
from mvlvm.checks import listed
from mvlvm.errors import ViewError, ViewWarning
from mvlvm.estimators.fitted import FittedModel
from mvlvm.estimators.preprocessing import zero_weight_rows
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
from mvlvm.inference.view_function import ViewEntries, ViewFunction
from mvlvm.likelihoods import Support
from mvlvm.models.weight_posterior import Prediction
from mvlvm.randomness import Stream, make_generator
from mvlvm.row_blocks import row_blocks, row_sum
from mvlvm.training.progress import row_bar
from mvlvm.views.encoding import check_known_classes
from mvlvm.views.layout import Views
from mvlvm.views.scaling import observed_rows
from mvlvm.views.validation import as_new_views

Arrays = Mapping[str, Float[np.ndarray, "N _"]]


def fill_missing(views: Views, means: Arrays, stds: Arrays) -> tuple[Arrays, Arrays]:
    """Replace missing entries by predictions, and warn of columns that cannot be predicted.

    Args:
        views: views with missing entries.
        means: view name -> predicted entries.
        stds: view name -> their standard deviations.

    Returns:
        The imputed views, and the standard deviations of the imputed entries, zero elsewhere.
    """
    filled, uncertainty = {}, {}
    for name, Y in views.arrays.items():
        missing = np.isnan(Y)
        filled[name] = np.where(missing, means[name], Y)
        # a column of labels has a standard deviation for every class
        uncertainty[name] = np.where(missing, stds[name], 0.0)
        still_empty = np.flatnonzero(np.isnan(filled[name]).any(axis=0))
        if len(still_empty):
            labels = views.layout.columns.get(name)
            columns = (
                still_empty.tolist()
                if labels is None
                else [labels[mixture_posterior] for mixture_posterior in still_empty]
            )
            warnings.warn(
                f"View '{name}' keeps missing entries in {len(columns)} column(s) ({listed(columns)}), of which the "
                "training data had no entry. Drop these columns, or fit rows that have them.",
                ViewWarning,
                stacklevel=3,
            )
    return filled, uncertainty


Rows = Int[np.ndarray, " n"]


@dataclass(frozen=True)
class NewRows:
    """Out-of-sample rows and the fitted model.

    Attributes:
        fitted: the model.
        arrays: view name -> rows as its likelihood takes them, NaN for missing entries; at least one view.
        verbose: whether to show a progress bar.
    """

    fitted: FittedModel
    arrays: Arrays
    verbose: bool = False

    @torch.no_grad()
    def latents(self) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
        """Return mean and standard deviation of the Laplace approximation at the best mode of every row."""
        at_candidates = [self._at_candidates(name) for name in self.arrays]
        found = []
        for _, seen in self._blocks():
            first = initial_latents(candidate_log_likelihood(seen, at_candidates), self._candidates)
            modes = find_modes(seen, first, tempering=1.0)
            found.append(torch.stack([modes.mean[:, 0], modes.std[:, 0]]))
        mean, std = torch.cat(found, dim=1).cpu().numpy()
        return mean, std

    @torch.no_grad()
    def predict(self, targets: Sequence[str], *, include_noise: bool = True) -> tuple[Arrays, Arrays]:
        """Predict views: mean and standard deviation in the units of the data.

        Args:
            targets: names of the views.
            include_noise: whether standard deviations include the noise.
        """
        means, stds = ({name: self.fitted.views[name].empty_rows(self._n_rows) for name in targets} for _ in range(2))
        views = {name: _averaged_quantity(self._functions[name], include_noise) for name in targets}
        for name, rows, predicted in self._predictions(views):
            if isinstance(views[name], ViewFunction):
                predicted = self._functions[name].likelihood.respond(*predicted, include_noise=include_noise)
            mean, variance = (values.cpu().numpy() for values in predicted)
            scaling = self.fitted.views[name].scaling
            means[name][rows], stds[name][rows] = scaling.undo(mean), scaling.undo_std(np.sqrt(variance))
        return means, stds

    @torch.no_grad()
    def log_density_of(self, target: str, Y: Float[np.ndarray, "N M"]) -> tuple[float, int]:
        """Compute the log predictive density of the entries of a view, each on its own, given the views of these rows.

        Args:
            target: name of the view.
            Y: its entries as the likelihood takes them, NaN if missing.

        Returns:
            The sum over entries in the units of the data, and the number of entries.
        """
        scaling, likelihood = self.fitted.views[target].scaling, self._functions[target].likelihood
        total, n_observed = -scaling.log_volume(Y), 0
        for _, rows, predicted in self._predictions({target: self._functions[target]}):
            scaled = torch.as_tensor(scaling.apply(Y[rows]), device=self._eps.device)
            total += float(likelihood.log_predictive_density(scaled, *predicted).sum())
            n_observed += likelihood.count_entries(scaled)
        return total, n_observed

    def _predictions(self, targets: Mapping[str, ViewFunction | ViewEntries]) -> Iterator[tuple[str, Rows, Prediction]]:
        """Predict views in blocks of rows, each with its tempering."""
        at_candidates = {name: self._candidates.predict(view) for name, view in targets.items()}
        rows_at_candidates = [self._at_candidates(name) for name in self.arrays]
        levels = {name: self._tempering(name) for name in targets}
        for block, seen in self._blocks():
            for level in np.unique([levels[name][block] for name in targets]):
                # views with the same tempering share the posterior of the latents
                wanted = {name: levels[name][block] == level for name in levels}
                needed = np.any(list(wanted.values()), axis=0)
                rows_of = [(function, Y[torch.as_tensor(needed, device=Y.device)]) for function, Y in seen]
                posterior = mixture_posterior(rows_of, self._candidates, rows_at_candidates, tempering=float(level))
                for name, mine in wanted.items():
                    chosen = torch.as_tensor(mine[needed], device=self._eps.device)
                    if mine.any():
                        found = posterior_predictive(
                            posterior.select_rows(chosen), targets[name], at_candidates[name], self._eps
                        )
                        yield name, block[mine], found

    @torch.no_grad()
    def log_density(self) -> float:
        """Compute the log density of all observed entries in the units of the data, summed over rows."""
        at_candidates = [self._at_candidates(name) for name in self.arrays]
        total = 0.0
        for _, seen in self._blocks():
            total += float(mixture_posterior(seen, self._candidates, at_candidates, tempering=1.0).log_evidence.sum())
        for name, Y in self.arrays.items():
            total -= self.fitted.views[name].scaling.log_volume(Y)
        return total

    @property
    def n_observed(self) -> int:
        """The number of observed entries in columns that the model uses; a label counts as one."""
        return sum(self._n_observed(name, Y) for name, Y in self.arrays.items())

    def _n_observed(self, name: str, Y: Float[np.ndarray, "N M"]) -> int:
        count, kept = self._functions[name].likelihood.count_entries, self._kept(name)
        return row_sum(row_blocks(*Y.shape), lambda rows: (count(torch.as_tensor(Y[rows][:, kept])),))[0]

    @property
    def n_empty(self) -> int:
        """The number of rows without any observed entry."""
        seen = [observed_rows(Y, self._kept(name)) for name, Y in self.arrays.items()]
        return int((~np.any(seen, axis=0)).sum())

    def _kept(self, name: str) -> Bool[np.ndarray, " M"]:
        return self.fitted.views[name].scaling.kept

    @property
    def _n_rows(self) -> int:
        return len(next(iter(self.arrays.values())))

    def _tempering(self, name: str) -> Float[np.ndarray, " N"]:
        """Return the tempering of every row when a view is predicted, which depends on whether the row has the view."""
        tempering = self.fitted.views[name].tempering
        if name not in self.arrays:
            return np.full(self._n_rows, tempering.from_others)
        has_view = observed_rows(self.arrays[name], self._kept(name))
        return np.where(has_view, tempering.from_itself, tempering.from_others)

    def _blocks(self) -> Iterator[tuple[Rows, list[ObservedRows]]]:
        """Yield blocks of scaled rows with the functions of their views."""
        n_candidates, D = self._candidates.mean.shape
        widest = max(max(self._functions[name].posteriors[0].mean.shape) for name in self.arrays)
        show = row_bar(self._n_rows, "Rows") if self.verbose else nullcontext(lambda n_rows: None)
        with show as advance:
            for row_slice in row_blocks(self._n_rows, max(N_INITIAL_LATENTS * D * widest, n_candidates)):
                rows = np.arange(row_slice.start, row_slice.stop)
                yield rows, [(self._functions[name], self._scaled(name, rows)) for name in self.arrays]
                advance(len(rows))

    def _scaled(self, name: str, rows: Rows) -> Float[Tensor, "N _"]:
        Y = self.fitted.views[name].scaling.apply(self.arrays[name][rows])
        return torch.as_tensor(Y, device=self.fitted.model.latent.mean.device)

    @cached_property
    def _functions(self) -> dict[str, ViewFunction]:
        return {name: view.function.double() for name, view in self.fitted.views.items()}

    @cached_property
    def _candidates(self) -> CandidateLatents:
        latent, generator = self.fitted.model.latent, self._generator()
        rows = torch.randperm(len(latent.mean), generator=generator).to(latent.mean.device)
        if latent.sample_weight is not None:  # rows of weight zero are no candidates
            rows = rows[latent.sample_weight[rows] > 0]
        return candidate_latents(latent, rows[:MAX_CANDIDATES], defaults.N_LATENT_DRAWS, generator)

    @cached_property
    def _eps(self) -> Float[Tensor, "S D"]:
        mean = self.fitted.model.latent.mean
        return antithetic_normals((defaults.N_LATENT_DRAWS, mean.shape[1]), mean, self._generator())

    def _at_candidates(self, name: str) -> Prediction:
        return self._candidates.predict(self._functions[name])

    def _generator(self) -> torch.Generator:
        """Return a CPU generator, so that a model fitted on a GPU predicts the same after it is loaded without one."""
        return make_generator(self.fitted.seed, Stream.NEW_ROWS)


def _averaged_quantity(function: ViewFunction, include_noise: bool) -> ViewFunction | ViewEntries:
    """Return what is averaged over candidate latents: the function, or the entries if they are exponential in it."""
    return ViewEntries(function, include_noise) if function.likelihood.log_link else function


@torch.no_grad()
def infer_zero_weight_rows(
    fitted: FittedModel, arrays: Mapping[str, Float[np.ndarray, "n _"]], sample_weight: Float[Tensor, " N"] | None
) -> None:
    """Set the latents of rows of weight zero as for out-of-sample rows, once the model is trained.

    Args:
        fitted: the model; the latents of these rows are changed.
        arrays: view name -> these rows as its likelihood takes them.
        sample_weight: of all rows.
    """
    rows = zero_weight_rows(sample_weight)
    if len(rows):
        mean, std = NewRows(fitted, arrays).latents()
        fitted.model.latent.set_rows(torch.as_tensor(rows), torch.as_tensor(mean), torch.as_tensor(std))


def validate_new_views(fitted: FittedModel, views: Any) -> Views:
    """Validate views of new rows against those of training."""
    return as_new_views(views, fitted.layout, {name: view.n_columns for name, view in fitted.views.items()})


def encode_new_views(fitted: FittedModel, given: Views) -> dict[str, Float[np.ndarray, "N _"]]:
    """Return views of new rows as their likelihoods take them."""
    views, columns = fitted.views, fitted.layout.columns
    encoded = {name: views[name].encoding.encode(name, Y) for name, Y in given.arrays.items()}
    for name, Y in encoded.items():
        if views[name].function.likelihood.support is Support.ONE_HOT:
            check_known_classes(name, Y, views[name].scaling.kept, columns.get(name))
    return encoded


def check_target(fitted: FittedModel, target: str) -> None:
    """Check that a view to predict exists."""
    names = list(fitted.views)
    if target not in names:
        raise ValueError(f"target must be one of the model's views, {', '.join(map(repr, names))}. Got {target!r}.")


def check_target_is_missing(target: str, Y: Float[np.ndarray, "N M"]) -> None:
    """Check that a view which is both given and to be predicted has no entries."""
    if not np.isnan(Y).all():
        raise ViewError(
            f"View '{target}' is both given and to be predicted. "
            "Omit it from the views, or call impute to fill its missing entries."
        )


def new_rows(
    fitted: FittedModel, arrays: dict[str, Float[np.ndarray, "N _"]], target: str | None, *, verbose: bool
) -> NewRows:
    """Return out-of-sample rows, and warn of rows without entries."""
    if not arrays:
        raise ViewError(f"Only the target '{target}' was given. Provide another view to predict it from.")
    rows = NewRows(fitted, arrays, verbose=verbose)
    if rows.n_empty:
        warnings.warn(
            f"There are {rows.n_empty} row(s) without an entry in a column that the model uses. Their posterior is the "
            "prior, mean 0 and standard deviation 1. Drop them if they are not needed.",
            ViewWarning,
            stacklevel=4,
        )
    return rows
