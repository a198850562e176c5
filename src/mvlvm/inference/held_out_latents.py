"""Predictions of training rows by the latents, out of sample: what the conditional layer learns from.

The weights of the features fit the training rows, so predictions of these rows by their own model are far more accurate
than those of new rows. Here the rows are divided into folds, and a view of the rows of one fold is predicted from
others with weights that are conditioned on the remaining folds; the latents of the rows are inferred as for new rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mvlvm.inference.posterior import (
    MAX_CANDIDATES,
    CandidateLatents,
    antithetic_normals,
    candidate_latents,
    fast_mixture_posterior,
    posterior_predictive,
)
from mvlvm.inference.view_function import ViewFunction
from mvlvm.models.data import EntriesBySample, ViewData
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.models.weight_posterior import Prediction
from mvlvm.randomness import Stream, make_generator
from mvlvm.row_blocks import row_blocks

# Of more training rows, a random subset is kept for predictions.
MAX_TRAINING_ROWS = 4000
_N_FOLDS = 5
_N_LATENT_DRAWS = 4


@dataclass(frozen=True)
class TrainingRows:
    """Training rows that predictions refer to.

    Attributes:
        indices: their indices among all training rows.
        entries: view name -> scaled entries, NaN where missing.
    """

    indices: Int[Tensor, " n"]
    entries: Mapping[str, Float[Tensor, "n _"]]

    @classmethod
    def select(cls, data: Mapping[str, ViewData], latent: GaussianLatent, seed: int) -> "TrainingRows":
        """Copy the training rows of positive sample weight, or a random subset of them.

        Args:
            data: view name -> scaled view.
            latent: posterior of the training rows.
            seed: of the subset.
        """
        n, weight = len(latent.mean), latent.sample_weight
        rows = torch.arange(n) if weight is None else (weight > 0).nonzero().squeeze(1).cpu()
        if len(rows) > MAX_TRAINING_ROWS:
            order = torch.randperm(len(rows), generator=make_generator(seed, Stream.CONDITIONAL))
            rows = rows[order[:MAX_TRAINING_ROWS].sort().values]
        views = {name: EntriesBySample(view, n) for name, view in data.items()}
        return cls(rows, {name: view[rows.to(data[name].Y.device)].float().cpu() for name, view in views.items()})

    def complete(self, names: Sequence[str]) -> Bool[Tensor, " n"]:
        """Return the mask of rows that have all entries of some views."""
        return ~torch.stack([torch.isnan(self.entries[name]).any(dim=1) for name in names]).any(dim=0)


@dataclass(frozen=True)
class FastLatents:
    """Predictions by the latents with the posterior that is faster to compute.

    Attributes:
        functions: view name -> its function.
        candidates: latents of training rows, candidates for those of other rows.
        eps: standard normal draws for the uncertainty of the latents.
    """

    functions: Mapping[str, ViewFunction]
    candidates: CandidateLatents
    eps: Float[Tensor, "S D"]

    def predict(
        self,
        entries: Mapping[str, Float[Tensor, "n _"]],
        target: str,
        at_candidates: Mapping[str, Prediction],
        *,
        tempering: float,
    ) -> Prediction:
        """Return the mean and variance of the function of a view, without noise.

        Args:
            entries: view name -> its scaled entries; NaN marks missing entries.
            target: name of the view to predict.
            at_candidates: view name -> its prediction at the candidates, of all these views.
            tempering: the exponent of the likelihood.
        """
        observed = [(self.functions[name], Y) for name, Y in entries.items()]
        at_given = [at_candidates[name] for name in entries]
        posterior = fast_mixture_posterior(observed, self.candidates, at_given, tempering=tempering)
        return posterior_predictive(posterior, self.functions[target], at_candidates[target], self.eps)


class HeldOutLatents:
    """The folds of the training rows, which all targets share.

    Args:
        model: the trained model.
        functions: view name -> its function given all training rows, for views whose weights have no closed form.
        rows: the training rows.
        seed: of the folds and of all draws.
    """

    def __init__(
        self, model: MultiViewLVM, functions: Mapping[str, ViewFunction], rows: TrainingRows, seed: int
    ) -> None:
        self._rows, self._device = rows, model.latent.mean.device
        generator = make_generator(seed, Stream.CONDITIONAL, self._device)
        n_rows = len(rows.indices)
        self._fold_of = torch.randperm(n_rows, generator=make_generator(seed, Stream.CONDITIONAL)) % _N_FOLDS
        with torch.no_grad():
            self._folds = [_fold(model, functions, rows, self._fold_of != k, generator) for k in range(_N_FOLDS)]

    @torch.no_grad()
    def predict(
        self, given: Sequence[str], target: str, rows: Bool[Tensor, " n"], *, tempering: float
    ) -> tuple[Float[Tensor, "r M"], Float[Tensor, "r M"]]:
        """Predict a view of some rows from others: mean and variance of its function, without noise.

        Args:
            given: names of the given views.
            target: name of the view.
            rows: mask of the rows.
            tempering: the exponent of the likelihood.
        """
        shape = self._rows.entries[target].shape
        mean, variance = (torch.empty(shape, dtype=torch.float64) for _ in range(2))
        for k, fold in enumerate(self._folds):
            chosen = ((self._fold_of == k) & rows).nonzero().squeeze(1)
            at_candidates = {name: fold.candidates.predict(fold.functions[name]) for name in (*given, target)}
            for block in row_blocks(len(chosen), len(fold.candidates.mean)):
                part = chosen[block]
                entries = {name: self._rows.entries[name][part].double().to(self._device) for name in given}
                found = fold.predict(entries, target, at_candidates, tempering=tempering)
                mean[part], variance[part] = (values.cpu() for values in found)
        return mean[rows], variance[rows]


def _fold(
    model: MultiViewLVM,
    functions: Mapping[str, ViewFunction],
    rows: TrainingRows,
    kept: Bool[Tensor, " n"],
    generator: torch.Generator,
) -> FastLatents:
    """Condition the model on some of the training rows."""
    indices = rows.indices[kept].to(generator.device)
    latent = model.latent.subset(indices)
    conditioned = {}
    for name, module in model.modules_by_view.items():
        Y = rows.entries[name][kept].to(latent.mean)
        if not module.likelihood.collapses or torch.isnan(Y).all():
            conditioned[name] = functions[name].double()
            continue
        data = ViewData.from_array(Y, latent.sample_weight)
        weights = module.infer_weights(latent, data, None, n_latent_draws=_N_LATENT_DRAWS, generator=generator)
        conditioned[name] = ViewFunction((weights,), module.likelihood).double()
    order = torch.randperm(len(indices), generator=generator, device=generator.device)
    candidates = candidate_latents(model.latent, indices[order[:MAX_CANDIDATES]], _N_LATENT_DRAWS, generator)
    eps = antithetic_normals((_N_LATENT_DRAWS, latent.mean.shape[1]), latent.mean, generator)
    return FastLatents(conditioned, candidates, eps)
