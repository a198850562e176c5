"""A naive implementation of the paper's equations as printed, in float64 with autograd: the reference for speed.

Only misprints are corrected (docs/errata.md). Views, initialisation and parametrisation are those of the library, so
that differences in time and memory are due to the implementation.
"""

import math
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.baselines.base import AbstractBaseline, State, warn_not_converged
from mvlvm.baselines.baseline_input import Matrices
from mvlvm.checks import check_integer
from mvlvm.init.pca import pca_init
from mvlvm.models.spectral_mixture import SpectralMixture
from mvlvm.parameters import positive, raw_positive
from mvlvm.randomness import RandomStateLike
from mvlvm.shapes import Scalar
from mvlvm.views.scaling import fit_scaling

# The paper's setting; the library's learning rate is higher and decays.
PAPER_LEARNING_RATE = 0.01


class Draws(NamedTuple):
    """The standard normal draws of one step.

    Attributes:
        latent: draws for X, shared by all views.
        spectral: draws for w_1 and w_2 of every view.
    """

    latent: Float[Tensor, "N D"]
    spectral: Sequence[Float[Tensor, "2 Q P D"]]


def scaled_tensors(views: Mapping[str, Float[np.ndarray, "N _"]], device: str = "cpu") -> list[Float[Tensor, "N _"]]:
    """Return the views centred and scaled as in the library, as float64 tensors on the device."""
    return as_tensors({name: fit_scaling(name, Y, "auto").apply(Y) for name, Y in views.items()}, device)


def as_tensors(views: Matrices, device: str) -> list[Float[Tensor, "N _"]]:
    """Return the views as float64 tensors on the device."""
    return [torch.as_tensor(Y, dtype=torch.float64, device=device) for Y in views.values()]


def features(X: Float[Tensor, "N D"], mixture: SpectralMixture, eps: Float[Tensor, "2 Q P D"]) -> Float[Tensor, "N F"]:
    """Compute the features of Thm 2 and 3: two cosines and two sines per pair of spectral points (Prop. 1)."""
    p, n_points, columns = mixture.density(), eps.shape[2], []
    for q, alpha in enumerate(p.alpha):
        w1 = p.mu1[q] + p.sigma1[q] * eps[0, q]
        mean_given_w1 = p.mu2[q] + p.rho[q] * p.sigma2[q] / p.sigma1[q] * (w1 - p.mu1[q])
        w2 = mean_given_w1 + torch.sqrt(1 - p.rho[q] ** 2) * p.sigma2[q] * eps[1, q]
        scale = 0.5 * torch.sqrt(alpha / n_points)
        columns.append(scale * (torch.cos(X @ w1.T) + torch.cos(X @ w2.T)))
        columns.append(scale * (torch.sin(X @ w1.T) + torch.sin(X @ w2.T)))
    return torch.cat(columns, dim=1)


def log_evidence(Y: Float[Tensor, "N M"], Phi: Float[Tensor, "N F"], s: Scalar) -> Scalar:
    """Compute log N(Y | 0, Phi Phi' + s I) by the Woodbury identity, App. C.2 with A = Phi' Phi + s I."""
    (N, M), F = Y.shape, Phi.shape[1]
    L = torch.linalg.cholesky(Phi.T @ Phi + s * torch.eye(F, dtype=Phi.dtype, device=Phi.device))
    log_det = 2 * torch.log(torch.diagonal(L)).sum() + (N - F) * torch.log(s)
    projected = torch.linalg.solve_triangular(L, Phi.T @ Y, upper=False)
    quadratic = ((Y**2).sum() - (projected**2).sum()) / s
    return -0.5 * (M * log_det + quadratic + N * M * math.log(2 * math.pi))


class NaiveModel(nn.Module):
    """NG-MVLVM as in Alg. 1, trained with Adam at the paper's learning rate.

    Args:
        Ys: scaled views in float64, see `scaled_tensors`.
        n_components: number of latent dimensions, D.
        n_mixtures: number of mixture components, Q.
        n_points: number of spectral points per component, P.
        seed: random seed of the initialisation and of all draws.
        learning_rate: constant learning rate of Adam.
    """

    def __init__(
        self, Ys: Sequence[Float[Tensor, "N _"]], *, n_components: int = defaults.N_COMPONENTS,
        n_mixtures: int = defaults.N_MIXTURES, n_points: int = defaults.N_POINTS, seed: int = 0,
        learning_rate: float = PAPER_LEARNING_RATE,
    ) -> None:  # fmt: skip
        super().__init__()
        self.Ys, device = list(Ys), Ys[0].device
        self.points_shape = (2, n_mixtures, n_points, n_components)
        self.generator = torch.Generator(device=device).manual_seed(seed)
        self.mean = nn.Parameter(pca_init(Ys, n_components))
        self.raw_std = nn.Parameter(torch.full_like(self.mean, raw_positive(defaults.INITIAL_LATENT_STD)))
        self.raw_noise = nn.Parameter(self.mean.new_full((len(Ys),), raw_positive(defaults.INITIAL_NOISE_VARIANCE)))
        mixtures = [SpectralMixture(n_mixtures, n_components, self.generator) for _ in Ys]
        self.mixtures = nn.ModuleList(mixtures).to(device, torch.float64)
        self.optimiser = torch.optim.Adam(self.parameters(), lr=learning_rate)

    @property
    def latents(self) -> Float[np.ndarray, "N D"]:
        """The current posterior means, shape (N, D)."""
        return self.mean.detach().cpu().numpy().copy()

    def draw(self) -> Draws:
        """Draw the random numbers of one step."""
        latent = self._normal(tuple(self.mean.shape))
        return Draws(latent, [self._normal(self.points_shape) for _ in self.Ys])

    def bound(self, draws: Draws) -> Scalar:
        """Estimate the evidence lower bound from one draw of X for all views, with unit weight for every term."""
        std = positive(self.raw_std)
        X = self.mean + std * draws.latent
        kl = 0.5 * (std**2 + self.mean**2 - torch.log(std**2) - 1).sum()
        terms = [
            log_evidence(Y, features(X, mixture, eps), positive(raw_noise))  # pyright: ignore[reportArgumentType]
            for Y, mixture, eps, raw_noise in zip(self.Ys, self.mixtures, draws.spectral, self.raw_noise, strict=True)
        ]
        return torch.stack(terms).sum() - kl

    def step(self) -> float:
        """Take one Adam step on all parameters; return the bound before it."""
        self.optimiser.zero_grad()
        loss = -self.bound(self.draw())
        loss.backward()
        self.optimiser.step()
        return -loss.item()

    def _normal(self, shape: tuple[int, ...]) -> Tensor:
        return torch.randn(shape, generator=self.generator, dtype=torch.float64, device=self.mean.device)


class NaiveNGMVLVM(AbstractBaseline):
    """The naive implementation as an estimator.

    Args:
        n_components: number of latent dimensions, D.
        n_mixtures: number of mixture components, Q.
        n_points: number of spectral points per component, P.
        max_iter: number of Adam steps; the default is the maximum of `NGMVLVM`.
        learning_rate: constant learning rate of Adam.
        device: "cpu" or "cuda".
        random_state: seed of the initialisation and of all draws.

    Attributes:
        embedding_: (N, D) posterior means of the latents.
        history_: "objective" (the bound) and "seconds" since the start of training, after every step.
        n_iter_: number of steps.
    """

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        *,
        n_mixtures: int = defaults.N_MIXTURES,
        n_points: int = defaults.N_POINTS,
        max_iter: int = defaults.MAX_ITER,
        learning_rate: float = PAPER_LEARNING_RATE,
        device: str = "cpu",
        random_state: RandomStateLike = None,
    ) -> None:
        self.n_components = n_components
        self.n_mixtures = n_mixtures
        self.n_points = n_points
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.device = device
        self.random_state = random_state

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)
        model = NaiveModel(
            as_tensors(views, self.device), n_components=self.n_components, n_mixtures=self.n_mixtures,
            n_points=self.n_points, seed=seed, learning_rate=self.learning_rate,
        )  # fmt: skip
        bounds, seconds, begin = [], [], time.perf_counter()
        try:
            for _ in range(max_iter):
                bounds.append(model.step())
                seconds.append(time.perf_counter() - begin)
        except KeyboardInterrupt:
            reason = f"was interrupted after {len(seconds)} of {max_iter} steps"
            warn_not_converged("The naive implementation", reason, "Call fit again to train to the end.")
        self.history_ = {"objective": np.array(bounds[: len(seconds)]), "seconds": np.array(seconds)}
        self.n_iter_ = len(seconds)
        return model.latents

    def _get_state(self) -> State:
        return {}

    def _set_state(self, state: State) -> None:
        del state  # there is none
