"""Networks, training and estimator interface shared by all autoencoders."""

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
from mvlvm.baselines.base import AbstractBaseline, ReconstructMixin, State, TransformMixin
from mvlvm.baselines.baseline_input import (
    DataKind,
    Matrices,
    concatenate_counts,
    concatenate_views,
    split_counts,
    split_views,
)
from mvlvm.baselines.training import draw_batch, load_arrays, maximize, seeded_linear, state_arrays
from mvlvm.checks import check_integer, check_number
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.parameters import positive
from mvlvm.randomness import RandomStateLike, Stream, make_generator
from mvlvm.shapes import Scalar

# Lower limit of standard deviations, which keeps precisions within the range of float32.
_MIN_STD = 1e-3
# Initially the noise explains all the variance of the scaled views.
_INITIAL_NOISE_VARIANCE = 1.0


class DiagonalNormal(NamedTuple):
    """Normal distributions with diagonal covariance, one per row."""

    mean: Float[Tensor, "N D"]
    std: Float[Tensor, "N D"]

    def sample(self, generator: torch.Generator) -> Float[Tensor, "N D"]:
        """Draw (N, D) reparametrised samples, differentiable with respect to mean and std."""
        eps = torch.randn(self.mean.shape, generator=generator, dtype=self.mean.dtype)
        return self.mean + self.std * eps

    def log_density(self, X: Float[Tensor, "N D"]) -> Float[Tensor, " N"]:
        """Return the (N,) log densities of one latent per row."""
        z = (X - self.mean) / self.std
        return -(0.5 * z.square() + self.std.log() + 0.5 * math.log(2 * math.pi)).sum(dim=1)


def standard_normal(like: Float[Tensor, "N D"]) -> DiagonalNormal:
    """Return the standard normal prior of latents of this shape."""
    return DiagonalNormal(torch.zeros_like(like), torch.ones_like(like))


def mlp(widths: Sequence[int], generator: torch.Generator) -> nn.Sequential:
    """Return a multi-layer perceptron with the given layer widths and ReLU activations."""
    linear: list[nn.Module] = [seeded_linear(n_in, n_out, generator) for n_in, n_out in pairwise(widths)]
    return nn.Sequential(*[part for layer in linear for part in (nn.ReLU(), layer)][1:])


class GaussianEncoder(nn.Module):
    """q(x | y): a network computes the mean and the raw standard deviation of the latent of every row.

    Args:
        network: network with 2 D outputs.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, Y: Float[Tensor, "N M"]) -> DiagonalNormal:
        """Return the distributions of the latents."""
        mean, raw_std = self.network(Y).chunk(2, dim=1)
        return DiagonalNormal(mean, _MIN_STD + positive(raw_std))


class GaussianDecoder(nn.Module):
    """p(y | x): a network computes the mean; all columns share one trainable noise variance.

    Args:
        network: network with M outputs.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.likelihood = Gaussian(_INITIAL_NOISE_VARIANCE).float()

    def forward(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Return the (N, M) means."""
        return self.network(X)

    def log_density(self, Y: Float[Tensor, "N M"], X: Float[Tensor, "N D"]) -> Float[Tensor, " N"]:
        """Return the (N,) log densities log p(y | x)."""
        return self.likelihood.log_density(Y, self.network(X)).sum(dim=1)


def library_sizes(Y: Float[Tensor, "N M"]) -> Float[Tensor, "N 1"]:
    """Return the (N, 1) row sums; a row of zeros has size one."""
    return Y.sum(dim=1, keepdim=True).clamp(min=1.0)


Network = TypeVar("Network", bound=nn.Module)
# In every encoder and every decoder.
_N_HIDDEN_LAYERS = 2
_NETWORK = "network."


class NetworkMixin(ABC, Generic[Network]):
    """Parameters, training and state of a baseline whose model is a PyTorch module."""

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
        """Store the parameters.

        Args:
            n_components: number of latent dimensions, D.
            n_hidden: width of the two hidden layers of encoders and decoders.
            batch_size: rows per step.
            max_iter: number of Adam steps.
            learning_rate: learning rate of Adam; it decays over the last fifth of the steps.
            random_state: seed of the initialisation and of all samples.
            verbose: 1 shows a progress bar.
        """
        self.n_components = n_components
        self.n_hidden = n_hidden
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _build_network(self, generator: torch.Generator) -> Network:
        """Return the untrained module for views of `_widths`, initialised from the generator."""

    def _hidden_widths(self) -> list[int]:
        """Return the widths of the hidden layers."""
        return [self.n_hidden] * _N_HIDDEN_LAYERS

    def _init_network(self, seed: int) -> None:
        """Check the parameters and create the untrained module."""
        for name in ("n_hidden", "batch_size", "max_iter"):
            check_integer(getattr(self, name), name, at_least=1)
        check_number(self.learning_rate, "learning_rate", positive=True)
        self._network = self._build_network(make_generator(seed, Stream.INITIALISATION))

    def _train(self, objective: Callable[[Int[Tensor, " B"], torch.Generator], Scalar], n_rows: int, seed: int) -> None:
        """Maximise an objective on minibatches."""
        maximize(
            self._network, lambda draws: objective(draw_batch(n_rows, self.batch_size, draws), draws),
            max_iter=self.max_iter, learning_rate=self.learning_rate, seed=seed, verbose=self.verbose,
        )  # fmt: skip

    def _get_state(self) -> State:
        return {_NETWORK + name: array for name, array in state_arrays(self._network).items()}

    def _set_state(self, state: State) -> None:
        self._network = self._build_network(make_generator(0, Stream.INITIALISATION))
        arrays = {name: array for name, array in state.items() if name.startswith(_NETWORK)}
        load_arrays(self._network, {name.removeprefix(_NETWORK): array for name, array in arrays.items()})


class AbstractAutoencoderNetwork(nn.Module, ABC):
    """An encoder and a decoder for the rows of a matrix."""

    @abstractmethod
    def initialize(self, Y: Float[Tensor, "N M"]) -> None:
        """Initialise the parameters that are estimated from the data."""

    @abstractmethod
    def objective(self, Y: Float[Tensor, "N M"], generator: torch.Generator) -> Scalar:
        """Estimate the objective to be maximised, per row."""

    @abstractmethod
    def encode(self, Y: Float[Tensor, "N M"]) -> Float[Tensor, "N D"]:
        """Return the (N, D) latents of rows."""

    @abstractmethod
    def decode(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N M"]:
        """Return the (N, M) reconstructions at latents; for counts, the proportions of the columns."""


class AbstractAutoencoder(NetworkMixin[AbstractAutoencoderNetwork], TransformMixin, ReconstructMixin, AbstractBaseline):
    """Base class of autoencoders of the concatenated views.

    Reconstructed rows of counts have the same total as in training.
    """

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        self._init_network(seed)
        Y = self._concatenate(views)
        self._sizes = library_sizes(Y).numpy() if self.kind is DataKind.COUNTS else np.ones((len(Y), 1))
        self._network.initialize(Y)
        self._train(lambda rows, draws: self._network.objective(Y[rows], draws), len(Y), seed)
        return self._transform(views)

    @torch.no_grad()
    def _transform(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return self._network.encode(self._concatenate(views)).double().numpy()

    @torch.no_grad()
    def _reconstruct(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        decoded = self._network.decode(as_float32_tensor(latents)).double().numpy() * self._sizes
        return (split_counts if self.kind is DataKind.COUNTS else split_views)(decoded, self._widths)

    def _get_state(self) -> State:
        return {**super()._get_state(), "sizes": self._sizes}

    def _set_state(self, state: State) -> None:
        super()._set_state(state)
        self._sizes = state["sizes"]

    def _concatenate(self, views: Matrices) -> Float[Tensor, "N M"]:
        return as_float32_tensor((concatenate_counts if self.kind is DataKind.COUNTS else concatenate_views)(views))


def as_float32_tensor(array: Float[np.ndarray, "N M"]) -> Float[Tensor, "N M"]:
    """Convert a matrix to a float32 tensor, the precision of the networks."""
    return torch.from_numpy(array.astype(np.float32))
