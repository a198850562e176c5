"""Out-of-sample rows: their latents, predicted views and log density under a trained model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mvlvm.errors import ViewWarning, warn
from mvlvm.inference.conditional import KnownRows, LayerPrediction
from mvlvm.inference.conditional_rows import AUTO, LATENT, Pair, RowsOfLayer, given_columns, given_patterns
from mvlvm.inference.held_out_latents import FastLatents
from mvlvm.inference.laplace import find_modes
from mvlvm.inference.posterior import (
    N_INITIAL_LATENTS,
    candidate_log_likelihood,
    initial_latents,
    mixture_posterior,
    posterior_predictive,
)
from mvlvm.inference.predictor import Predictor
from mvlvm.inference.row_likelihood import ObservedRows
from mvlvm.inference.view_function import ViewEntries, ViewFunction
from mvlvm.models.weight_posterior import Prediction
from mvlvm.row_blocks import row_blocks, row_sum
from mvlvm.views.scaling import observed_rows

Arrays = Mapping[str, Float[np.ndarray, "N _"]]
RowIndices = Int[np.ndarray, " n"]
# From a number of rows to a context, within which the callback takes the number of rows just completed.
Progress = Callable[[int], AbstractContextManager[Callable[[int], None]]]


def no_progress(n_rows: int) -> AbstractContextManager[Callable[[int], None]]:
    """Show nothing."""
    return nullcontext(lambda n_done: None)


@dataclass(frozen=True)
class NewRows:
    """Out-of-sample rows and the model that predicts them.

    Attributes:
        predictor: the model.
        arrays: view name -> rows as its likelihood takes them, NaN for missing entries; at least one view.
        progress: shows the progress over a number of rows.
    """

    predictor: Predictor
    arrays: Arrays
    progress: Progress = no_progress

    @torch.no_grad()
    def latents(self) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N D"]]:
        """Return mean and standard deviation of the Laplace approximation at the best mode of every row."""
        at_candidates = [self._at_candidates(name) for name in self.arrays]
        found = []
        for _, observed in self._blocks():
            first = initial_latents(candidate_log_likelihood(observed, at_candidates), self.predictor.candidates)
            modes = find_modes(observed, first, tempering=1.0)
            found.append(torch.stack([modes.mean[:, 0], modes.std[:, 0]]))
        mean, std = torch.cat(found, dim=1).cpu().numpy()
        return mean, std

    @torch.no_grad()
    def predict(
        self, targets: Sequence[str], *, include_noise: bool = True, conditional: str = LATENT
    ) -> tuple[Arrays, Arrays]:
        """Predict views: mean and standard deviation in the units of the data.

        Args:
            targets: names of the views.
            include_noise: whether standard deviations include the noise.
            conditional: whether rows without the target are predicted by the conditional layer.
        """
        parts = {name: self._rows_of_layers(name, conditional) for name in targets}
        if not any(parts.values()):
            return self._predict_by_latents(targets, include_noise)
        means, stds = self._empty(targets), self._empty(targets)
        for name, scaling in ((name, self.predictor.scalings[name]) for name in targets):
            for part in parts[name]:
                predicted = self._predict_by_layer(part, name)
                variance = predicted.variance if include_noise else predicted.function_variance
                means[name][part.indices] = scaling.undo(predicted.mean)
                stds[name][part.indices] = scaling.undo_std(np.sqrt(variance))
        for rows, names in self._other_rows(parts):
            of_latents = self._select(rows)._predict_by_latents(names, include_noise)
            for name in names:
                means[name][rows], stds[name][rows] = (values[name] for values in of_latents)
        return means, stds

    def _predict_by_latents(self, targets: Sequence[str], include_noise: bool) -> tuple[Arrays, Arrays]:
        """Predict views by the latents alone."""
        functions, scalings = self.predictor.double_functions, self.predictor.scalings
        means, stds = self._empty(targets), self._empty(targets)
        views = {name: _averaged_quantity(functions[name], include_noise) for name in targets}
        for name, rows, predicted in self._predictions(views):
            if isinstance(views[name], ViewFunction):
                predicted = functions[name].likelihood.respond(*predicted, include_noise=include_noise)
            mean, variance = (values.cpu().numpy() for values in predicted)
            means[name][rows] = scalings[name].undo(mean)
            stds[name][rows] = scalings[name].undo_std(np.sqrt(variance))
        return means, stds

    @torch.no_grad()
    def log_density_of(
        self, target: str, Y: Float[np.ndarray, "N M"], *, conditional: str = LATENT
    ) -> tuple[float, int]:
        """Compute the log predictive density of the entries of a view, each on its own, given the views of these rows.

        Args:
            target: name of the view.
            Y: its entries as the likelihood takes them, NaN if missing.
            conditional: whether rows are predicted by the conditional layer.

        Returns:
            The sum over entries in the units of the data, and the number of entries.
        """
        parts = self._rows_of_layers(target, conditional)
        if not parts:
            return self._log_density_by_latents(target, Y)
        total, n_observed = -self.predictor.scalings[target].log_volume(Y), 0
        for part in parts:
            predicted = self._predict_by_layer(part, target)
            truth = self.predictor.scalings[target].apply(Y[part.indices])
            terms = np.square(truth - predicted.mean) / predicted.variance + np.log(2 * np.pi * predicted.variance)
            total -= 0.5 * float(np.nansum(terms))
            n_observed += int(np.isfinite(truth).sum())
        for rows, _ in self._other_rows({target: parts}):
            of_latents, n = self._select(rows)._log_density_by_latents(target, Y[rows])
            total += of_latents + self.predictor.scalings[target].log_volume(Y[rows])
            n_observed += n
        return total, n_observed

    def _log_density_by_latents(self, target: str, Y: Float[np.ndarray, "N M"]) -> tuple[float, int]:
        """Compute the log predictive density of entries by the latents alone."""
        scaling, function = self.predictor.scalings[target], self.predictor.double_functions[target]
        total, n_observed = -scaling.log_volume(Y), 0
        for _, rows, predicted in self._predictions({target: function}):
            scaled = torch.as_tensor(scaling.apply(Y[rows]), device=self.predictor.eps.device)
            total += float(function.likelihood.log_predictive_density(scaled, *predicted).sum())
            n_observed += function.likelihood.count_entries(scaled)
        return total, n_observed

    def _rows_of_layers(self, target: str, conditional: str) -> list[RowsOfLayer]:
        """Return the rows that conditional layers predict; those of a missing layer stay with the latents."""
        if conditional == LATENT or not self.predictor.double_functions[target].likelihood.collapses:
            return []
        scaled = {name: self._scaled(name, np.arange(self._n_rows)).cpu().numpy() for name in self._ordered_names()}
        found = []
        for given, rows in given_patterns(scaled, target):
            layer, reason = self.predictor.layers.find(Pair(given, target))
            if layer is None and (conditional != AUTO or self.predictor.layers.lacks_rows):
                names = ", ".join(f"'{name}'" for name in given)
                warn(
                    f"View '{target}' of {len(rows)} row(s) is predicted from {names} by the latents alone, which is "
                    f"often less accurate: {reason}. Pass conditional='latent' if this is what you need.",
                    ViewWarning,
                )
            elif layer is not None and (conditional != AUTO or layer.improves):
                found.append(RowsOfLayer(rows, given, layer))
        return found

    def _predict_by_layer(self, part: RowsOfLayer, target: str) -> LayerPrediction:
        """Predict a view of some rows by a layer, in blocks, in the units of the model."""
        predictor = self.predictor
        latents = FastLatents(predictor.double_functions, predictor.candidates, predictor.eps)
        at_candidates = {name: self._at_candidates(name) for name in (*part.given, target)}
        likelihoods = {name: latents.functions[name].likelihood for name in part.given}
        level, predicted = predictor.tempering[target].from_others, []
        for block in row_blocks(len(part.indices), max(len(latents.candidates.mean), part.layer.sources.n_rows)):
            entries = {name: self._scaled(name, part.indices[block]) for name in part.given}
            found = latents.predict(entries, target, at_candidates, tempering=level)
            F, variance = (values.cpu().numpy() for values in found)
            given, _ = given_columns({name: Y.cpu().numpy() for name, Y in entries.items()}, likelihoods)
            predicted.append(part.layer.predict(KnownRows(given, F, variance)))
        return LayerPrediction(*(np.concatenate(values) for values in zip(*predicted, strict=True)))

    def _other_rows(self, parts: Mapping[str, Sequence[RowsOfLayer]]) -> list[tuple[RowIndices, list[str]]]:
        """Return the rows that no layer predicts, with the names of their targets; targets share rows if they can."""
        names_of: dict[bytes, list[str]] = {}
        for name, layers in parts.items():
            mask = np.ones(self._n_rows, dtype=bool)
            for part in layers:
                mask[part.indices] = False
            if mask.any():
                names_of.setdefault(mask.tobytes(), []).append(name)
        return [(np.flatnonzero(np.frombuffer(mask, dtype=bool)), names) for mask, names in names_of.items()]

    def _select(self, rows: RowIndices) -> "NewRows":
        return NewRows(self.predictor, {name: Y[rows] for name, Y in self.arrays.items()}, self.progress)

    def _empty(self, names: Sequence[str]) -> dict[str, Float[np.ndarray, "N _"]]:
        return {name: np.empty((self._n_rows, len(self.predictor.scalings[name].mean))) for name in names}

    def _ordered_names(self) -> list[str]:
        return [name for name in self.predictor.scalings if name in self.arrays]

    def _predictions(
        self, targets: Mapping[str, ViewFunction | ViewEntries]
    ) -> Iterator[tuple[str, RowIndices, Prediction]]:
        """Predict views in blocks of rows, each with its tempering."""
        predictor, eps = self.predictor, self.predictor.eps
        at_candidates = {name: predictor.at_candidates(name, view) for name, view in targets.items()}
        rows_at_candidates = [self._at_candidates(name) for name in self.arrays]
        levels = {name: self._tempering(name) for name in targets}
        for block, observed in self._blocks():
            for level in np.unique([levels[name][block] for name in targets]):
                # views with the same tempering share the posterior of the latents
                wanted = {name: levels[name][block] == level for name in levels}
                needed = np.any(list(wanted.values()), axis=0)
                rows_of = [(function, Y[torch.as_tensor(needed, device=Y.device)]) for function, Y in observed]
                posterior = mixture_posterior(rows_of, predictor.candidates, rows_at_candidates, tempering=float(level))
                for name, mine in wanted.items():
                    if mine.any():
                        chosen = posterior.select_rows(torch.as_tensor(mine[needed], device=eps.device))
                        yield name, block[mine], posterior_predictive(chosen, targets[name], at_candidates[name], eps)

    @torch.no_grad()
    def log_density(self) -> float:
        """Compute the log density of all observed entries in the units of the data, summed over rows."""
        at_candidates = [self._at_candidates(name) for name in self.arrays]
        total = 0.0
        for _, observed in self._blocks():
            posterior = mixture_posterior(observed, self.predictor.candidates, at_candidates, tempering=1.0)
            total += float(posterior.log_evidence.sum())
        for name, Y in self.arrays.items():
            total -= self.predictor.scalings[name].log_volume(Y)
        return total

    @property
    def n_observed(self) -> int:
        """The number of observed entries in columns that the model uses; a label counts as one."""
        return sum(self._n_observed(name, Y) for name, Y in self.arrays.items())

    def _n_observed(self, name: str, Y: Float[np.ndarray, "N M"]) -> int:
        count, kept = self.predictor.double_functions[name].likelihood.count_entries, self._kept(name)
        return row_sum(row_blocks(*Y.shape), lambda rows: (count(torch.as_tensor(Y[rows][:, kept])),))[0]

    @property
    def n_empty(self) -> int:
        """The number of rows without any observed entry."""
        observed = [observed_rows(Y, self._kept(name)) for name, Y in self.arrays.items()]
        return int((~np.any(observed, axis=0)).sum())

    def _kept(self, name: str) -> Bool[np.ndarray, " M"]:
        return self.predictor.scalings[name].kept

    @property
    def _n_rows(self) -> int:
        return len(next(iter(self.arrays.values())))

    def _tempering(self, name: str) -> Float[np.ndarray, " N"]:
        """Return the tempering of every row when a view is predicted, which depends on whether the row has the view."""
        tempering = self.predictor.tempering[name]
        if name not in self.arrays:
            return np.full(self._n_rows, tempering.from_others)
        has_view = observed_rows(self.arrays[name], self._kept(name))
        return np.where(has_view, tempering.from_itself, tempering.from_others)

    def _blocks(self) -> Iterator[tuple[RowIndices, list[ObservedRows]]]:
        """Yield blocks of scaled rows with the functions of their views."""
        n_candidates, D = self.predictor.candidates.mean.shape
        widest = max(max(self.predictor.double_functions[name].posteriors[0].mean.shape) for name in self.arrays)
        with self.progress(self._n_rows) as advance:
            for row_slice in row_blocks(self._n_rows, max(N_INITIAL_LATENTS * D * widest, n_candidates)):
                rows = np.arange(row_slice.start, row_slice.stop)
                yield rows, [(self.predictor.double_functions[name], self._scaled(name, rows)) for name in self.arrays]
                advance(len(rows))

    def _scaled(self, name: str, rows: RowIndices) -> Float[Tensor, "N _"]:
        Y = self.predictor.scalings[name].apply(self.arrays[name][rows])
        return torch.as_tensor(Y, device=self.predictor.model.latent.mean.device)

    def _at_candidates(self, name: str) -> Prediction:
        return self.predictor.at_candidates(name, self.predictor.double_functions[name])


def _averaged_quantity(function: ViewFunction, include_noise: bool) -> ViewFunction | ViewEntries:
    """Return what is averaged over candidate latents: the function, or the entries if they are exponential in it."""
    return ViewEntries(function, include_noise) if function.likelihood.log_link else function


@torch.no_grad()
def infer_zero_weight_rows(
    predictor: Predictor,
    arrays: Mapping[str, Float[np.ndarray, "n _"]],
    sample_weight: Float[Tensor, " N"],
    progress: Progress = no_progress,
) -> None:
    """Set the latents of training rows of weight zero as for out-of-sample rows, once the model is trained.

    Args:
        predictor: the trained model; the latents of these rows are changed.
        arrays: view name -> these rows as its likelihood takes them.
        sample_weight: of all training rows.
        progress: shows the progress over these rows.
    """
    rows = (sample_weight == 0).nonzero().squeeze(1)
    if len(rows):
        mean, std = NewRows(predictor, arrays, progress).latents()
        predictor.model.latent.set_rows(rows, torch.as_tensor(mean), torch.as_tensor(std))
