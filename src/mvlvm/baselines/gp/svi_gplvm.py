"""Sparse and deep GPLVMs trained by stochastic variational inference (GPLVM-SVI, DGPLVM and multi-view variants)."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.baselines.base import AbstractBaseline, PredictMixin, ReconstructMixin, State, TransformMixin
from mvlvm.baselines.baseline_input import Matrices, concatenate_views, split_views, view_widths
from mvlvm.baselines.gp.sparse_gp import DeepGP, NoiseSampler, independent_noise, shared_noise
from mvlvm.baselines.training import as_float64_tensors, draw_batch, load_arrays, maximize, state_arrays
from mvlvm.checks import check_integer, check_number
from mvlvm.evidence.elbo import latent_kl
from mvlvm.inference.row_likelihood import pairwise_row_log_density
from mvlvm.init.pca import pca_init
from mvlvm.models.latent import GaussianLatent
from mvlvm.randomness import RandomStateLike, Stream, make_generator
from mvlvm.row_blocks import row_blocks
from mvlvm.shapes import Scalar

# Optimisation of q(x) of new rows, which is initialised at the training row that explains them best.
_TRANSFORM_STEPS = 60
_TRANSFORM_LEARNING_RATE = 0.05


class VariationalGPLVM(nn.Module):
    """q(X), and a sparse or deep Gaussian process per view.

    Args:
        X: initial latent means.
        Z: initial inducing points.
        widths: number of columns of every view.
        n_layers: number of layers of every process.
    """

    def __init__(
        self, X: Float[Tensor, "N D"], Z: Float[Tensor, "U D"], widths: Sequence[int], n_layers: int
    ) -> None:  # fmt: skip
        super().__init__()
        self.latent = GaussianLatent(X.double(), defaults.INITIAL_LATENT_STD)
        self.stacks = nn.ModuleList(DeepGP(Z, width, n_layers) for width in widths)

    @property
    def processes(self) -> list[DeepGP]:
        """The processes of the views."""
        return [process for process in self.stacks if isinstance(process, DeepGP)]

    def elbo(
        self, Ys: Sequence[Float[Tensor, "N _"]], rows: Int[Tensor, " B"], generator: torch.Generator
    ) -> Scalar:  # fmt: skip
        """Estimate the ELBO of all views from a minibatch of rows and one sample of their latents."""
        batch = rows_elbo(self.latent, self.processes, Ys, rows, independent_noise(generator))
        return len(self.latent.mean) / len(rows) * batch - sum(process.kl() for process in self.processes)

    def train_svi(
        self,
        Ys: Sequence[Float[Tensor, "N _"]],
        *,
        batch_size: int,
        max_iter: int,
        learning_rate: float,
        seed: int,
        verbose: int,
    ) -> None:
        """Initialise the processes and maximise the ELBO on minibatches."""
        for process, Y in zip(self.processes, Ys, strict=True):
            process.initialize(self.latent.mean, Y)
        N = len(self.latent.mean)
        maximize(
            self, lambda draws: self.elbo(Ys, draw_batch(N, batch_size, draws), draws),
            max_iter=max_iter, learning_rate=learning_rate, seed=seed, verbose=verbose,
        )  # fmt: skip

    def infer_latents(self, Ys: Sequence[Float[Tensor, "K _"]], views: Sequence[int]) -> Float[Tensor, "K D"]:
        """Return the (K, D) means of the optimised q(x) of new rows; the model does not change.

        Args:
            Ys: any subset of the views of the new rows.
            views: indices of these views.
        """
        processes = [self.processes[i] for i in views]
        blocks = row_blocks(len(Ys[0]), max(len(self.latent.mean), *(Y.shape[1] for Y in Ys)))
        return torch.cat([self._infer_block([Y[rows] for Y in Ys], processes) for rows in blocks])

    def _infer_block(self, Ys: Sequence[Float[Tensor, "K _"]], processes: Sequence[DeepGP]) -> Float[Tensor, "K D"]:
        X = self.latent.mean.detach()
        with torch.no_grad():
            densities = [
                pairwise_row_log_density(Y, *process.predict(X)) for process, Y in zip(processes, Ys, strict=True)
            ]
        best = torch.stack(densities).sum(dim=0).argmax(dim=1)
        latent = GaussianLatent(X[best], defaults.INITIAL_LATENT_STD)
        rows = torch.arange(len(latent.mean))
        maximize(
            latent, lambda draws: rows_elbo(latent, processes, Ys, rows, shared_noise(draws)),
            max_iter=_TRANSFORM_STEPS, learning_rate=_TRANSFORM_LEARNING_RATE, seed=0,
        )  # fmt: skip
        return latent.mean.detach()


def rows_elbo(
    latent: GaussianLatent,
    processes: Sequence[DeepGP],
    Ys: Sequence[Float[Tensor, "N _"]],
    rows: Int[Tensor, " B"],
    noise: NoiseSampler,
) -> Scalar:
    """Estimate the rows' contribution to the ELBO: expected log likelihood minus the KL divergence of the latents."""
    mean, std = latent.mean[rows], latent.std[rows]
    X = mean + std * noise(mean)
    likelihoods = [
        process.expected_log_likelihood(X, Y[rows], noise).sum() for process, Y in zip(processes, Ys, strict=True)
    ]
    return sum(likelihoods, start=-latent_kl(mean, std))


def initial_inducing_points(X: Float[Tensor, "N D"], n_inducing: int, seed: int) -> Float[Tensor, "U D"]:
    """Return the latents of U = min(n_inducing, N) random rows."""
    return X[draw_batch(len(X), n_inducing, make_generator(seed, Stream.INITIALISATION))]


class AbstractSVIGPLVM(ReconstructMixin, AbstractBaseline):
    """Sparse processes of q(X), trained by an uncollapsed ELBO on minibatches.

    Args:
        n_components: number of latent dimensions, D.
        n_inducing: number of inducing points per process, U; at most the number of rows is used.
        batch_size: rows per step.
        max_iter: number of Adam steps.
        learning_rate: learning rate of Adam; it decays over the last fifth of the steps.
        random_state: seed of the initial inducing points, the minibatches and the latent samples.
        verbose: 1 shows a progress bar.

    Attributes:
        n_layers: number of layers between the latent and a view.
        embedding_: (N, D) means of q(X).
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
    def _modelled_matrices(self, views: Matrices) -> dict[str, Float[np.ndarray, "N _"]]:
        """Return the matrices that are modelled by one process each."""

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        n_inducing = check_integer(self.n_inducing, "n_inducing", at_least=1)
        batch_size = check_integer(self.batch_size, "batch_size", at_least=1)
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)
        learning_rate = check_number(self.learning_rate, "learning_rate", positive=True)
        Ys = as_float64_tensors(self._modelled_matrices(views).values())
        X = pca_init(Ys, self.n_components)
        Z = initial_inducing_points(X, n_inducing, seed)
        model = VariationalGPLVM(X, Z, [Y.shape[1] for Y in Ys], self.n_layers)
        model.train_svi(
            Ys, batch_size=batch_size, max_iter=max_iter, learning_rate=learning_rate, seed=seed, verbose=self.verbose
        )
        self._model = model.requires_grad_(False)
        return model.latent.mean.numpy()

    def _predictive_means(self, latents: Float[np.ndarray, "K D"]) -> list[Float[np.ndarray, "K _"]]:
        (X,) = as_float64_tensors([latents])
        return [process.predict(X)[0].numpy() for process in self._model.processes]

    def _get_state(self) -> State:
        return state_arrays(self._model)

    def _set_state(self, state: State) -> None:
        X, Z = torch.from_numpy(state["latent.mean"]), torch.from_numpy(state["stacks.0.last.Z"])
        placeholders = {name: np.empty((1, width)) for name, width in self._widths.items()}
        widths = list(view_widths(self._modelled_matrices(placeholders)).values())
        self._model = VariationalGPLVM(X, Z, widths, self.n_layers).requires_grad_(False)
        load_arrays(self._model, state)


class ConcatenatedViewsMixin(TransformMixin):
    """Models the concatenated views by a single process."""

    _model: VariationalGPLVM
    _widths: dict[str, int]
    _predictive_means: Callable[[Any], list[Any]]

    def _modelled_matrices(self, views: Matrices) -> dict[str, Float[np.ndarray, "N _"]]:
        return {"all": concatenate_views(views)}

    def _transform(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return self._model.infer_latents(as_float64_tensors([concatenate_views(views)]), [0]).numpy()

    def _reconstruct(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        (joined,) = self._predictive_means(latents)
        return split_views(joined, self._widths)


class SharedLatentMixin(PredictMixin):
    """Models every view by a separate process of a shared latent."""

    _model: VariationalGPLVM
    _predictive_means: Callable[[Any], list[Any]]

    def _modelled_matrices(self, views: Matrices) -> dict[str, Float[np.ndarray, "N _"]]:
        return dict(views)

    def _transform_partial(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        indices = [self.view_names_.index(name) for name in views]
        return self._model.infer_latents(as_float64_tensors(views.values()), indices).numpy()

    def _reconstruct(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return dict(zip(self.view_names_, self._predictive_means(latents), strict=True))


class GPLVMSVI(ConcatenatedViewsMixin, AbstractSVIGPLVM):
    """GPLVM-SVI: one sparse Gaussian process from q(X) to the concatenated views.

    The columns share a kernel, the noise and U inducing points. q(u) is uncollapsed, so that a step needs only a
    minibatch of rows; it is initialised at its optimum for the principal components. The q(x) of new rows is optimised
    with the model fixed, initialised at the training row that explains them best.

    Args:
        n_components: number of latent dimensions, D.
        n_inducing: number of inducing points, U; at most the number of rows is used.
        batch_size: rows per step.
        max_iter: number of Adam steps.
        learning_rate: learning rate of Adam; it decays over the last fifth of the steps.
        random_state: seed of the initial inducing points, the minibatches and the latent samples.
        verbose: 1 shows a progress bar.

    Attributes:
        embedding_: (N, D) means of q(X).

    References:
        Lalchand, Ravuri, Lawrence. Generalised GPLVM with stochastic variational inference. AISTATS 2022.
        Hensman, Fusi, Lawrence. Gaussian processes for big data. UAI 2013.
    """

    n_layers: ClassVar[int] = 1


class MVGPLVMSVI(SharedLatentMixin, AbstractSVIGPLVM):
    """MV-GPLVM-SVI: a sparse Gaussian process per view, with separate kernel, noise and inducing points, and one q(X).

    Otherwise as GPLVM-SVI. Latents can be inferred from any subset of the views, and the other views predicted.

    Args:
        n_components: number of latent dimensions, D.
        n_inducing: number of inducing points per process, U; at most the number of rows is used.
        batch_size: rows per step.
        max_iter: number of Adam steps.
        learning_rate: learning rate of Adam; it decays over the last fifth of the steps.
        random_state: seed of the initial inducing points, the minibatches and the latent samples.
        verbose: 1 shows a progress bar.

    Attributes:
        embedding_: (N, D) means of q(X).

    References:
        Lalchand, Ravuri, Lawrence. Generalised GPLVM with stochastic variational inference. AISTATS 2022.
    """

    n_layers: ClassVar[int] = 1


class DGPLVM(ConcatenatedViewsMixin, AbstractSVIGPLVM):
    """DGPLVM: a doubly stochastic deep Gaussian process with two layers from q(X) to the concatenated views.

    The first layer adds a D-dimensional correction to the latent; the second maps to the columns. Both are sparse. The
    ELBO is estimated on a minibatch, with one sample of the latent and one of the first layer.

    Args:
        n_components: number of latent dimensions, D.
        n_inducing: number of inducing points per layer, U; at most the number of rows is used.
        batch_size: rows per step.
        max_iter: number of Adam steps.
        learning_rate: learning rate of Adam; it decays over the last fifth of the steps.
        random_state: seed of the initial inducing points, the minibatches, and the samples of latents and layers.
        verbose: 1 shows a progress bar.

    Attributes:
        embedding_: (N, D) means of q(X).

    References:
        Salimbeni, Deisenroth. Doubly stochastic variational inference for deep Gaussian processes. NeurIPS 2017.
        Damianou, Lawrence. Deep Gaussian processes. AISTATS 2013.
    """

    n_layers: ClassVar[int] = 2


class MVDGPLVM(SharedLatentMixin, AbstractSVIGPLVM):
    """MV-DGPLVM: a deep Gaussian process with two layers for every view, and one q(X).

    Otherwise as DGPLVM. Latents can be inferred from any subset of the views, and the other views predicted.

    Args:
        n_components: number of latent dimensions, D.
        n_inducing: number of inducing points per layer, U; at most the number of rows is used.
        batch_size: rows per step.
        max_iter: number of Adam steps.
        learning_rate: learning rate of Adam; it decays over the last fifth of the steps.
        random_state: seed of the initial inducing points, the minibatches, and the samples of latents and layers.
        verbose: 1 shows a progress bar.

    Attributes:
        embedding_: (N, D) means of q(X).

    References:
        Sun, Dong, Liu. Multi-view representation learning with deep Gaussian processes. IEEE TPAMI 2020.
        Salimbeni, Deisenroth. Doubly stochastic variational inference for deep Gaussian processes. NeurIPS 2017.
    """

    n_layers: ClassVar[int] = 2
