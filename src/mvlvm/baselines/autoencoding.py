"""What autoencoders share as estimators: their sizes, their training, and the way from matrices to tensors and back."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.baselines.abilities import PlacesRows, RebuildsViews
from mvlvm.baselines.admitting import Kind
from mvlvm.baselines.base import AbstractBaseline, Matrices, State
from mvlvm.baselines.count_decoders import library_sizes
from mvlvm.baselines.joining import apart, counts_apart, counts_side_by_side, side_by_side
from mvlvm.baselines.learning import arrays_of, raise_bound, some_rows, teach
from mvlvm.checks import check_integer, check_number
from mvlvm.randomness import RandomStateLike, Stream, make_generator
from mvlvm.shapes import Scalar

Network = TypeVar("Network", bound=nn.Module)
# Of every encoder and every decoder.
_HIDDEN_LAYERS = 2
_NETWORK = "network."


class AbstractTrained(AbstractBaseline, Generic[Network]):
    """A baseline whose knowledge is a torch module."""

    _network: Network

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        n_hidden: int = 128,
        batch_size: int = 128,
        max_iter: int = 2500,
        learning_rate: float = 1e-3,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        """Store parameters.

        Args:
            n_components: latent dimensions, D.
            n_hidden: width of the two hidden layers, of encoders and of decoders.
            batch_size: rows per step.
            max_iter: steps of Adam.
            learning_rate: of Adam, until it falls in the last fifth of the steps.
            random_state: of the networks' start, and of all draws.
            verbose: 1 shows progress.
        """
        self.n_components = n_components
        self.n_hidden = n_hidden
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _untrained(self, generator: torch.Generator) -> Network:
        """Make the module for views of `_widths`, with a start drawn from a generator."""

    def _hidden(self) -> list[int]:
        """Give the widths of hidden layers."""
        return [self.n_hidden] * _HIDDEN_LAYERS

    def _start(self, seed: int) -> None:
        """Check parameters, and begin with an untrained module."""
        for name in ("n_hidden", "batch_size", "max_iter"):
            check_integer(getattr(self, name), name, at_least=1)
        check_number(self.learning_rate, "learning_rate", positive=True)
        self._network = self._untrained(make_generator(seed, Stream.INITIALISATION))

    def _train(self, bound: Callable[[Int[Tensor, " B"], torch.Generator], Scalar], n_rows: int, seed: int) -> None:
        """Raise a bound of some rows at a time."""
        raise_bound(
            self._network, lambda draws: bound(some_rows(n_rows, self.batch_size, draws), draws),
            max_iter=self.max_iter, learning_rate=self.learning_rate, seed=seed, verbose=self.verbose,
        )  # fmt: skip

    def _state(self) -> State:
        return {_NETWORK + name: array for name, array in arrays_of(self._network).items()}

    def _restore(self, state: State) -> None:
        self._network = self._untrained(make_generator(0, Stream.INITIALISATION))
        learned = {name: array for name, array in state.items() if name.startswith(_NETWORK)}
        teach(self._network, {name.removeprefix(_NETWORK): array for name, array in learned.items()})


class AbstractNetwork(nn.Module, ABC):
    """From the rows of one matrix to latents, and back."""

    @abstractmethod
    def begin_at(self, Y: Float[Tensor, "N M"]) -> None:
        """Start with what can be read off the data."""

    @abstractmethod
    def bound(self, Y: Float[Tensor, "N M"], generator: torch.Generator) -> Scalar:
        """Estimate what is to be raised, per row."""

    @abstractmethod
    def place(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N D"]:
        """Give the latents of rows."""

    @abstractmethod
    def rebuild(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Give the rows at latents; of counts, the share of every column in its row."""


class AbstractAutoencoder(AbstractTrained[AbstractNetwork], PlacesRows, RebuildsViews):
    """A network for one matrix, which gets several views side by side.

    Of counts, rows are rebuilt with as many events as they had in training.
    """

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        self._start(seed)
        Y = self._joined(views)
        self._sizes = library_sizes(Y).numpy() if self.kind is Kind.COUNTS else np.ones((len(Y), 1))
        self._network.begin_at(Y)
        self._train(lambda rows, draws: self._network.bound(Y[rows], draws), len(Y), seed)
        return self._place(views)

    @torch.no_grad()
    def _place(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return self._network.place(self._joined(views)).double().numpy()

    @torch.no_grad()
    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        rebuilt = self._network.rebuild(as_tensor(latents)).double().numpy() * self._sizes
        return (counts_apart if self.kind is Kind.COUNTS else apart)(rebuilt, self._widths)

    def _state(self) -> State:
        return {**super()._state(), "sizes": self._sizes}

    def _restore(self, state: State) -> None:
        super()._restore(state)
        self._sizes = state["sizes"]

    def _joined(self, views: Matrices) -> Float[Tensor, "N M"]:
        return as_tensor((counts_side_by_side if self.kind is Kind.COUNTS else side_by_side)(views))


def as_tensor(array: Float[np.ndarray, "N M"]) -> Float[Tensor, "N M"]:
    """Give a matrix in the precision of the networks."""
    return torch.from_numpy(array.astype(np.float32))
