"""What predictions need besides the trained model: weights conditioned on the training rows, tempering, candidates."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.errors import ConvergenceWarning, warn
from mvlvm.inference.conditional_rows import ConditionalLayers, Pair, SavedLayer
from mvlvm.inference.held_out_latents import HeldOutLatents, TrainingRows
from mvlvm.inference.posterior import MAX_CANDIDATES, CandidateLatents, antithetic_normals, candidate_latents
from mvlvm.inference.tempering import Tempering, learn_tempering
from mvlvm.inference.view_function import ViewEntries, ViewFunction
from mvlvm.lazy import Lazy
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.models.views import ModelView
from mvlvm.models.weight_posterior import Prediction, n_latent_draws_for
from mvlvm.randomness import Stream, make_generator
from mvlvm.views.scaling import Scaling

# Predictions at the candidates are kept for later calls up to this number of bytes, which is enough for eight views of
# a thousand columns; those of further views are computed in every call.
_MAX_CACHED_BYTES = 256e6


class Predictor:
    """A trained model, conditioned on the training rows on first use.

    Args:
        model: the trained modules.
        scalings: view name -> scaling, in the order of the model's views.
        seed: of the random draws.
        functions: view name -> its function, with the weights conditioned on the training rows.
        tempering: view name -> its likelihood tempering.
        rows: training rows for the conditional layers; None if they are not available.
        saved_layers: layers that were fitted before.

    Attributes:
        layers: the conditional layers.
    """

    def __init__(
        self,
        model: MultiViewLVM,
        scalings: Mapping[str, Scaling],
        seed: int,
        *,
        functions: Lazy[dict[str, ViewFunction]],
        tempering: Lazy[dict[str, Tempering]],
        rows: Lazy[TrainingRows | None] | None = None,
        saved_layers: Mapping[Pair, SavedLayer] | None = None,
    ) -> None:
        rows = Lazy.known(None) if rows is None else rows
        self.model, self.scalings, self.seed = model, scalings, seed
        self._functions, self._tempering, self._rows = functions, tempering, rows
        held_out = Lazy(lambda kept, of_views: HeldOutLatents(model, of_views, kept, seed), rows, functions)
        self.layers = ConditionalLayers(
            model, rows, held_out, lambda name: self.tempering[name].from_others, seed, saved_layers
        )
        self._lock = threading.RLock()
        self._cache: dict[str, Any] = {}
        self._at_candidates: dict[tuple[str, bool | None], Prediction] = {}

    @property
    def functions(self) -> dict[str, ViewFunction]:
        """View name -> its function."""
        return self._functions.value

    @property
    def tempering(self) -> dict[str, Tempering]:
        """View name -> the exponents of the likelihood of a row when this view of it is predicted."""
        return self._tempering.value

    @property
    def lazy_parts(self) -> dict[str, Lazy[Any]]:
        """Name -> what is computed from the training rows on first use."""
        return {"weights": self._functions, "tempering": self._tempering, "training rows": self._rows}

    @property
    def double_functions(self) -> dict[str, ViewFunction]:
        """View name -> its function in float64."""
        return self._cached("functions", lambda: {name: view.double() for name, view in self.functions.items()})

    @property
    def candidates(self) -> CandidateLatents:
        """Latents of training rows, candidates for those of new rows."""
        return self._cached("candidates", self._draw_candidates)

    @property
    def eps(self) -> Float[Tensor, "S D"]:
        """Standard normal draws for the uncertainty of the latents, the same for all rows."""
        return self._cached("eps", self._draw_eps)

    @torch.no_grad()
    def at_candidates(self, name: str, view: ViewFunction | ViewEntries) -> Prediction:
        """Return the function of a view, or its entries, at the candidates.

        Args:
            name: of the view.
            view: its function in float64, or its entries.
        """
        key = (name, view.include_noise if isinstance(view, ViewEntries) else None)
        with self._lock:
            found = self._at_candidates.get(key)
            if found is None:
                found = self.candidates.predict(view)
                kept = sum(values.nbytes for prediction in self._at_candidates.values() for values in prediction)
                if kept + sum(values.nbytes for values in found) <= _MAX_CACHED_BYTES:
                    self._at_candidates[key] = found
        return found

    def _generator(self) -> torch.Generator:
        """Return a CPU generator, so that a model fitted on a GPU predicts the same after it is loaded without one."""
        return make_generator(self.seed, Stream.NEW_ROWS)

    def _draw_candidates(self) -> CandidateLatents:
        latent, generator = self.model.latent, self._generator()
        rows = torch.randperm(len(latent.mean), generator=generator).to(latent.mean.device)
        if latent.sample_weight is not None:  # rows of weight zero are no candidates
            rows = rows[latent.sample_weight[rows] > 0]
        with torch.no_grad():
            return candidate_latents(latent, rows[:MAX_CANDIDATES], defaults.N_LATENT_DRAWS, generator)

    def _draw_eps(self) -> Float[Tensor, "S D"]:
        mean = self.model.latent.mean
        return antithetic_normals((defaults.N_LATENT_DRAWS, mean.shape[1]), mean, self._generator())

    def _cached(self, key: str, compute: Callable[[], Any]) -> Any:
        with self._lock:
            if key not in self._cache:
                self._cache[key] = compute()
            return self._cache[key]

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (
            self.model,
            self.scalings,
            self.seed,
            self._functions,
            self._tempering,
            self._rows,
            self.layers.saved,
        )
        return _restored, arguments


def condition(
    model: MultiViewLVM, scalings: Mapping[str, Scaling], views: Mapping[str, ModelView], *, seed: int, n_draws: int
) -> Predictor:
    """Condition a trained model on the training rows; the computations are deferred to first use.

    Args:
        model: the trained model.
        scalings: view name -> scaling, in the order of the model's views.
        views: the trained views with their data.
        seed: of the random draws.
        n_draws: number of draws of spectral points to average over.
    """
    device = model.latent.mean.device

    def functions() -> dict[str, ViewFunction]:
        return infer_functions(model.latent, views, make_generator(seed, Stream.WEIGHTS, device), n_draws)

    def tempering() -> dict[str, Tempering]:
        return _tempering_or_none(model.latent, views, make_generator(seed, Stream.TEMPERING, device))

    def rows() -> TrainingRows:
        return TrainingRows.select({name: view.data for name, view in views.items()}, model.latent, seed)

    return Predictor(
        model, scalings, seed, functions=Lazy(functions), tempering=Lazy(tempering), rows=Lazy(rows)
    )  # fmt: skip


def _tempering_or_none(
    latent: GaussianLatent, views: Mapping[str, ModelView], generator: torch.Generator
) -> dict[str, Tempering]:
    """Learn the tempering of all views; without it, if that fails, the trained model can still be used."""
    try:
        return learn_tempering(latent, views, generator)
    except (ArithmeticError, RuntimeError, ValueError, IndexError) as error:
        warn(
            f"The likelihood tempering of predictions could not be learned: {error}. Predictions are made without it: "
            "their error bars may be too narrow.",
            ConvergenceWarning,
        )
        return {name: Tempering() for name in views}


def _restored(
    model: MultiViewLVM,
    scalings: Mapping[str, Scaling],
    seed: int,
    functions: Lazy[dict[str, ViewFunction]],
    tempering: Lazy[dict[str, Tempering]],
    rows: Lazy[TrainingRows | None],
    saved_layers: Mapping[Pair, SavedLayer],
) -> Predictor:
    """Return a predictor after pickling or copying, without the caches."""
    return Predictor(
        model, scalings, seed, functions=functions, tempering=tempering, rows=rows, saved_layers=saved_layers
    )  # fmt: skip


@torch.no_grad()
def infer_functions(
    latent: GaussianLatent, views: Mapping[str, ModelView], generator: torch.Generator, n_draws: int
) -> dict[str, ViewFunction]:
    """Condition the weights of all views on the training rows.

    Args:
        latent: posterior of the training rows.
        views: the trained views with their data.
        generator: draws latents and spectral points.
        n_draws: number of draws of spectral points; one where a view keeps its own.
    """
    n_latent_draws = n_latent_draws_for(len(latent.mean))
    return {
        name: ViewFunction(
            tuple(
                view.infer_weights(latent, n_latent_draws=n_latent_draws, generator=generator)
                for _ in range(n_draws if view.module.redraws else 1)
            ),
            view.module.likelihood,
        )
        for name, view in views.items()
    }
