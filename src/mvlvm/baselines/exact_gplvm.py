"""Gaussian process latent variable models in which nothing is approximated, at a cost of N^3."""

import math
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.baselines.abilities import PredictsViews
from mvlvm.baselines.base import Matrices, State
from mvlvm.baselines.exact_process import Conditional, ExactProcess
from mvlvm.baselines.learned_kernels import AbstractLearnedKernel, LearnedGibbs, LearnedRbf
from mvlvm.baselines.learning import arrays_of, raise_bound, teach
from mvlvm.baselines.row_modes import highest_modes, in_float64
from mvlvm.checks import check_integer, check_number
from mvlvm.inference.row_likelihood import pairwise_row_log_density, row_log_density
from mvlvm.init.pca import pca_init
from mvlvm.randomness import RandomStateLike
from mvlvm.row_blocks import row_blocks
from mvlvm.shapes import Scalar

# A step with this many rows takes seconds, and a few gigabytes.
_MOST_ROWS = 5000
# Training rows from which a new row is sought.
_N_STARTS = 3


class MapModel(nn.Module):
    """Latents as parameters, and a process for every view.

    Args:
        X: where the latents start.
        kernels: one per view.
    """

    def __init__(self, X: Float[Tensor, "N D"], kernels: Sequence[AbstractLearnedKernel]) -> None:
        super().__init__()
        self.X = nn.Parameter(X.clone(memory_format=torch.contiguous_format))
        self.processes = nn.ModuleList(ExactProcess(kernel) for kernel in kernels)

    def log_joint(self, Ys: Sequence[Float[Tensor, "N _"]]) -> Scalar:
        """Give log p(Y | X) + log p(X), over all views: what maximum a posteriori raises."""
        evidences = [process.log_evidence(self.X, Y) for process, Y in zip(self._each(), Ys, strict=True)]
        return sum(evidences, start=log_prior(self.X).sum())

    def given(self, Ys: Sequence[Float[Tensor, "N _"]]) -> list[Conditional]:
        """Give what every view's process says of new rows."""
        self.requires_grad_(False)
        return [process.given(self.X, Y) for process, Y in zip(self._each(), Ys, strict=True)]

    def _each(self) -> list[ExactProcess]:
        return [process for process in self.processes if isinstance(process, ExactProcess)]


def log_prior(X: Float[Tensor, "N D"]) -> Float[Tensor, " N"]:
    """Give the log density of every latent under N(0, I)."""
    return -0.5 * (X.square() + math.log(2 * math.pi)).sum(dim=1)


class AbstractExactGPLVM(PredictsViews):
    """One latent for all views, found by maximum a posteriori together with every view's kernel and noise.

    A new row is sought from the three training rows at which what is given of it is most likely, by raising its
    predictive density times the prior; every step costs O(N^2 + N M) per row, after one factorisation.

    Args:
        n_components: latent dimensions, D.
        max_iter: steps of Adam.
        learning_rate: of Adam, until the last fifth of the steps, in which it falls.
        random_state: the fit draws nothing, and is the same for all.
        verbose: 1 shows progress.
    """

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        *,
        max_iter: int = 100,
        learning_rate: float = defaults.LEARNING_RATE,
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _kernel(self, n_dims: int) -> AbstractLearnedKernel:
        """Make the kernel of a view."""

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)
        learning_rate = check_number(self.learning_rate, "learning_rate", positive=True)
        Ys = in_float64(views.values())
        self._check_rows(len(Ys[0]))
        model = self._built(pca_init(Ys, self.n_components), len(Ys))
        raise_bound(
            model, lambda _: model.log_joint(Ys),
            max_iter=max_iter, learning_rate=learning_rate, seed=seed, verbose=self.verbose,
        )  # fmt: skip
        self._keep(model, Ys)
        return model.X.detach().numpy()

    def _place_some(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        given = [self._conditionals[self.view_names_.index(name)] for name in views]
        Ys = in_float64(views.values())
        portions = row_blocks(len(Ys[0]), _N_STARTS * len(self._model.X))
        return torch.cat([self._placed([Y[rows] for Y in Ys], given) for rows in portions]).numpy()

    def _placed(self, Ys: Sequence[Float[Tensor, "K _"]], given: Sequence[Conditional]) -> Float[Tensor, "K D"]:
        X = self._model.X
        likely = [pairwise_row_log_density(Y, *view.predicted(X)) for view, Y in zip(given, Ys, strict=True)]
        starts = sum(likely, start=log_prior(X)).topk(min(_N_STARTS, len(X)), dim=1).indices.T

        def log_density(places: Float[Tensor, "R D"]) -> Float[Tensor, " R"]:
            fits = [row_log_density(Y.repeat(len(starts), 1), *view.predicted(places))
                    for view, Y in zip(given, Ys, strict=True)]  # fmt: skip
            return sum(fits, start=log_prior(places))

        return highest_modes(X[starts], log_density)

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        (X,) = in_float64([latents])
        return {name: view.mean(X).numpy() for name, view in zip(self.view_names_, self._conditionals, strict=True)}

    def _state(self) -> State:
        return arrays_of(self._model) | {f"view.{i}": Y.numpy() for i, Y in enumerate(self._Ys)}

    def _restore(self, state: State) -> None:
        Ys = in_float64([state.pop(f"view.{i}") for i in range(len(self.view_names_))])
        model = self._built(torch.from_numpy(state["X"]), len(Ys))
        teach(model, state)
        self._keep(model, Ys)

    def _built(self, X: Float[Tensor, "N D"], n_views: int) -> MapModel:
        return MapModel(X, [self._kernel(X.shape[1]) for _ in range(n_views)])

    def _keep(self, model: MapModel, Ys: list[Tensor]) -> None:
        self._model, self._Ys, self._conditionals = model, Ys, model.given(Ys)

    def _check_rows(self, N: int) -> None:
        if N > _MOST_ROWS:
            raise ValueError(
                f"{type(self).__name__} factors an N x N matrix in every step and takes at most {_MOST_ROWS} rows. "
                f"Got {N}. Give fewer rows, or take NGMVLVM, whose cost grows like N."
            )


class MVGPLVM(AbstractExactGPLVM):
    """MV-GPLVM: a Gaussian process with a squared exponential kernel for every view, and one latent for all.

    The latent is found by maximum a posteriori under a standard normal prior, as the paper says of this model, from the
    principal components; every view learns its own variance, length scales and noise. No more than 5000 rows.

    Args:
        n_components: latent dimensions, D.
        max_iter: steps of Adam.
        learning_rate: of Adam, until the last fifth of the steps, in which it falls.
        random_state: the fit draws nothing, and is the same for all.
        verbose: 1 shows progress.

    Attributes:
        embedding_: (N, D) the latents.

    References:
        Lawrence. Probabilistic non-linear principal component analysis with Gaussian process latent variable models.
        JMLR 2005.
        Zhao, Xie, Xu, Sun. Multi-view learning overview. Information Fusion 2017.
    """

    def _kernel(self, n_dims: int) -> AbstractLearnedKernel:
        return LearnedRbf(n_dims)


class MVNGPLVM(AbstractExactGPLVM):
    """MV-NGPLVM: MV-GPLVM with the Gibbs kernel, whose length scale depends on the place.

    With z the latent in length scales, the local length scale is exp(-b ||z||), with b learned in every view; the
    kernel's power is D/2, without which it would be no covariance (docs/errata.md).

    Args:
        n_components: latent dimensions, D.
        max_iter: steps of Adam.
        learning_rate: of Adam, until the last fifth of the steps, in which it falls.
        random_state: the fit draws nothing, and is the same for all.
        verbose: 1 shows progress.

    Attributes:
        embedding_: (N, D) the latents.

    References:
        Gibbs. Bayesian Gaussian processes for regression and classification. PhD thesis, Cambridge 1997.
    """

    def _kernel(self, n_dims: int) -> AbstractLearnedKernel:
        return LearnedGibbs(n_dims)
