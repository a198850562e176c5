"""MV-ARFLVM: the multi-view model with stationary spectral mixture kernels."""

from collections.abc import Mapping
from typing import Any

from mvlvm import defaults
from mvlvm.estimators.base import AbstractMultiViewLVM
from mvlvm.randomness import RandomStateLike


class MVARFLVM(AbstractMultiViewLVM):
    r"""Multi-view latent variable model with stationary spectral mixture kernels.

    The same model as `NGMVLVM` with tied mixtures, $w_1 = w_2$: the smoothness of a view is the same everywhere. It is
    the paper's MV-ARFLVM, and with one view its ARFLVM. All parameters but `kernel` are those of `NGMVLVM`.

    Args:
        n_components: number of latent dimensions shared by all views, D; or "auto".
        max_components: maximum number of shared dimensions for "auto".
        n_private: view name -> number of private latent dimensions.
        n_mixtures: number of components of a view's spectral density, Q; per view.
        n_points: number of spectral points per mixture component, P.
        likelihood: likelihood of the entries; per view.
        scale: scaling of the views; per view.
        init: initial latent means.
        max_iter: maximum number of steps.
        tol: tolerance of the stopping rule, in nats per entry.
        learning_rate: of Adam.
        schedule: "constant", or "coarse-to-fine", which begins with few spectral points.
        n_draws: number of draws per step.
        n_draws_predict: number of draws of spectral points that predictions average over.
        latent_kl_weight: weight of the latent's KL divergence.
        neighbor_weight: weight of the neighbour term.
        view_weights: weight of every view's evidence; per view, or "balanced".
        compress: how far training may compress complete Gaussian views.
        memory_budget: bytes that the features of one view may take in training.
        matmul_backend: implementation of float32 matrix products on a CPU: "auto", "torch" or "onednn".
        device: "auto", "cpu" or "cuda".
        dtype: "auto" or "float64".
        random_state: seed.
        verbose: verbosity.

    Attributes:
        embedding_: (N, D) posterior means of the latents; the other attributes are those of `NGMVLVM`.

    Example:
        >>> from mvlvm.datasets import load
        >>> data = load("s-curve", kernels=["rbf", "rbf"], n_samples=60, n_features=10, random_state=0)
        >>> MVARFLVM(max_iter=20, tol=0.0, random_state=0).fit_transform(data.views).shape
        (60, 2)

    References:
        Li, Lin, Yin, Zhang. Preventing model collapse in Gaussian process latent variable models. ICML 2024.
    """

    def __init__(
        self,
        *,
        n_components: int | str = defaults.N_COMPONENTS,
        max_components: int = defaults.MAX_COMPONENTS,
        n_private: Mapping[str, int] | None = None,
        n_mixtures: int | Mapping[str, int] = defaults.N_MIXTURES,
        n_points: int = defaults.N_POINTS,
        likelihood: str | Mapping[str, str] = "gaussian",
        scale: str | Mapping[str, str | None] | None = "auto",
        init: Any = "pca",
        max_iter: int = defaults.MAX_ITER,
        tol: float = defaults.TOL,
        learning_rate: float = defaults.LEARNING_RATE,
        schedule: str = "constant",
        n_draws: int = defaults.N_DRAWS,
        n_draws_predict: int = defaults.N_DRAWS_PREDICT,
        latent_kl_weight: float = 1.0,
        neighbor_weight: float | str = 0.0,
        view_weights: str | Mapping[str, float] | None = None,
        compress: str | float | None = "auto",
        memory_budget: float | None = None,
        matmul_backend: str = "auto",
        device: str = "auto",
        dtype: str = "auto",
        random_state: RandomStateLike = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.max_components = max_components
        self.n_private = n_private
        self.n_mixtures = n_mixtures
        self.n_points = n_points
        self.likelihood = likelihood
        self.scale = scale
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.n_draws = n_draws
        self.n_draws_predict = n_draws_predict
        self.latent_kl_weight = latent_kl_weight
        self.neighbor_weight = neighbor_weight
        self.view_weights = view_weights
        self.compress = compress
        self.memory_budget = memory_budget
        self.matmul_backend = matmul_backend
        self.device = device
        self.dtype = dtype
        self.random_state = random_state
        self.verbose = verbose
