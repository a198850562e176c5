"""Parts of autoencoders: layers that start from a generator, and what they say of latents and of views.

What autoencoders share as estimators: their sizes, their training, and the way from matrices to tensors and back.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.baselines.base import AbstractBaseline, State
from mvlvm.baselines.mixins import ReconstructMixin, TransformMixin
from mvlvm.baselines.training import draw_batch, load_arrays, maximize, seeded_linear, state_arrays
from mvlvm.baselines.validation import (
    DataKind,
    Matrices,
    concatenate_counts,
    concatenate_views,
    split_counts,
    split_views,
)
from mvlvm.checks import check_integer, check_number
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.parameters import positive
from mvlvm.randomness import RandomStateLike, Stream, make_generator
from mvlvm.shapes import Scalar

# Keeps the precision of an expert within float32.
_MIN_STD = 1e-3
# Where the noise starts, in the units of scaled views: all of their variance, because nothing is explained yet.
_INITIAL_NOISE_VARIANCE = 1.0


class DiagonalNormal(NamedTuple):
    """One normal with a diagonal covariance per row."""

    mean: Float[Tensor, "N D"]
    std: Float[Tensor, "N D"]

    def sample(self, generator: torch.Generator) -> Float[Tensor, "N D"]:
        """Draw latents, differentiable by mean and std."""
        eps = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype)
        return self.mean + self.std * eps

    def log_density(self, X: Float[Tensor, "N D"]) -> Float[Tensor, " N"]:
        """Give the log density of one latent per row."""
        z = (X - self.mean) / self.std
        return -(0.5 * z.square() + self.std.log() + 0.5 * math.log(2 * math.pi)).sum(dim=1)


def standard_normal(like: Float[Tensor, "N D"]) -> DiagonalNormal:
    """Give the prior of latents of this shape."""
    return DiagonalNormal(torch.zeros_like(like), torch.ones_like(like))


def mlp(widths: Sequence[int], generator: torch.Generator) -> nn.Sequential:
    """Give linear mlp between these widths, with a rectifier between any two of them."""
    linear: list[nn.Module] = [seeded_linear(n_in, n_out, generator) for n_in, n_out in pairwise(widths)]
    return nn.Sequential(*[part for layer in linear for part in (nn.ReLU(), layer)][1:])


class GaussianEncoder(nn.Module):
    """q(x | y): a network gives the mean and the raw standard deviation of the latent of every row.

    Args:
        network: gives 2 D numbers per row.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, Y: Float[Tensor, "N M"]) -> DiagonalNormal:
        """Give the distributions of the rows' latents."""
        mean, raw_std = self.network(Y).chunk(2, dim=1)
        return DiagonalNormal(mean, _MIN_STD + positive(raw_std))


class GaussianDecoder(nn.Module):
    """p(y | x): a network gives the mean, and all columns share one noise variance, which is learned.

    Args:
        network: gives M numbers per row.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.likelihood = Gaussian(_INITIAL_NOISE_VARIANCE).float()

    def forward(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Give the mean of every row."""
        return self.network(X)

    def log_density(self, Y: Float[Tensor, "N M"], X: Float[Tensor, "N D"]) -> Float[Tensor, " N"]:
        """Give log p(y | x) of every row."""
        return self.likelihood.log_density(Y, self.network(X)).sum(dim=1)


def library_sizes(Y: Float[Tensor, "N M"]) -> Float[Tensor, "N 1"]:
    """Give the sum of every row; a row of zeros counts as one event."""
    return Y.sum(dim=1, keepdim=True).clamp(min=1.0)


Network = TypeVar("Network", bound=nn.Module)
# Of every encoder and every decoder.
_N_HIDDEN_LAYERS = 2
_NETWORK = "network."


class NetworkMixin(AbstractBaseline, Generic[Network]):
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
        return [self.n_hidden] * _N_HIDDEN_LAYERS

    def _start(self, seed: int) -> None:
        """Check parameters, and begin with an untrained module."""
        for name in ("n_hidden", "batch_size", "max_iter"):
            check_integer(getattr(self, name), name, at_least=1)
        check_number(self.learning_rate, "learning_rate", positive=True)
        self._network = self._untrained(make_generator(seed, Stream.INITIALISATION))

    def _train(self, bound: Callable[[Int[Tensor, " B"], torch.Generator], Scalar], n_rows: int, seed: int) -> None:
        """Raise a bound of some rows at a time."""
        maximize(
            self._network, lambda draws: bound(draw_batch(n_rows, self.batch_size, draws), draws),
            max_iter=self.max_iter, learning_rate=self.learning_rate, seed=seed, verbose=self.verbose,
        )  # fmt: skip

    def _state(self) -> State:
        return {_NETWORK + name: array for name, array in state_arrays(self._network).items()}

    def _restore(self, state: State) -> None:
        self._network = self._untrained(make_generator(0, Stream.INITIALISATION))
        learned = {name: array for name, array in state.items() if name.startswith(_NETWORK)}
        load_arrays(self._network, {name.removeprefix(_NETWORK): array for name, array in learned.items()})


class AbstractAutoencoderNetwork(nn.Module, ABC):
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


class AbstractAutoencoder(NetworkMixin[AbstractAutoencoderNetwork], TransformMixin, ReconstructMixin):
    """A network for one matrix, which gets several views side by side.

    Of counts, rows are rebuilt with as many events as they had in training.
    """

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        self._start(seed)
        Y = self._joined(views)
        self._sizes = library_sizes(Y).numpy() if self.kind is DataKind.COUNTS else np.ones((len(Y), 1))
        self._network.begin_at(Y)
        self._train(lambda rows, draws: self._network.bound(Y[rows], draws), len(Y), seed)
        return self._place(views)

    @torch.no_grad()
    def _place(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return self._network.place(self._joined(views)).double().numpy()

    @torch.no_grad()
    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        rebuilt = self._network.rebuild(as_float32_tensor(latents)).double().numpy() * self._sizes
        return (split_counts if self.kind is DataKind.COUNTS else split_views)(rebuilt, self._widths)

    def _state(self) -> State:
        return {**super()._state(), "sizes": self._sizes}

    def _restore(self, state: State) -> None:
        super()._restore(state)
        self._sizes = state["sizes"]

    def _joined(self, views: Matrices) -> Float[Tensor, "N M"]:
        return as_float32_tensor((concatenate_counts if self.kind is DataKind.COUNTS else concatenate_views)(views))


def as_float32_tensor(array: Float[np.ndarray, "N M"]) -> Float[Tensor, "N M"]:
    """Give a matrix in the precision of the networks."""
    return torch.from_numpy(array.astype(np.float32))
