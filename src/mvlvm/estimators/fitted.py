"""A fitted model with the units of its views, and the record of its fit."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.errors import ConvergenceWarning, NumericalError, warn
from mvlvm.estimators.train import Trained
from mvlvm.inference.predictor import Predictor
from mvlvm.inference.view_function import ViewFunction, prediction_blocks
from mvlvm.lazy import Lazy
from mvlvm.likelihoods import AbstractLikelihood
from mvlvm.models.data import ViewData
from mvlvm.models.diagnostics import expected_bound, explained_variance
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import Dimensions, MultiViewLVM, final_views
from mvlvm.models.state import StateSettings
from mvlvm.models.views import ModelView
from mvlvm.randomness import Stream, make_generator
from mvlvm.views.encoding import Encoding
from mvlvm.views.layout import Layout
from mvlvm.views.scaling import Scaling


@dataclass(frozen=True)
class FittedView:
    """The units and the likelihood of one view.

    Attributes:
        encoding: between the values of the data and those of the likelihood.
        scaling: between the values of the likelihood and the units of the model.
        likelihood: p(y | f).
    """

    encoding: Encoding
    scaling: Scaling
    likelihood: AbstractLikelihood

    @property
    def n_columns(self) -> int:
        """The number of columns of the view as given."""
        return self.encoding.n_input_columns(len(self.scaling.mean))

    def empty_rows(self, n_rows: int) -> Float[np.ndarray, "N _"]:
        """Return an uninitialised array for rows in the units of the data, as the likelihood takes them."""
        return np.empty((n_rows, len(self.scaling.mean)))

    def likelihood_parameters(self) -> dict[str, np.ndarray]:
        """Return the learned parameters of the likelihood by name, in the units of the model."""
        return {name: _to_numpy(value.detach().double()) for name, value in self.likelihood.describe().items()}


def fitted_views(
    model: MultiViewLVM, encodings: Mapping[str, Encoding], scalings: Mapping[str, Scaling]
) -> dict[str, FittedView]:
    """Return view name -> its units and likelihood, in the order of the model's views."""
    modules = model.modules_by_view
    return {name: FittedView(encodings[name], scalings[name], module.likelihood) for name, module in modules.items()}


@dataclass(frozen=True)
class FittedModel:
    """A trained model and everything that predictions need.

    Attributes:
        model: the trained modules.
        views: view name -> the fitted view.
        layout: the form in which the views were given.
        dimensions: which view depends on which latent dimensions.
        predictor: the model conditioned on the training rows.
    """

    model: MultiViewLVM
    views: Mapping[str, FittedView]
    layout: Layout
    dimensions: Dimensions
    predictor: Predictor

    @property
    def seed(self) -> int:
        """The seed of the random draws in predictions."""
        return self.predictor.seed

    @torch.no_grad()
    def reconstructed_means(self) -> dict[str, Float[np.ndarray, "N _"]]:
        """Reconstruct the training views in the units of the data."""
        latent, draws, means = self.model.latent, self._latent_draws(), {}
        mean, std = latent.mean, latent.std
        for name, function in self.predictor.functions.items():
            means[name] = self.views[name].empty_rows(len(mean))
            for rows in prediction_blocks(function, len(mean)):
                entries = function.entries(mean[rows], std[rows], [X[rows] for X in draws])
                means[name][rows] = self.views[name].scaling.undo(_to_numpy(entries))
        return means

    @torch.no_grad()
    def reconstructed(
        self, *, include_noise: bool = True
    ) -> tuple[dict[str, Float[np.ndarray, "N _"]], dict[str, Float[np.ndarray, "N _"]]]:
        """Reconstruct the training views in the units of the data, with standard deviations."""
        latent = self.model.latent
        return self.entries_at(latent.mean, latent.std, self._latent_draws(), include_noise=include_noise)

    @torch.no_grad()
    def entries_at(
        self, mean: Float[Tensor, "n D"], std: Float[Tensor, "n D"], draws: Sequence[Float[Tensor, "n D"]], *,
        include_noise: bool,
    ) -> tuple[dict[str, Float[np.ndarray, "n _"]], dict[str, Float[np.ndarray, "n _"]]]:  # fmt: skip
        """Return means and standard deviations of all views at Gaussian latents, in the units of the data.

        Args:
            mean: the latents' means.
            std: their standard deviations.
            draws: draws of the latents, for the variance.
            include_noise: whether standard deviations are those of entries, or of the function.
        """
        means, stds = {}, {}
        for name, function in self.predictor.functions.items():
            view = self.views[name]
            means[name], stds[name] = view.empty_rows(len(mean)), view.empty_rows(len(mean))
            for rows in prediction_blocks(function, len(mean)):
                predicted = function.predict(mean[rows], std[rows], [X[rows] for X in draws])
                entry, variance = function.likelihood.respond(*predicted, include_noise=include_noise)
                means[name][rows] = view.scaling.undo(_to_numpy(entry))
                stds[name][rows] = view.scaling.undo_std(_to_numpy(variance.sqrt()))
        return means, stds

    @torch.no_grad()
    def sample(self, n_samples: int, seed: int) -> dict[str, Float[np.ndarray, "n _"]]:
        """Draw rows in the units of the data: latents from the prior, then every view."""
        mean, generator = self.model.latent.mean, self._generator(seed, Stream.SAMPLES)
        X = torch.randn((n_samples, mean.shape[1]), generator=generator, dtype=mean.dtype, device=mean.device)
        functions = self.predictor.functions
        draws = {name: _to_numpy(function.sample(X, generator)) for name, function in functions.items()}
        return {name: self.views[name].encoding.decode(self.views[name].scaling.undo(Y)) for name, Y in draws.items()}

    def _latent_draws(self) -> list[Float[Tensor, "N D"]]:
        generator = self._generator(self.seed, Stream.RECONSTRUCTION)
        return [self.model.latent.sample(generator) for _ in range(defaults.N_LATENT_DRAWS)]

    def _generator(self, seed: int, stream: Stream) -> torch.Generator:
        return make_generator(seed, stream, self.model.latent.mean.device)


class VarianceShares(NamedTuple):
    """The explained variance of all views.

    Attributes:
        total: view name -> share of its variance that the model explains.
        per_dimension: views x latent dimensions, the part of it that is lost without the dimension.
    """

    total: dict[str, float]
    per_dimension: Float[np.ndarray, "V D"]


@dataclass(frozen=True)
class FitRecord:
    """The record of a fit, besides the model.

    Attributes:
        history: column name -> one value per training step.
        stop_reason: why training ended.
        init: name of the initialisation.
        matmul_backend: implementation of float32 products on a CPU.
        view_weights: view name -> weight of its evidence.
        elbo: the bound in nats, averaged over draws.
        explained: the explained variance.
        relevance: views x latent dimensions; rows sum to one.
        data: view name -> the scaled training view, as long as they are available.
    """

    history: Mapping[str, Float[np.ndarray, " T"]]
    stop_reason: str
    init: str
    matmul_backend: str
    view_weights: Mapping[str, float]
    elbo: Lazy[float]
    explained: Lazy[VarianceShares]
    relevance: Lazy[Float[np.ndarray, "V D"]]
    data: Mapping[str, ViewData] | None = None

    @property
    def lazy_parts(self) -> dict[str, Lazy[Any]]:
        """Name -> what is computed on first use."""
        return {"explained variance": self.explained, "relevance": self.relevance, "bound": self.elbo}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy or pickle, which does not contain the training data."""
        return {**vars(self), "data": None}


def record_fit(predictor: Predictor, trained: Trained, *, memory_budget: float, matmul_backend: str) -> FitRecord:
    """Return the record of a fit; what needs the data is computed on first use.

    Args:
        predictor: the trained model, conditioned on the training rows.
        trained: the result of training.
        memory_budget: bytes that features may take.
        matmul_backend: implementation of float32 products on a CPU.
    """
    model, views, functions = trained.model, trained.views, predictor.lazy_parts["weights"]
    data = {name: view.data for name, view in views.items()}
    return FitRecord(
        trained.history.as_arrays(), str(trained.history.stop_reason), trained.init, matmul_backend,
        {name: view.weight for name, view in views.items()},
        elbo=Lazy(partial(reported_bound, model, views, predictor.seed, memory_budget=memory_budget)),
        explained=Lazy(partial(variance_shares, model.latent, data), functions),
        relevance=Lazy(partial(relevance_table, model.latent), functions),
        data=data,
    )  # fmt: skip


def variance_shares(
    latent: GaussianLatent, data: Mapping[str, ViewData], functions: Mapping[str, ViewFunction]
) -> VarianceShares:
    """Compute the explained variance of all views.

    Args:
        latent: posterior of the training rows.
        data: view name -> scaled view.
        functions: view name -> its function.
    """
    shares = {name: explained_variance(function.entries, latent, data[name]) for name, function in functions.items()}
    per_dimension = np.stack([_to_numpy(share.per_dimension()) for share in shares.values()])
    return VarianceShares({name: share.total for name, share in shares.items()}, per_dimension)


@torch.no_grad()
def reported_bound(model: MultiViewLVM, views: Mapping[str, ModelView], seed: int, *, memory_budget: float) -> float:
    """Return the bound in nats, averaged over draws; NaN, with a warning, if it cannot be computed.

    Args:
        model: the trained model.
        views: the trained views with their data.
        seed: of the draws.
        memory_budget: bytes that features may take.
    """
    generator = make_generator(seed, Stream.BOUND, model.latent.mean.device)
    n_entries = sum(view.n_entries for view in views.values())
    settings = StateSettings(model.latent.mean.dtype, memory_budget=memory_budget)
    try:
        whole = final_views(views, settings)
        bound, reason = expected_bound(model, whole, generator, n_entries=n_entries), "it is not finite"
    except NumericalError as error:
        bound, reason = math.nan, str(error)
    if not math.isfinite(bound):
        warn(
            f"The bound of the trained model cannot be computed: {reason}. The model is kept, and elbo_ is NaN. "
            "Lower learning_rate, or fit with dtype='float64'.",
            ConvergenceWarning,
        )
        return math.nan
    return bound


@torch.no_grad()
def relevance_table(latent: GaussianLatent, functions: Mapping[str, ViewFunction]) -> Float[np.ndarray, "V D"]:
    """Return the relevance of each latent dimension for each view; rows sum to one."""
    return np.stack([_to_numpy(function.relevance(latent.mean)) for function in functions.values()])


def fitted_attributes(fitted: FittedModel, record: FitRecord) -> dict[str, Any]:
    """Return the public attributes of a fitted estimator that need no further computation."""
    latent, views, dimensions, layout = fitted.model.latent, fitted.views, fitted.dimensions, fitted.layout
    mean, std = (values.detach().double().cpu().numpy() for values in (latent.mean, latent.std))
    widths = {name: view.n_columns for name, view in views.items()}
    parameters = {name: view.likelihood_parameters() for name, view in views.items()}
    attributes = {
        "view_names_": list(views),
        "n_features_in_": next(iter(widths.values())) if layout.container.single else widths,
        "embedding_": mean[:, dimensions.shared],
        "embedding_std_": std[:, dimensions.shared],
        "n_components_": dimensions.n_shared,
        "private_embedding_": {view: mean[:, dimensions.private_to(view)] for view in dimensions.private},
        "private_embedding_std_": {view: std[:, dimensions.private_to(view)] for view in dimensions.private},
        "likelihood_": {name: view.likelihood.name for name, view in views.items()},
        "likelihood_parameters_": parameters,
        "classes_": {name: list(form.classes) for name, form in layout.labels.items()},
        "scale_": {name: view.scaling.scale for name, view in views.items()},
        "noise_variance_": {
            name: views[name].scaling.undo_variance(float(values["noise_variance"]))
            for name, values in parameters.items()
            if "noise_variance" in values
        },
        "init_": record.init,
        "matmul_backend_": record.matmul_backend,
        "view_weights_": dict(record.view_weights),
        "history_": record.history,
        "n_iter_": len(record.history["objective"]),
        "stop_reason_": record.stop_reason,
    }
    columns = list(next(iter(layout.columns.values()), []))
    if layout.container.single and columns and all(isinstance(column, str) for column in columns):
        attributes["feature_names_in_"] = np.asarray(columns, dtype=object)
    return attributes


def _to_numpy(values: Tensor) -> np.ndarray:
    return values.cpu().numpy()


def factor_frame(latents: Float[np.ndarray, "N D"], fitted: FittedModel, index: Any) -> Any:
    """Return latents of all dimensions as a DataFrame, samples x dimensions."""
    return pd.DataFrame(latents, index=index, columns=pd.Index(fitted.dimensions.names()))


def relevance_frame(table: Float[np.ndarray, "V D"], fitted: FittedModel) -> Any:
    """Return a table of views x dimensions as a DataFrame."""
    return pd.DataFrame(table, index=pd.Index(list(fitted.views)), columns=pd.Index(fitted.dimensions.names()))
