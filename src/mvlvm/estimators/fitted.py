"""A trained model together with all it needs to predict; the training data are no longer part of it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.errors import NumericalError
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.models.observed import ObservedView
from mvlvm.models.prediction import Prediction, WeightPosterior, average_over_draws, infer_weights
from mvlvm.randomness import Stream, make_generator
from mvlvm.training.history import History
from mvlvm.views.interop import Layout
from mvlvm.views.scaling import Scaling


@dataclass(frozen=True)
class FittedView:
    """One view after training.

    Attributes:
        scaling: between the data's units and the model's.
        posteriors: the weights for each of several draws of spectral points.
        noise_variance: in the model's units.
    """

    scaling: Scaling
    posteriors: tuple[WeightPosterior, ...]
    noise_variance: Tensor

    def predict(self, latent: GaussianLatent, draws: Sequence[Float[Tensor, "N D"]]) -> Prediction:
        """Predict the entries of the latent's rows, in the model's units."""
        predictions = [posterior.predict(latent.mean, latent.std, draws) for posterior in self.posteriors]
        return average_over_draws(predictions, self.noise_variance)

    def mean(self, latent: GaussianLatent) -> Float[Tensor, "N M"]:
        """Give the mean of `predict` alone."""
        means = [posterior.mean_at(latent.mean, latent.std) for posterior in self.posteriors]
        return torch.stack(means).mean(dim=0)

    def sample(self, X: Float[Tensor, "N D"], generator: torch.Generator) -> Float[Tensor, "N M"]:
        """Draw rows at latents; each takes the function of one of the spectral draws."""
        functions = torch.stack([posterior.draw(X, generator) for posterior in self.posteriors])
        which = torch.randint(len(functions), (len(X),), generator=generator, device=X.device)
        values = functions[which, torch.arange(len(X), device=X.device)]
        noise = torch.randn(values.shape, generator=generator, dtype=values.dtype, device=values.device)
        return values + self.noise_variance.sqrt() * noise

    def relevance(self, X: Float[Tensor, "N D"]) -> Float[Tensor, " D"]:
        """Give the share of each latent dimension in the view's variation: its slopes times its spread."""
        slopes = torch.stack([posterior.sensitivity(X) for posterior in self.posteriors]).mean(dim=0)
        strength = slopes * X.double().var(dim=0)
        return strength / strength.sum()


@dataclass(frozen=True)
class FittedModel:
    """Everything that predictions read.

    Attributes:
        model: the trained modules.
        views: view name -> what it takes to predict it.
        layout: the form in which the user gave the views.
        seed: of the draws that predictions make.
    """

    model: MultiViewLVM
    views: Mapping[str, FittedView]
    layout: Layout
    seed: int

    @torch.no_grad()
    def reconstructed_means(self) -> dict[str, Float[np.ndarray, "N _"]]:
        """Give the expected entries of the training rows, in the data's units."""
        latent = self.model.latent
        return {name: view.scaling.undo(_to_numpy(view.mean(latent))) for name, view in self.views.items()}

    @torch.no_grad()
    def reconstructed(self) -> tuple[dict[str, Float[np.ndarray, "N _"]], dict[str, Float[np.ndarray, "N _"]]]:
        """Give the expected entries of the training rows and their standard deviations, in the data's units."""
        latent, generator = self.model.latent, self._generator(self.seed, Stream.RECONSTRUCTION)
        draws = [latent.sample(generator) for _ in range(defaults.N_LATENT_DRAWS)]
        means, stds = {}, {}
        for name, view in self.views.items():
            prediction = view.predict(latent, draws)
            means[name] = view.scaling.undo(_to_numpy(prediction.mean))
            stds[name] = view.scaling.undo_std(_to_numpy(prediction.variance.sqrt()))
        return means, stds

    @torch.no_grad()
    def sample(self, n_samples: int, seed: int) -> dict[str, Float[np.ndarray, "n _"]]:
        """Draw rows from the model, in the data's units."""
        mean, generator = self.model.latent.mean, self._generator(seed, Stream.SAMPLES)
        X = torch.randn((n_samples, mean.shape[1]), generator=generator, dtype=mean.dtype, device=mean.device)
        return {name: view.scaling.undo(_to_numpy(view.sample(X, generator))) for name, view in self.views.items()}

    @torch.no_grad()
    def relevance(self) -> Float[np.ndarray, "V D"]:
        """Give each view's use of each latent dimension; rows sum to one."""
        X = self.model.latent.mean
        return np.stack([_to_numpy(view.relevance(X)) for view in self.views.values()])

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
    """

    history: Mapping[str, Float[np.ndarray, " T"]]
    stop_reason: str
    elbo: float
    explained_variance: Mapping[str, float]


@torch.no_grad()
def condition_on_data(
    model: MultiViewLVM, views: Sequence[ObservedView], scalings: Mapping[str, Scaling], layout: Layout, seed: int
) -> FittedModel:
    """Condition the views' weights on the data, so that the model can predict without them."""
    generator = make_generator(seed, Stream.WEIGHTS, model.latent.mean.device)
    fitted = {
        name: FittedView(
            scalings[name],
            tuple(
                infer_weights(view, model.latent, seen, n_latent_draws=defaults.N_LATENT_DRAWS, generator=generator)
                for _ in range(defaults.N_DRAWS_PREDICT)
            ),
            view.noise_variance.double(),
        )
        for name, view, seen in zip(scalings, model.feature_views, views, strict=True)
    }
    return FittedModel(model, fitted, layout, seed)


@torch.no_grad()
def record_fit(fitted: FittedModel, views: Sequence[ObservedView], history: History) -> FitRecord:
    """Note how the fit went, while the scaled views are still at hand."""
    model = fitted.model
    generator = make_generator(fitted.seed, Stream.BOUND, model.latent.mean.device)
    explained = {
        name: 1 - float(seen.squares(seen.Y - seen.of(view.mean(model.latent))) / seen.squares(seen.Y))
        for (name, view), seen in zip(fitted.views.items(), views, strict=True)
    }
    elbo = model.elbo(views, generator, n_draws=defaults.N_DRAWS_BOUND).value.item()
    if not math.isfinite(elbo):
        raise NumericalError(f"The bound of the trained model is {elbo}; it must be finite. Lower learning_rate.")
    return FitRecord(history.as_arrays(), str(history.stop_reason), elbo, explained)


def _to_numpy(values: Tensor) -> np.ndarray:
    return values.cpu().numpy()
