"""Exact Gaussian process latent variable models, at a cost of O(N^3) per step (MV-GPLVM, MV-NGPLVM)."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from mvlvm import defaults
from mvlvm.baselines.base import AbstractBaseline, PredictMixin, ReconstructMixin, State
from mvlvm.baselines.baseline_input import Matrices
from mvlvm.baselines.gp.trainable_kernels import AbstractTrainableKernel, TrainableGibbs, TrainableRBF
from mvlvm.baselines.training import as_float64_tensors, load_arrays, maximize, state_arrays
from mvlvm.checks import check_integer, check_number
from mvlvm.evidence.collapsed import exact_log_evidence
from mvlvm.inference.row_likelihood import pairwise_row_log_density, row_log_density
from mvlvm.init.pca import pca_init
from mvlvm.linalg.cholesky import add_to_diagonal, factor
from mvlvm.parameters import positive, raw_positive
from mvlvm.randomness import RandomStateLike
from mvlvm.row_blocks import row_blocks
from mvlvm.shapes import Scalar

# A one-hot view can be fitted without error; a smaller noise variance makes its covariance numerically singular.
MIN_NOISE_VARIANCE = 1e-6
# A step with this number of rows takes seconds and a few gigabytes.
_MAX_ROWS = 5000
# Training rows whose latents initialise the search for the latent of a new row.
_N_CANDIDATES = 3
# The candidates are latents of training rows; the nearest mode is a fraction of the latent's unit of length away.
_MODE_STEPS = 60
_MODE_LEARNING_RATE = 0.05


@dataclass(frozen=True)
class ExactGPPosterior:
    """Posterior of a Gaussian process given the training rows.

    Attributes:
        kernel: kernel k.
        X: latents of the training rows.
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
        """Return the (K, M) predictive mean k(x, X) (K + s I)^-1 Y, in O(N M) per row."""
        return self.kernel(X, self.X) @ self.weights

    def predict(self, X: Float[Tensor, "K D"]) -> tuple[Float[Tensor, "K M"], Float[Tensor, "K M"]]:
        """Return the (K, M) predictive means and variances, in O(N^2 + N M) per row.

        The variance is k(x, x) - k(x, X) (K + s I)^-1 k(X, x) + s, the same for all columns.
        """
        cross = self.kernel(X, self.X)
        mean, explained = cross @ self.weights, ((cross @ self.inverse) * cross).sum(dim=1)
        variance = (self.kernel.variance - explained).clamp_min(0.0) + self.noise_variance
        return mean, variance[:, None].expand_as(mean)


class ExactGP(nn.Module):
    """Independent Gaussian processes with a common kernel for the columns of a view, observed with noise.

    Args:
        kernel: kernel of the view.
    """

    def __init__(self, kernel: AbstractTrainableKernel) -> None:
        super().__init__()
        self.kernel = kernel
        raw = raw_positive(defaults.INITIAL_NOISE_VARIANCE)
        self.raw_noise_variance = nn.Parameter(torch.tensor(raw, dtype=torch.float64))

    @property
    def noise_variance(self) -> Scalar:
        """Noise variance of the entries."""
        return MIN_NOISE_VARIANCE + positive(self.raw_noise_variance)

    def log_evidence(self, X: Float[Tensor, "N D"], Y: Float[Tensor, "N M"]) -> Scalar:
        """Return the log marginal likelihood of the view, with the functions integrated out [eq:gplvm_mle]."""
        return exact_log_evidence(Y, self.kernel(X, X), self.noise_variance)

    @torch.no_grad()
    def condition(self, X: Float[Tensor, "N D"], Y: Float[Tensor, "N M"]) -> ExactGPPosterior:
        """Condition on the training rows; the covariance is factorised once for all predictions."""
        covariance = factor(add_to_diagonal(self.kernel(X, X), self.noise_variance))
        return ExactGPPosterior(self.kernel, X, covariance.solve(Y), covariance.inverse(), self.noise_variance)


class MAPModel(nn.Module):
    """Latents as parameters, and a Gaussian process for every view.

    Args:
        X: initial latents.
        kernels: one kernel per view.
    """

    def __init__(self, X: Float[Tensor, "N D"], kernels: Sequence[AbstractTrainableKernel]) -> None:
        super().__init__()
        self.X = nn.Parameter(X.clone(memory_format=torch.contiguous_format))
        self.processes = nn.ModuleList(ExactGP(kernel) for kernel in kernels)

    def log_joint(self, Ys: Sequence[Float[Tensor, "N _"]]) -> Scalar:
        """Return log p(Y | X) + log p(X) over all views, the objective of maximum a posteriori estimation."""
        evidences = [process.log_evidence(self.X, Y) for process, Y in zip(self._views(), Ys, strict=True)]
        return sum(evidences, start=log_prior(self.X).sum())

    def condition(self, Ys: Sequence[Float[Tensor, "N _"]]) -> list[ExactGPPosterior]:
        """Return the posterior of every view's process, for predictions."""
        self.requires_grad_(False)
        return [process.condition(self.X, Y) for process, Y in zip(self._views(), Ys, strict=True)]

    def _views(self) -> list[ExactGP]:
        return [process for process in self.processes if isinstance(process, ExactGP)]


def log_prior(X: Float[Tensor, "N D"]) -> Float[Tensor, " N"]:
    """Return the (N,) log densities of the latents under N(0, I)."""
    return -0.5 * (X.square() + math.log(2 * math.pi)).sum(dim=1)


class _Candidates(nn.Module):
    def __init__(self, X: Float[Tensor, "R D"]) -> None:
        super().__init__()
        self.X = nn.Parameter(X.clone())


def find_modes(
    candidates: Float[Tensor, "S K D"], log_density: Callable[[Float[Tensor, "R D"]], Float[Tensor, " R"]]
) -> Float[Tensor, "K D"]:
    """Optimise all candidate latents and return the most probable one of every row, (K, D).

    Args:
        candidates: S initial latents for each of K rows.
        log_density: log densities of R = S K latents; all rows in order for the first candidate, then the next.
    """
    S, K, _ = candidates.shape
    module = _Candidates(candidates.flatten(0, 1))
    maximize(
        module, lambda _: log_density(module.X).sum(),
        max_iter=_MODE_STEPS, learning_rate=_MODE_LEARNING_RATE, seed=0,
    )  # fmt: skip
    modes = module.X.detach()
    best = log_density(modes).reshape(S, K).argmax(dim=0)
    return modes.reshape(candidates.shape)[best, torch.arange(K)]


class AbstractExactGPLVM(PredictMixin, ReconstructMixin, AbstractBaseline):
    """One latent for all views, estimated by maximum a posteriori jointly with every view's kernel and noise.

    The latent of a new row maximises its predictive density times the prior. The search is initialised at the three
    training latents under which the given views are most probable; a step costs O(N^2 + N M) per row, after one
    factorisation.

    Args:
        n_components: number of latent dimensions, D.
        max_iter: number of Adam steps.
        learning_rate: learning rate of Adam; it decays over the last fifth of the steps.
        random_state: ignored; the fit is deterministic.
        verbose: 1 shows a progress bar.
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
        """Return the initial kernel of a view."""

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)
        learning_rate = check_number(self.learning_rate, "learning_rate", positive=True)
        Ys = as_float64_tensors(views.values())
        self._check_n_rows(len(Ys[0]))
        model = self._build_model(pca_init(Ys, self.n_components), len(Ys))
        maximize(
            model, lambda _: model.log_joint(Ys),
            max_iter=max_iter, learning_rate=learning_rate, seed=seed, verbose=self.verbose,
        )  # fmt: skip
        self._set_model(model, Ys)
        return model.X.detach().numpy()

    def _transform_partial(self, views: Matrices) -> Float[np.ndarray, "K D"]:
        posteriors = [self._posteriors[self.view_names_.index(name)] for name in views]
        Ys = as_float64_tensors(views.values())
        blocks = row_blocks(len(Ys[0]), _N_CANDIDATES * len(self._model.X))
        return torch.cat([self._transform_block([Y[rows] for Y in Ys], posteriors) for rows in blocks]).numpy()

    def _transform_block(
        self, Ys: Sequence[Float[Tensor, "K _"]], posteriors: Sequence[ExactGPPosterior]
    ) -> Float[Tensor, "K D"]:
        X = self._model.X
        densities = [pairwise_row_log_density(Y, *view.predict(X)) for view, Y in zip(posteriors, Ys, strict=True)]
        candidates = sum(densities, start=log_prior(X)).topk(min(_N_CANDIDATES, len(X)), dim=1).indices.T

        def log_density(latents: Float[Tensor, "R D"]) -> Float[Tensor, " R"]:
            likelihoods = [row_log_density(Y.repeat(len(candidates), 1), *view.predict(latents))
                           for view, Y in zip(posteriors, Ys, strict=True)]  # fmt: skip
            return sum(likelihoods, start=log_prior(latents))

        return find_modes(X[candidates], log_density)

    def _reconstruct(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        (X,) = as_float64_tensors([latents])
        return {name: view.mean(X).numpy() for name, view in zip(self.view_names_, self._posteriors, strict=True)}

    def _get_state(self) -> State:
        return state_arrays(self._model) | {f"view.{i}": Y.numpy() for i, Y in enumerate(self._Ys)}

    def _set_state(self, state: State) -> None:
        Ys = as_float64_tensors([state.pop(f"view.{i}") for i in range(len(self.view_names_))])
        model = self._build_model(torch.from_numpy(state["X"]), len(Ys))
        load_arrays(model, state)
        self._set_model(model, Ys)

    def _build_model(self, X: Float[Tensor, "N D"], n_views: int) -> MAPModel:
        return MAPModel(X, [self._kernel(X.shape[1]) for _ in range(n_views)])

    def _set_model(self, model: MAPModel, Ys: list[Tensor]) -> None:
        self._model, self._Ys, self._posteriors = model, Ys, model.condition(Ys)

    def _check_n_rows(self, N: int) -> None:
        if N > _MAX_ROWS:
            raise ValueError(
                f"{type(self).__name__} factorises an N x N matrix in every step and takes at most {_MAX_ROWS} rows. "
                f"Got {N}. Pass fewer rows, or use NGMVLVM, whose cost is linear in N."
            )


class MVGPLVM(AbstractExactGPLVM):
    """MV-GPLVM: a Gaussian process with a squared exponential kernel for every view, and one latent for all.

    The latent is estimated by maximum a posteriori under a standard normal prior, as in the paper, and initialised
    with the principal components; variance, lengthscales and noise are trained for every view. At most 5000 rows.

    Args:
        n_components: number of latent dimensions, D.
        max_iter: number of Adam steps.
        learning_rate: learning rate of Adam; it decays over the last fifth of the steps.
        random_state: ignored; the fit is deterministic.
        verbose: 1 shows a progress bar.

    Attributes:
        embedding_: (N, D) latents.

    References:
        Lawrence. Probabilistic non-linear principal component analysis with Gaussian process latent variable models.
        JMLR 2005.
        Zhao, Xie, Xu, Sun. Multi-view learning overview. Information Fusion 2017.
    """

    def _kernel(self, n_dims: int) -> AbstractTrainableKernel:
        return TrainableRBF(n_dims)


class MVNGPLVM(AbstractExactGPLVM):
    """MV-NGPLVM: MV-GPLVM with the Gibbs kernel, whose lengthscale depends on the input.

    With z the latent in units of the lengthscales, the local lengthscale is exp(-b ||z||), where b is trained for every
    view. The exponent of the kernel is D/2, without which it would not be positive semi-definite (docs/errata.md).

    Args:
        n_components: number of latent dimensions, D.
        max_iter: number of Adam steps.
        learning_rate: learning rate of Adam; it decays over the last fifth of the steps.
        random_state: ignored; the fit is deterministic.
        verbose: 1 shows a progress bar.

    Attributes:
        embedding_: (N, D) latents.

    References:
        Gibbs. Bayesian Gaussian processes for regression and classification. PhD thesis, Cambridge 1997.
    """

    def _kernel(self, n_dims: int) -> AbstractTrainableKernel:
        return TrainableGibbs(n_dims)
