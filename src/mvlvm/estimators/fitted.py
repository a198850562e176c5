"""A trained model together with all it needs to predict; the training data are no longer part of it.

What a fit found, as pandas DataFrames with names for rows and columns.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.errors import ConvergenceWarning, NumericalError
from mvlvm.estimators.train import count_entries
from mvlvm.inference.tempering import Tempering, learn_tempering
from mvlvm.models.conditioning import n_latent_draws_for
from mvlvm.models.data import ObservedView
from mvlvm.models.diagnostics import expected_bound, explained_variance
from mvlvm.models.multiview import Dimensions, MultiViewLVM
from mvlvm.models.weight_posterior import ViewFunction
from mvlvm.optional_dependencies import require
from mvlvm.randomness import Stream, make_generator
from mvlvm.row_blocks import row_blocks
from mvlvm.training.history import History
from mvlvm.views.encoding import Encoding
from mvlvm.views.layout import Layout
from mvlvm.views.scaling import Scaling


@dataclass(frozen=True)
class FittedView:
    """One view after training.

    Attributes:
        encoding: between the values of the data and those of the likelihood.
        scaling: between the likelihood's values and the model's units.
        function: from latents to the view, in the model's units.
        tempering: how much a row's likelihood counts when this view of it is predicted.
    """

    encoding: Encoding
    scaling: Scaling
    function: ViewFunction
    tempering: Tempering

    @property
    def n_columns(self) -> int:
        """The number of columns of the view as it came."""
        return self.encoding.n_input_columns(len(self.scaling.mean))

    def row_blocks(self, n_rows: int) -> list[slice]:
        """Cut rows into blocks that can be predicted at a time."""
        return row_blocks(n_rows, max(self.function.posteriors[0].mean.shape))

    def empty_rows(self, n_rows: int) -> Float[np.ndarray, "N _"]:
        """Give room for rows in the data's units, as the likelihood takes them."""
        return np.empty((n_rows, len(self.scaling.mean)))

    def likelihood_parameters(self) -> dict[str, np.ndarray]:
        """Give the parameters that the likelihood has learned, by name, in the model's units."""
        return {name: _to_numpy(value.detach().double()) for name, value in self.function.likelihood.describe().items()}


@dataclass(frozen=True)
class FittedModel:
    """Everything that predictions read.

    Attributes:
        model: the trained modules.
        views: view name -> what it takes to predict it.
        layout: the form in which the user gave the views.
        seed: of the draws that predictions make.
        dimensions: which view sees which latent dimensions.
    """

    model: MultiViewLVM
    views: Mapping[str, FittedView]
    layout: Layout
    seed: int
    dimensions: Dimensions

    @torch.no_grad()
    def reconstructed_means(self) -> dict[str, Float[np.ndarray, "N _"]]:
        """Give the expected entries of the training rows, in the data's units."""
        latent, draws, means = self.model.latent, self._latent_draws(), {}
        mean, std = latent.mean, latent.std
        for name, view in self.views.items():
            means[name] = view.empty_rows(len(mean))
            for rows in view.row_blocks(len(mean)):
                entries = view.function.entries(mean[rows], std[rows], [X[rows] for X in draws])
                means[name][rows] = view.scaling.undo(_to_numpy(entries))
        return means

    @torch.no_grad()
    def reconstructed(
        self, *, include_noise: bool = True
    ) -> tuple[dict[str, Float[np.ndarray, "N _"]], dict[str, Float[np.ndarray, "N _"]]]:
        """Give the expected entries of the training rows and their standard deviations, in the data's units."""
        latent, draws = self.model.latent, self._latent_draws()
        means, stds, mean, std = {}, {}, latent.mean, latent.std
        for name, view in self.views.items():
            means[name], stds[name] = view.empty_rows(len(mean)), view.empty_rows(len(mean))
            for rows in view.row_blocks(len(mean)):
                predicted = view.function.predict(mean[rows], std[rows], [X[rows] for X in draws])
                entry, variance = view.function.likelihood.respond(*predicted, include_noise=include_noise)
                means[name][rows] = view.scaling.undo(_to_numpy(entry))
                stds[name][rows] = view.scaling.undo_std(_to_numpy(variance.sqrt()))
        return means, stds

    @torch.no_grad()
    def sample(self, n_samples: int, seed: int) -> dict[str, Float[np.ndarray, "n _"]]:
        """Draw rows from the model, in the data's units."""
        mean, generator = self.model.latent.mean, self._generator(seed, Stream.SAMPLES)
        X = torch.randn((n_samples, mean.shape[1]), generator=generator, dtype=mean.dtype, device=mean.device)
        draws = {name: _to_numpy(view.function.sample(X, generator)) for name, view in self.views.items()}
        return {name: self.views[name].encoding.decode(self.views[name].scaling.undo(Y)) for name, Y in draws.items()}

    @torch.no_grad()
    def relevance(self) -> Float[np.ndarray, "V D"]:
        """Give each view's use of each latent dimension; rows sum to one."""
        X = self.model.latent.mean
        return np.stack([_to_numpy(view.function.relevance(X)) for view in self.views.values()])

    def _latent_draws(self) -> list[Float[Tensor, "N D"]]:
        generator = self._generator(self.seed, Stream.RECONSTRUCTION)
        return [self.model.latent.sample(generator) for _ in range(defaults.N_LATENT_DRAWS)]

    def _generator(self, seed: int, stream: Stream) -> torch.Generator:
        return make_generator(seed, stream, self.model.latent.mean.device)


@dataclass(frozen=True)
class FitRecord:
    """What is known about a fit beyond the model it gave.

    Attributes:
        history: the course of training, column name -> one value per step.
        stop_reason: why it ended.
        elbo: the bound in nats, over many draws.
        explained_variance: view name -> share of its variance that the model explains.
        explained_per_dimension: views by latent dimensions, what is lost of it when one of them is held at its mean.
    """

    history: Mapping[str, Float[np.ndarray, " T"]]
    stop_reason: str
    elbo: float
    explained_variance: Mapping[str, float]
    explained_per_dimension: Float[np.ndarray, "V D"]
    init: str


@torch.no_grad()
def condition_on_data(
    model: MultiViewLVM,
    views: Sequence[ObservedView],
    encodings: Mapping[str, Encoding],
    scalings: Mapping[str, Scaling],
    *,
    n_draws: int,
    seed: int,
) -> dict[str, FittedView]:
    """Condition the views' weights on the data, so that the model can predict without them.

    Args:
        model: trained.
        views: what was seen.
        encodings: view name -> encoding.
        scalings: view name -> scaling.
        n_draws: spectral draws to average over.
        seed: of the draws.
    """
    device = model.latent.mean.device
    generator = make_generator(seed, Stream.WEIGHTS, device)
    n_latent_draws = n_latent_draws_for(len(model.latent.mean))
    functions = [
        ViewFunction(
            tuple(
                view.infer_weights(model.latent, seen, n_latent_draws=n_latent_draws, generator=generator)
                for _ in range(n_draws if view.redraws else 1)
            ),
            view.likelihood,
        )
        for view, seen in zip(model.feature_views, views, strict=True)
    ]
    tempering = _tempering_or_none(model, views, make_generator(seed, Stream.TEMPERING, device))
    return {
        name: FittedView(encodings[name], scalings[name], function, level)
        for name, function, level in zip(scalings, functions, tempering, strict=True)
    }


def _tempering_or_none(
    model: MultiViewLVM, views: Sequence[ObservedView], generator: torch.Generator
) -> tuple[Tempering, ...]:
    """Learn the tempering, or do without if the user has no patience: a trained model is not to be lost."""
    try:
        return learn_tempering(model, views, generator)
    except KeyboardInterrupt:
        warnings.warn(
            "Interrupted while learning how much a row's likelihood is to count in predictions. The model is kept, and "
            "takes likelihoods at their word: error bars of predictions may be too narrow.",
            ConvergenceWarning,
            stacklevel=4,
        )
        return tuple(Tempering() for _ in views)


@torch.no_grad()
def record_fit(fitted: FittedModel, views: Sequence[ObservedView], history: History, init: str) -> FitRecord:
    """Note where a fit started and how it went, while the scaled views are still at hand."""
    model, latent = fitted.model, fitted.model.latent
    generator = make_generator(fitted.seed, Stream.BOUND, latent.mean.device)
    explained = {
        name: explained_variance(view.function.entries, latent, seen)
        for (name, view), seen in zip(fitted.views.items(), views, strict=True)
    }
    elbo = expected_bound(model, views, generator, n_entries=count_entries(model, views))
    if not math.isfinite(elbo):
        raise NumericalError(f"The bound of the trained model is {elbo}; it must be finite. Lower learning_rate.")
    return FitRecord(
        history.as_arrays(), str(history.stop_reason), elbo,
        {name: shares.total for name, shares in explained.items()},
        np.stack([_to_numpy(shares.by_dimension) for shares in explained.values()]), init,
    )  # fmt: skip


def _to_numpy(values: Tensor) -> np.ndarray:
    return values.cpu().numpy()


def factor_frame(fitted: FittedModel) -> Any:
    """Give the latents, a row for every sample and a column for every dimension."""
    pandas = require("pandas", "Giving factors as a DataFrame")
    mean = fitted.model.latent.mean.detach().double().cpu().numpy()
    index = fitted.layout.index if fitted.layout.row_names is not None else None
    return pandas.DataFrame(mean, index=index, columns=fitted.dimensions.names())


def view_frame(table: Float[np.ndarray, "V D"], views: Sequence[str], fitted: FittedModel) -> Any:
    """Give a table of views and dimensions."""
    pandas = require("pandas", "Giving relevance as a DataFrame")
    return pandas.DataFrame(table, index=list(views), columns=fitted.dimensions.names())
