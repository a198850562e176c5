"""One view as a Gaussian process of the latent, with nothing approximated.

Where new rows go: up the log density of their place, from several starts.

Gaussian process latent variable models in which nothing is approximated, at a cost of N^3.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.baselines.base import State
from mvlvm.baselines.gp.trainable_kernels import AbstractTrainableKernel, TrainableGibbs, TrainableRBF
from mvlvm.baselines.mixins import PredictMixin
from mvlvm.baselines.training import as_float64_tensors, load_arrays, maximize, state_arrays
from mvlvm.baselines.validation import Matrices
from mvlvm.checks import check_integer, check_number
from mvlvm.evidence.exact import exact_log_evidence
from mvlvm.inference.row_likelihood import pairwise_row_log_density, row_log_density
from mvlvm.init.pca import pca_init
from mvlvm.linalg.cholesky import add_to_diagonal, factor
from mvlvm.parameters import positive, raw_positive
from mvlvm.randomness import RandomStateLike
from mvlvm.row_blocks import row_blocks
from mvlvm.shapes import Scalar

# Classes as a view can be fitted without an error; with less noise than this their covariance is singular in rounding.
MIN_NOISE_VARIANCE = 1e-6


@dataclass(frozen=True)
class ExactGPPosterior:
    """What a process says of new rows, given the training rows.

    Attributes:
        kernel: k.
        X: the latents of the training rows.
        weights: (K + s I)^-1 Y.
        inverse: (K + s I)^-1.
        noise_variance: s.
    """

    kernel: AbstractTrainableKernel
    X: Float[Tensor, "N D"]
    weights: Float[Tensor, "N M"]
    inverse: Float[Tensor, "N N"]
    noise_variance: Scalar

    def mean(self, X: Float[Tensor, "K D"]) -> Float[Tensor, "K M"]:
        """Give the mean of new entries, k(x, X) (K + s I)^-1 Y, in O(N M) per row."""
        return self.kernel(X, self.X) @ self.weights

    def predicted(self, X: Float[Tensor, "K D"]) -> tuple[Float[Tensor, "K M"], Float[Tensor, "K M"]]:
        """Give mean and variance of new entries, in O(N^2 + N M) per row.

        The variance is k(x, x) - k(x, X) (K + s I)^-1 k(X, x) + s, the same for all columns.
        """
        cross = self.kernel(X, self.X)
        mean, explained = cross @ self.weights, ((cross @ self.inverse) * cross).sum(dim=1)
        variance = (self.kernel.variance - explained).clamp_min(0.0) + self.noise_variance
        return mean, variance[:, None].expand_as(mean)


class ExactGP(nn.Module):
    """The columns of a view as independent processes of one kernel, with noise.

    Args:
        kernel: of the view.
    """

    def __init__(self, kernel: AbstractTrainableKernel) -> None:
        super().__init__()
        self.kernel = kernel
        start = raw_positive(defaults.INITIAL_NOISE_VARIANCE)
        self.raw_noise_variance = nn.Parameter(torch.tensor(start, dtype=torch.float64))

    @property
    def noise_variance(self) -> Scalar:
        """Of an entry around its function."""
        return MIN_NOISE_VARIANCE + positive(self.raw_noise_variance)

    def log_evidence(self, X: Float[Tensor, "N D"], Y: Float[Tensor, "N M"]) -> Scalar:
        """Give the log density of the view with its functions integrated out [eq:gplvm_mle]."""
        return exact_log_evidence(Y, self.kernel(X, X), self.noise_variance)

    @torch.no_grad()
    def given(self, X: Float[Tensor, "N D"], Y: Float[Tensor, "N M"]) -> ExactGPPosterior:
        """Factor once, for all predictions."""
        covariance = factor(add_to_diagonal(self.kernel(X, X), self.noise_variance))
        return ExactGPPosterior(self.kernel, X, covariance.solve(Y), covariance.inverse(), self.noise_variance)


# Starts are places of training rows; the nearest mode is a fraction of the latent's unit of length away.
_MODE_STEPS = 60
_MODE_LEARNING_RATE = 0.05


class _Candidates(nn.Module):
    def __init__(self, start: Float[Tensor, "R D"]) -> None:
        super().__init__()
        self.X = nn.Parameter(start.clone())


def find_modes(
    starts: Float[Tensor, "S K D"], log_density: Callable[[Float[Tensor, "R D"]], Float[Tensor, " R"]]
) -> Float[Tensor, "K D"]:
    """Climb from every start, and give every row's best end.

    Args:
        starts: S places of every row.
        log_density: of all rows at all their places, R = S K, the rows in order for each start.
    """
    S, K, _ = starts.shape
    places = _Candidates(starts.flatten(0, 1))
    maximize(
        places, lambda _: log_density(places.X).sum(), max_iter=_MODE_STEPS, learning_rate=_MODE_LEARNING_RATE, seed=0
    )  # fmt: skip
    ends = places.X.detach()
    best = log_density(ends).reshape(S, K).argmax(dim=0)
    return ends.reshape(starts.shape)[best, torch.arange(K)]


# A step with this many rows takes seconds, and a few gigabytes.
_MAX_ROWS = 5000
# Training rows from which a new row is sought.
_N_CANDIDATES = 3


class MAPModel(nn.Module):
    """Latents as parameters, and a process for every view.

    Args:
        X: where the latents start.
        kernels: one per view.
    """

    def __init__(self, X: Float[Tensor, "N D"], kernels: Sequence[AbstractTrainableKernel]) -> None:
        super().__init__()
        self.X = nn.Parameter(X.clone(memory_format=torch.contiguous_format))
        self.processes = nn.ModuleList(ExactGP(kernel) for kernel in kernels)

    def log_joint(self, Ys: Sequence[Float[Tensor, "N _"]]) -> Scalar:
        """Give log p(Y | X) + log p(X), over all views: what maximum a posteriori raises."""
        evidences = [process.log_evidence(self.X, Y) for process, Y in zip(self._each(), Ys, strict=True)]
        return sum(evidences, start=log_prior(self.X).sum())

    def given(self, Ys: Sequence[Float[Tensor, "N _"]]) -> list[ExactGPPosterior]:
        """Give what every view's process says of new rows."""
        self.requires_grad_(False)
        return [process.given(self.X, Y) for process, Y in zip(self._each(), Ys, strict=True)]

    def _each(self) -> list[ExactGP]:
        return [process for process in self.processes if isinstance(process, ExactGP)]


def log_prior(X: Float[Tensor, "N D"]) -> Float[Tensor, " N"]:
    """Give the log density of every latent under N(0, I)."""
    return -0.5 * (X.square() + math.log(2 * math.pi)).sum(dim=1)


class AbstractExactGPLVM(PredictMixin):
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
    def _kernel(self, n_dims: int) -> AbstractTrainableKernel:
        """Make the kernel of a view."""

    def _learn(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)
        learning_rate = check_number(self.learning_rate, "learning_rate", positive=True)
        Ys = as_float64_tensors(views.values())
        self._check_rows(len(Ys[0]))
        model = self._built(pca_init(Ys, self.n_components), len(Ys))
        maximize(
            model, lambda _: model.log_joint(Ys),
            max_iter=max_iter, learning_rate=learning_rate, seed=seed, verbose=self.verbose,
        )  # fmt: skip
        self._keep(model, Ys)
        return model.X.detach().numpy()

    def _place_some(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        given = [self._conditionals[self.view_names_.index(name)] for name in views]
        Ys = as_float64_tensors(views.values())
        portions = row_blocks(len(Ys[0]), _N_CANDIDATES * len(self._model.X))
        return torch.cat([self._placed([Y[rows] for Y in Ys], given) for rows in portions]).numpy()

    def _placed(self, Ys: Sequence[Float[Tensor, "K _"]], given: Sequence[ExactGPPosterior]) -> Float[Tensor, "K D"]:
        X = self._model.X
        likely = [pairwise_row_log_density(Y, *view.predicted(X)) for view, Y in zip(given, Ys, strict=True)]
        starts = sum(likely, start=log_prior(X)).topk(min(_N_CANDIDATES, len(X)), dim=1).indices.T

        def log_density(places: Float[Tensor, "R D"]) -> Float[Tensor, " R"]:
            fits = [row_log_density(Y.repeat(len(starts), 1), *view.predicted(places))
                    for view, Y in zip(given, Ys, strict=True)]  # fmt: skip
            return sum(fits, start=log_prior(places))

        return find_modes(X[starts], log_density)

    def _rebuild(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        (X,) = as_float64_tensors([latents])
        return {name: view.mean(X).numpy() for name, view in zip(self.view_names_, self._conditionals, strict=True)}

    def _state(self) -> State:
        return state_arrays(self._model) | {f"view.{i}": Y.numpy() for i, Y in enumerate(self._Ys)}

    def _restore(self, state: State) -> None:
        Ys = as_float64_tensors([state.pop(f"view.{i}") for i in range(len(self.view_names_))])
        model = self._built(torch.from_numpy(state["X"]), len(Ys))
        load_arrays(model, state)
        self._keep(model, Ys)

    def _built(self, X: Float[Tensor, "N D"], n_views: int) -> MAPModel:
        return MAPModel(X, [self._kernel(X.shape[1]) for _ in range(n_views)])

    def _keep(self, model: MAPModel, Ys: list[Tensor]) -> None:
        self._model, self._Ys, self._conditionals = model, Ys, model.given(Ys)

    def _check_rows(self, N: int) -> None:
        if N > _MAX_ROWS:
            raise ValueError(
                f"{type(self).__name__} factors an N x N matrix in every step and takes at most {_MAX_ROWS} rows. "
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

    def _kernel(self, n_dims: int) -> AbstractTrainableKernel:
        return TrainableRBF(n_dims)


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

    def _kernel(self, n_dims: int) -> AbstractTrainableKernel:
        return TrainableGibbs(n_dims)
