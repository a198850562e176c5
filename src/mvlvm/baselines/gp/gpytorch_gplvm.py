"""The Bayesian GPLVM of GPyTorch: a sparse Gaussian process per column, trained by stochastic variational inference."""

import warnings
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.spatial.distance import cdist
from sklearn import decomposition
from torch import Tensor

from mvlvm import defaults
from mvlvm.baselines.base import AbstractBaseline, ReconstructMixin, State, as_uint32_seed, warn_not_converged
from mvlvm.baselines.baseline_input import Matrices, check_n_components, concatenate_views, max_rank, split_views
from mvlvm.checks import check_integer, check_number, require
from mvlvm.estimators.options import check_device
from mvlvm.randomness import RandomStateLike
from mvlvm.training.progress import progress_bar


class ColumnGPMeans(NamedTuple):
    """Posterior means of sparse Gaussian processes with a common kernel, and separate inducing points for every column.

    Attributes:
        inducing_points: inducing points of every column.
        lengthscales: lengthscales of the squared exponential kernel, one per dimension.
        variance: kernel variance.
        weights: weights of the inducing points of every column.
    """

    inducing_points: Float[np.ndarray, "M U D"]
    lengthscales: Float[np.ndarray, " D"]
    variance: Float[np.ndarray, ""]
    weights: Float[np.ndarray, "M U"]

    def evaluate(self, X: Float[np.ndarray, "K D"]) -> Float[np.ndarray, "K M"]:
        """Return the (K, M) posterior means at latents."""
        means = np.empty((len(X), len(self.weights)))
        for m, (Z, weights) in enumerate(zip(self.inducing_points, self.weights, strict=True)):
            squares = cdist(X / self.lengthscales, Z / self.lengthscales, "sqeuclidean")
            means[:, m] = self.variance * np.exp(-squares / 2) @ weights
        return means


class GPyTorchGPLVM(ReconstructMixin, AbstractBaseline):
    """Bayesian GPLVM of GPyTorch, of the concatenated views scaled to equal total variance.

    Every column is a sparse Gaussian process of q(X), with a common squared exponential kernel, and separate inducing
    points, q(u) and noise. The latents are initialised with the principal components, and the ELBO is maximised on
    minibatches in float32, as in GPyTorch's tutorial. Views are reconstructed at the means of q(X).

    Args:
        n_components: number of latent dimensions, D.
        n_inducing: number of inducing points per column, U.
        batch_size: rows per step.
        max_iter: number of Adam steps.
        learning_rate: learning rate of Adam, which is constant.
        device: "auto" (a GPU if available), "cpu" or "cuda".
        random_state: seed of the inducing points, the minibatches and the latent samples.
        verbose: 1 shows a progress bar.

    Attributes:
        embedding_: (N, D) means of q(X).

    References:
        Gardner, Pleiss, Bindel, Weinberger, Wilson. GPyTorch: blackbox matrix-matrix Gaussian process inference with
        GPU acceleration. NeurIPS 2018.
        Lalchand, Ravuri, Lawrence. Generalised GPLVM with stochastic variational inference. AISTATS 2022.
    """

    def __init__(
        self,
        n_components: int = defaults.N_COMPONENTS,
        *,
        n_inducing: int = 25,
        batch_size: int = 100,
        max_iter: int = 10_000,
        learning_rate: float = 0.01,
        device: str = "auto",
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_inducing = n_inducing
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _fit_latents(self, views: Matrices, labels: np.ndarray | None, seed: int) -> Float[np.ndarray, "N D"]:
        n_inducing = check_integer(self.n_inducing, "n_inducing", at_least=1)
        batch_size = check_integer(self.batch_size, "batch_size", at_least=1)
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)
        learning_rate = check_number(self.learning_rate, "learning_rate", positive=True)
        device = check_device(self.device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # its import uses deprecated functions of PyTorch
            gpytorch = require("gpytorch", type(self).__name__, "baselines")
        joined = concatenate_views(views)
        check_n_components(type(self).__name__, self.n_components, max_rank(joined))
        start = decomposition.PCA(self.n_components, random_state=as_uint32_seed(seed)).fit_transform(joined)
        # GPyTorch draws from PyTorch's global generators
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(seed)
            Y = torch.as_tensor(joined, dtype=torch.float32, device=device)
            X = torch.as_tensor(np.array(start), dtype=torch.float32)
            model = _make_gplvm(gpytorch, X, Y.shape[1], n_inducing).to(device)
            self._train(gpytorch, model, Y, batch_size, max_iter, learning_rate)
        self._means = _posterior_means(model)
        return model.X.q_mu.detach().cpu().numpy()

    def _train(
        self, gpytorch: Any, model: Any, Y: Float[Tensor, "N M"], batch_size: int, max_iter: int, learning_rate: float
    ) -> None:
        """Maximise the ELBO; an interrupt ends training, and the current result is kept."""
        likelihood = gpytorch.likelihoods.GaussianLikelihood(batch_shape=torch.Size([Y.shape[1]])).to(Y.device)
        elbo = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(Y))
        optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=learning_rate)
        step = 0
        try:
            with progress_bar(max_iter, "Training") if self.verbose else nullcontext() as report:
                for step in range(max_iter):
                    rows = torch.randperm(len(Y), device=Y.device)[:batch_size]
                    optimizer.zero_grad()
                    bound = elbo(model(model.sample_latent_variable()[rows]), Y[rows].T).sum()
                    (-bound).backward()
                    optimizer.step()
                    if report is not None:
                        report(step + 1, bound.item())
        except KeyboardInterrupt:
            advice = "Call fit again to train to the end."
            warn_not_converged(type(self).__name__, f"was interrupted after {step} of {max_iter} steps", advice)

    def _reconstruct(self, latents: Float[np.ndarray, "K D"]) -> dict[str, Float[np.ndarray, "K _"]]:
        return split_views(self._means.evaluate(latents), self._widths)

    def _get_state(self) -> State:
        return self._means._asdict()

    def _set_state(self, state: State) -> None:
        self._means = ColumnGPMeans(*(state[part] for part in ColumnGPMeans._fields))


def _make_gplvm(gpytorch: Any, X: Float[Tensor, "N D"], n_columns: int, n_inducing: int) -> Any:
    """Return the untrained model; the class is defined here because GPyTorch is optional."""
    (N, D), columns, gplvm = X.shape, torch.Size([n_columns]), gpytorch.models.gplvm

    class ColumnGPLVM(gplvm.BayesianGPLVM):
        def __init__(self) -> None:
            weights = gpytorch.variational.CholeskyVariationalDistribution(n_inducing, batch_shape=columns)
            inducing_points = torch.randn(n_columns, n_inducing, D)
            prior = gpytorch.priors.NormalPrior(torch.zeros(N, D), torch.ones(N, D))
            latent = gplvm.VariationalLatentVariable(N, n_columns, D, X, prior)
            super().__init__(latent, gpytorch.variational.VariationalStrategy(self, inducing_points, weights))
            self.mean_module = gpytorch.means.ZeroMean(batch_shape=columns)
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=D))

        def forward(self, X: Tensor) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))

    return ColumnGPLVM()


@torch.no_grad()
def _posterior_means(model: Any) -> ColumnGPMeans:
    """Return the posterior means of a model: with K_zz = L L' and whitened q(u) of mean m, the weights are L'^-1 m."""
    strategy, kernel = model.variational_strategy, model.covar_module
    Z = strategy.inducing_points
    K = kernel(Z).add_jitter(strategy.jitter_val).to_dense().double()
    whitened = strategy.variational_distribution.mean.double().unsqueeze(-1)
    weights = torch.linalg.solve_triangular(torch.linalg.cholesky(K).mT, whitened, upper=True).squeeze(-1)
    lengthscales = kernel.base_kernel.lengthscale.reshape(-1)
    tensors = (Z, lengthscales, kernel.outputscale.reshape(()), weights)
    return ColumnGPMeans(*(values.double().cpu().numpy() for values in tensors))
