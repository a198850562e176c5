"""The last stage of a fit: a trained model conditioned on the data, ready to predict without them."""

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
from mvlvm.checks import require
from mvlvm.errors import ConvergenceWarning, NumericalError
from mvlvm.estimators.options import FitOptions
from mvlvm.estimators.preprocessing import RetainedViews
from mvlvm.estimators.train import Trained, count_entries
from mvlvm.inference.tempering import Tempering, learn_tempering
from mvlvm.inference.view_function import ViewFunction
from mvlvm.models.data import ViewData
from mvlvm.models.diagnostics import expected_bound, explained_variance
from mvlvm.models.multiview import Dimensions, MultiViewLVM, ViewStates
from mvlvm.models.weight_posterior import n_latent_draws_for
from mvlvm.randomness import Stream, make_generator
from mvlvm.row_blocks import row_blocks
from mvlvm.views.encoding import Encoding
from mvlvm.views.layout import Layout
from mvlvm.views.scaling import Scaling


@dataclass(frozen=True)
class FittedView:
    """One view after training.

    Attributes:
        encoding: between the values of the data and those of the likelihood.
        scaling: between the values of the likelihood and the units of the model.
        function: from latents to the view, in the units of the model.
        tempering: power of the likelihood of a row when this view of it is predicted.
    """

    encoding: Encoding
    scaling: Scaling
    function: ViewFunction
    tempering: Tempering

    @property
    def n_columns(self) -> int:
        """The number of columns of the view as given."""
        return self.encoding.n_input_columns(len(self.scaling.mean))

    def row_blocks(self, n_rows: int) -> list[slice]:
        """Split rows into blocks for prediction."""
        return row_blocks(n_rows, max(self.function.posteriors[0].mean.shape))

    def empty_rows(self, n_rows: int) -> Float[np.ndarray, "N _"]:
        """Return an uninitialised array for rows in the units of the data, as the likelihood takes them."""
        return np.empty((n_rows, len(self.scaling.mean)))

    def likelihood_parameters(self) -> dict[str, np.ndarray]:
        """Return the learned parameters of the likelihood by name, in the units of the model."""
        return {name: _to_numpy(value.detach().double()) for name, value in self.function.likelihood.describe().items()}


@dataclass(frozen=True)
class FittedModel:
    """A trained model and everything that predictions need.

    Attributes:
        model: the trained modules.
        views: view name -> the fitted view.
        layout: the form in which the views were given.
        seed: of the random draws in predictions.
        dimensions: which view depends on which latent dimensions.
    """

    model: MultiViewLVM
    views: Mapping[str, FittedView]
    layout: Layout
    seed: int
    dimensions: Dimensions

    @torch.no_grad()
    def reconstructed_means(self) -> dict[str, Float[np.ndarray, "N _"]]:
        """Reconstruct the training views in the units of the data."""
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
        """Reconstruct the training views in the units of the data, with standard deviations."""
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
        """Draw rows in the units of the data: latents from the prior, then every view."""
        mean, generator = self.model.latent.mean, self._generator(seed, Stream.SAMPLES)
        X = torch.randn((n_samples, mean.shape[1]), generator=generator, dtype=mean.dtype, device=mean.device)
        draws = {name: _to_numpy(view.function.sample(X, generator)) for name, view in self.views.items()}
        return {name: self.views[name].encoding.decode(self.views[name].scaling.undo(Y)) for name, Y in draws.items()}

    @torch.no_grad()
    def relevance(self) -> Float[np.ndarray, "V D"]:
        """Return the relevance of each latent dimension for each view; rows sum to one."""
        X = self.model.latent.mean
        return np.stack([_to_numpy(view.function.relevance(X)) for view in self.views.values()])

    def _latent_draws(self) -> list[Float[Tensor, "N D"]]:
        generator = self._generator(self.seed, Stream.RECONSTRUCTION)
        return [self.model.latent.sample(generator) for _ in range(defaults.N_LATENT_DRAWS)]

    def _generator(self, seed: int, stream: Stream) -> torch.Generator:
        return make_generator(seed, stream, self.model.latent.mean.device)


@dataclass(frozen=True)
class FitRecord:
    """The record of a fit, besides the model.

    Attributes:
        history: column name -> one value per training step.
        stop_reason: why training ended.
        elbo: the bound in nats, averaged over draws.
        explained_variance: view name -> share of its variance that the model explains.
        explained_per_dimension: views x latent dimensions, the part of it that is lost without the dimension.
        init: name of the initialisation.
    """

    history: Mapping[str, Float[np.ndarray, " T"]]
    stop_reason: str
    elbo: float
    explained_variance: Mapping[str, float]
    explained_per_dimension: Float[np.ndarray, "V D"]
    init: str


@torch.no_grad()
def condition(
    model: MultiViewLVM,
    data: Sequence[ViewData],
    trained: Trained,
    retained: RetainedViews,
    scalings: Mapping[str, Scaling],
    *,
    options: FitOptions,
    seed: int,
) -> FittedModel:
    """Condition the weights of all views on the data, so that the model can predict without them.

    Args:
        model: the trained model.
        data: the observations.
        trained: the result of training.
        retained: layout and encodings of the views.
        scalings: view name -> scaling.
        options: of the fit.
        seed: of the random draws.
    """
    device = model.latent.mean.device
    generator = make_generator(seed, Stream.WEIGHTS, device)
    n_latent_draws = n_latent_draws_for(len(model.latent.mean))
    functions = [
        ViewFunction(
            tuple(
                view.infer_weights(model.latent, seen, state, n_latent_draws=n_latent_draws, generator=generator)
                for _ in range(options.n_draws_predict if view.redraws else 1)
            ),
            view.likelihood,
        )
        for view, seen, state in zip(model.feature_views, data, trained.states, strict=True)
    ]
    tempering = _learn_tempering(model, data, trained.states, make_generator(seed, Stream.TEMPERING, device))
    views = {
        name: FittedView(retained.encodings[name], scalings[name], function, level)
        for name, function, level in zip(scalings, functions, tempering, strict=True)
    }
    return FittedModel(model, views, retained.layout, seed, trained.dimensions)


def _learn_tempering(
    model: MultiViewLVM, data: Sequence[ViewData], states: ViewStates, generator: torch.Generator
) -> tuple[Tempering, ...]:
    """Learn the tempering of all views; after an interrupt do without, so that the trained model is not lost."""
    try:
        return learn_tempering(model, data, states, generator)
    except KeyboardInterrupt:
        warnings.warn(
            "Interrupted while learning the likelihood tempering of predictions. The model is kept without tempering: "
            "error bars of predictions may be too narrow.",
            ConvergenceWarning,
            stacklevel=4,
        )
        return tuple(Tempering() for _ in data)


@torch.no_grad()
def record_fit(
    fitted: FittedModel, data: Sequence[ViewData], trained: Trained, *, init: str, memory_budget: float
) -> FitRecord:
    """Compute the reported bound and the explained variance, which need the data."""
    model, latent = fitted.model, fitted.model.latent
    generator = make_generator(fitted.seed, Stream.BOUND, latent.mean.device)
    explained = {
        name: explained_variance(view.function.entries, latent, seen)
        for (name, view), seen in zip(fitted.views.items(), data, strict=True)
    }
    states = model.final_states(data, trained.states, memory_budget=memory_budget)
    elbo = expected_bound(model, data, states, generator, n_entries=count_entries(model, data))
    if not math.isfinite(elbo):
        raise NumericalError(f"The bound of the trained model is {elbo}; it must be finite. Lower learning_rate.")
    return FitRecord(
        trained.history.as_arrays(), str(trained.history.stop_reason), elbo,
        {name: shares.total for name, shares in explained.items()},
        np.stack([_to_numpy(shares.per_dimension()) for shares in explained.values()]), init,
    )  # fmt: skip


def _to_numpy(values: Tensor) -> np.ndarray:
    return values.cpu().numpy()


def factor_frame(fitted: FittedModel) -> Any:
    """Return the latent means as a DataFrame, samples x dimensions."""
    pandas = require("pandas", "Returning factors as a DataFrame")
    mean = fitted.model.latent.mean.detach().double().cpu().numpy()
    index = fitted.layout.index if fitted.layout.row_names is not None else None
    return pandas.DataFrame(mean, index=index, columns=fitted.dimensions.names())


def relevance_frame(table: Float[np.ndarray, "V D"], fitted: FittedModel) -> Any:
    """Return a table of views x dimensions as a DataFrame."""
    pandas = require("pandas", "Returning relevance as a DataFrame")
    return pandas.DataFrame(table, index=list(fitted.views), columns=fitted.dimensions.names())
