"""Latents of rows, and a stack of sparse processes from them to every view: the bound that is raised for both.

What sparse Gaussian process latent variable models share: of one layer or deep, of views joined or one by one.

Sparse Gaussian process latent variable models, learned by stochastic variational inference.

Deep Gaussian process latent variable models.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.baselines.base import State
from mvlvm.baselines.gp.sparse_gp import DeepGP, NoiseSampler, independent_noise, shared_noise
from mvlvm.baselines.mixins import PredictMixin, ReconstructMixin, TransformMixin
from mvlvm.baselines.training import as_float64_tensors, draw_batch, load_arrays, maximize, state_arrays
from mvlvm.baselines.validation import Matrices, concatenate_views, split_views, view_widths
from mvlvm.checks import check_integer, check_number
from mvlvm.evidence.elbo import latent_kl
from mvlvm.inference.row_likelihood import pairwise_row_log_density
from mvlvm.init.pca import pca_init
from mvlvm.models.latent import GaussianLatent
from mvlvm.randomness import RandomStateLike, Stream, make_generator
from mvlvm.row_blocks import row_blocks
from mvlvm.shapes import Scalar

# For new rows, which start at the training row that explains them best.
_TRANSFORM_STEPS = 60
_TRANSFORM_LEARNING_RATE = 0.05


class VariationalGPLVM(nn.Module):
    """q(X), and one stack per view.

    Args:
        X: where the latent means start.
        Z: where inducing points start.
        widths: columns of every view.
        n_layers: of every stack.
    """

    def __init__(
        self, X: Float[Tensor, "N D"], Z: Float[Tensor, "U D"], widths: Sequence[int], n_layers: int
    ) -> None:  # fmt: skip
        super().__init__()
        self.latent = GaussianLatent(X.double(), defaults.INITIAL_LATENT_STD)
        self.stacks = nn.ModuleList(DeepGP(Z, width, n_layers) for width in widths)

    @property
    def each(self) -> list[DeepGP]:
        """The stacks."""
        return [stack for stack in self.stacks if isinstance(stack, DeepGP)]

    def bound(
        self, Ys: Sequence[Float[Tensor, "N _"]], rows: Int[Tensor, " B"], generator: torch.Generator
    ) -> Scalar:  # fmt: skip
        """Estimate the bound on the log evidence of all views from some rows and one draw of their latents."""
        of_rows = rows_elbo(self.latent, self.each, Ys, rows, independent_noise(generator))
        return len(self.latent.mean) / len(rows) * of_rows - sum(stack.kl() for stack in self.each)

    def learn(
        self,
        Ys: Sequence[Float[Tensor, "N _"]],
        *,
        batch_size: int,
        max_iter: int,
        learning_rate: float,
        seed: int,
        verbose: int,
    ) -> None:
        """Raise the bound, some rows at a time."""
        for stack, Y in zip(self.each, Ys, strict=True):
            stack.settle(self.latent.mean, Y)
        N = len(self.latent.mean)
        maximize(
            self, lambda draws: self.bound(Ys, draw_batch(N, batch_size, draws), draws),
            max_iter=max_iter, learning_rate=learning_rate, seed=seed, verbose=verbose,
        )  # fmt: skip

    def place(self, Ys: Sequence[Float[Tensor, "K _"]], which: Sequence[int]) -> Float[Tensor, "K D"]:
        """Give the means of q(x) of new rows, raised with everything else as it is.

        Args:
            Ys: some views of them.
            which: the stacks of these views.
        """
        stacks = [self.each[i] for i in which]
        portions = row_blocks(len(Ys[0]), max(len(self.latent.mean), *(Y.shape[1] for Y in Ys)))
        return torch.cat([self._placed([Y[rows] for Y in Ys], stacks) for rows in portions])

    def _placed(self, Ys: Sequence[Float[Tensor, "K _"]], stacks: Sequence[DeepGP]) -> Float[Tensor, "K D"]:
        X = self.latent.mean.detach()
        with torch.no_grad():
            fits = [pairwise_row_log_density(Y, *stack.predicted(X)) for stack, Y in zip(stacks, Ys, strict=True)]
        best = torch.stack(fits).sum(dim=0).argmax(dim=1)
        latent = GaussianLatent(X[best], defaults.INITIAL_LATENT_STD)
        rows = torch.arange(len(latent.mean))
        maximize(
            latent, lambda draws: rows_elbo(latent, stacks, Ys, rows, shared_noise(draws)),
            max_iter=_TRANSFORM_STEPS, learning_rate=_TRANSFORM_LEARNING_RATE, seed=0,
        )  # fmt: skip
        return latent.mean.detach()


def rows_elbo(
    latent: GaussianLatent,
    stacks: Sequence[DeepGP],
    Ys: Sequence[Float[Tensor, "N _"]],
    rows: Int[Tensor, " B"],
    noise: NoiseSampler,
) -> Scalar:
    """Estimate what some rows add to the bound: their expected log likelihood less the divergence of their latents."""
    mean, std = latent.mean[rows], latent.std[rows]
    X = mean + std * noise(mean)
    fits = [stack.expected_log_likelihood(X, Y[rows], noise).sum() for stack, Y in zip(stacks, Ys, strict=True)]
    return sum(fits, start=-latent_kl(mean, std))


def initial_inducing_points(X: Float[Tensor, "N D"], n_inducing: int, seed: int) -> Float[Tensor, "U D"]:
    """Give the places of some rows, no more than there are."""
    return X[draw_batch(len(X), n_inducing, make_generator(seed, Stream.INITIALISATION))]


class AbstractSVIGPLVM(ReconstructMixin):
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
        Ys = as_float64_tensors(self._arranged(views).values())
        X = pca_init(Ys, self.n_components)
        model = VariationalGPLVM(
            X, initial_inducing_points(X, n_inducing, seed), [Y.shape[1] for Y in Ys], self.n_layers
        )
        model.learn(
            Ys, batch_size=batch_size, max_iter=max_iter, learning_rate=learning_rate, seed=seed, verbose=self.verbose
        )
        self._model = model.requires_grad_(False)
        return model.latent.mean.numpy()

    def _predicted(self, latents: Float[np.ndarray, "K D"]) -> list[Float[np.ndarray, "K _"]]:
        (X,) = as_float64_tensors([latents])
        return [stack.predicted(X)[0].numpy() for stack in self._model.each]

    def _state(self) -> State:
        return state_arrays(self._model)

    def _restore(self, state: State) -> None:
        start, Z = torch.from_numpy(state["latent.mean"]), torch.from_numpy(state["stacks.0.last.Z"])
        blank = {name: np.empty((1, width)) for name, width in self._widths.items()}
        widths = list(view_widths(self._arranged(blank)).values())
        self._model = VariationalGPLVM(start, Z, widths, self.n_layers).requires_grad_(False)
        load_arrays(self._model, state)


class ConcatenatedViewsMixin(TransformMixin, AbstractSVIGPLVM):
    """All views side by side, with one process."""

    def _arranged(self, views: Matrices) -> dict[str, Float[np.ndarray, "N _"]]:
        return {"all": concatenate_views(views)}

    def _place(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        return self._model.place(as_float64_tensors(self._arranged(views).values()), [0]).numpy()

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        (joined,) = self._predicted(latents)
        return split_views(joined, self._widths)


class SharedLatentMixin(PredictMixin, AbstractSVIGPLVM):
    """A process for every view, and one latent for all."""

    def _arranged(self, views: Matrices) -> dict[str, Float[np.ndarray, "N _"]]:
        return dict(views)

    def _place_some(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        which = [self.view_names_.index(name) for name in views]
        return self._model.place(as_float64_tensors(views.values()), which).numpy()

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return dict(zip(self.view_names_, self._predicted(latents), strict=True))


class GPLVMSVI(ConcatenatedViewsMixin):
    """GPLVM-SVI: one sparse Gaussian process from q(X) to all views side by side.

    The columns share a kernel, the noise and U inducing points; q(u) is uncollapsed, so that a step needs some rows
    only, and starts at its best for the principal components. New rows are placed by raising their q(x) with everything
    else as it is, from the training row that explains them best.

    Args:
        n_components: latent dimensions, D.
        n_inducing: inducing points of a process, U; no more than rows.
        batch_size: rows of one step.
        max_iter: steps of Adam.
        learning_rate: of Adam, until the last fifth of the steps, in which it falls.
        random_state: of the inducing points' start, and of rows and latents that are drawn.
        verbose: 1 shows progress.

    Attributes:
        embedding_: (N, D) the means of q(X).

    References:
        Lalchand, Ravuri, Lawrence. Generalised GPLVM with stochastic variational inference. AISTATS 2022.
        Hensman, Fusi, Lawrence. Gaussian processes for big data. UAI 2013.
    """

    n_layers: ClassVar[int] = 1


class MVGPLVMSVI(SharedLatentMixin):
    """MV-GPLVM-SVI: a sparse Gaussian process for every view, with its own kernel, noise and inducing points, one q(X).

    As GPLVM-SVI in everything else. Rows can be placed by some of their views, and the others predicted.

    Args:
        n_components: latent dimensions, D.
        n_inducing: inducing points of a process, U; no more than rows.
        batch_size: rows of one step.
        max_iter: steps of Adam.
        learning_rate: of Adam, until the last fifth of the steps, in which it falls.
        random_state: of the inducing points' start, and of rows and latents that are drawn.
        verbose: 1 shows progress.

    Attributes:
        embedding_: (N, D) the means of q(X).

    References:
        Lalchand, Ravuri, Lawrence. Generalised GPLVM with stochastic variational inference. AISTATS 2022.
    """

    n_layers: ClassVar[int] = 1


class DGPLVM(ConcatenatedViewsMixin):
    """DGPLVM: a doubly stochastic deep Gaussian process of two layers from q(X) to all views side by side.

    The first layer adds to the latent, in as many dimensions; the second gives the columns. Both are sparse. The bound
    takes one draw of the latent, and one through the first layer, of some rows.

    Args:
        n_components: latent dimensions, D.
        n_inducing: inducing points of every layer, U; no more than rows.
        batch_size: rows of one step.
        max_iter: steps of Adam.
        learning_rate: of Adam, until the last fifth of the steps, in which it falls.
        random_state: of all that is drawn: inducing points to start from, rows, latents, layers.
        verbose: 1 shows progress.

    Attributes:
        embedding_: (N, D) the means of q(X).

    References:
        Salimbeni, Deisenroth. Doubly stochastic variational inference for deep Gaussian processes. NeurIPS 2017.
        Damianou, Lawrence. Deep Gaussian processes. AISTATS 2013.
    """

    n_layers: ClassVar[int] = 2


class MVDGPLVM(SharedLatentMixin):
    """MV-DGPLVM: a deep Gaussian process of two layers for every view, and one q(X).

    As DGPLVM in everything else. Rows can be placed by some of their views, and the others predicted.

    Args:
        n_components: latent dimensions, D.
        n_inducing: inducing points of every layer, U; no more than rows.
        batch_size: rows of one step.
        max_iter: steps of Adam.
        learning_rate: of Adam, until the last fifth of the steps, in which it falls.
        random_state: of all that is drawn: inducing points to start from, rows, latents, layers.
        verbose: 1 shows progress.

    Attributes:
        embedding_: (N, D) the means of q(X).

    References:
        Sun, Dong, Liu. Multi-view representation learning with deep Gaussian processes. IEEE TPAMI 2020.
        Salimbeni, Deisenroth. Doubly stochastic variational inference for deep Gaussian processes. NeurIPS 2017.
    """

    n_layers: ClassVar[int] = 2
