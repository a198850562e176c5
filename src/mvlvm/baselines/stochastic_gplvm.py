"""What sparse Gaussian process latent variable models share: of one layer or deep, of views joined or one by one."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float

from mvlvm import defaults
from mvlvm.baselines.abilities import PlacesRows, PredictsViews, RebuildsViews
from mvlvm.baselines.base import Matrices, State
from mvlvm.baselines.joining import apart, side_by_side, widths_of
from mvlvm.baselines.learning import arrays_of, teach
from mvlvm.baselines.row_modes import in_float64
from mvlvm.baselines.stacked_model import StackedModel, start_inducing
from mvlvm.checks import check_integer, check_number
from mvlvm.init.pca import pca_init
from mvlvm.randomness import RandomStateLike


class AbstractStochasticGPLVM(RebuildsViews):
    """Sparse processes from q(X), learned by an uncollapsed bound on some rows at a time.

    Args:
        n_components: latent dimensions, D.
        n_inducing: inducing points of every process, U; no more than rows.
        batch_size: rows of one step.
        max_iter: steps of Adam.
        learning_rate: of Adam, until the last fifth of the steps, in which it falls.
        random_state: of the inducing points' start, and of rows and latents that are drawn.
        verbose: 1 shows progress.

    Attributes:
        n_layers: processes between the latent and a view.
        embedding_: (N, D) the means of q(X).
    """

    n_layers: ClassVar[int]

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        *,
        n_inducing: int = 50,
        batch_size: int = 200,
        max_iter: int = 2000,
        learning_rate: float = defaults.LEARNING_RATE,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _arranged(self, views: Matrices) -> dict[str, Float[np.ndarray, "N _"]]:
        """Give the matrices that get a process each."""

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        n_inducing = check_integer(self.n_inducing, "n_inducing", at_least=1)
        batch_size = check_integer(self.batch_size, "batch_size", at_least=1)
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)
        learning_rate = check_number(self.learning_rate, "learning_rate", positive=True)
        Ys = in_float64(self._arranged(views).values())
        X = pca_init(Ys, self.n_components)
        model = StackedModel(X, start_inducing(X, n_inducing, seed), [Y.shape[1] for Y in Ys], self.n_layers)
        model.learn(
            Ys, batch_size=batch_size, max_iter=max_iter, learning_rate=learning_rate, seed=seed, verbose=self.verbose
        )
        self._model = model.requires_grad_(False)
        return model.latent.mean.numpy()

    def _predicted(self, latents: Float[np.ndarray, "K D"]) -> list[Float[np.ndarray, "K _"]]:
        (X,) = in_float64([latents])
        return [stack.predicted(X)[0].numpy() for stack in self._model.each]

    def _state(self) -> State:
        return arrays_of(self._model)

    def _restore(self, state: State) -> None:
        start, Z = torch.from_numpy(state["latent.mean"]), torch.from_numpy(state["stacks.0.last.Z"])
        blank = {name: np.empty((1, width)) for name, width in self._widths.items()}
        widths = list(widths_of(self._arranged(blank)).values())
        self._model = StackedModel(start, Z, widths, self.n_layers).requires_grad_(False)
        teach(self._model, state)


class AbstractJoinedGPLVM(PlacesRows, AbstractStochasticGPLVM):
    """All views side by side, with one process."""

    def _arranged(self, views: Matrices) -> dict[str, Float[np.ndarray, "N _"]]:
        return {"all": side_by_side(views)}

    def _place(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return self._model.place(in_float64(self._arranged(views).values()), [0]).numpy()

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        (joined,) = self._predicted(latents)
        return apart(joined, self._widths)


class AbstractSharedGPLVM(PredictsViews, AbstractStochasticGPLVM):
    """A process for every view, and one latent for all."""

    def _arranged(self, views: Matrices) -> dict[str, Float[np.ndarray, "N _"]]:
        return dict(views)

    def _place_some(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        which = [self.view_names_.index(name) for name in views]
        return self._model.place(in_float64(views.values()), which).numpy()

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return dict(zip(self.view_names_, self._predicted(latents), strict=True))
