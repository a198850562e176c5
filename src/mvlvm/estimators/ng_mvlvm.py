"""NG-MVLVM: views with next-gen spectral mixture kernels that share one latent."""

from collections.abc import Mapping
from typing import Any

from mvlvm import defaults
from mvlvm.estimators.base import AbstractMultiViewLVM
from mvlvm.randomness import RandomStateLike


class NGMVLVM(AbstractMultiViewLVM):
    r"""Multi-view latent variable model with next-gen spectral mixture kernels.

    Every column of every view is a Gaussian process of one shared latent $x_n \sim N(0, I)$, plus noise. Each view has
    a kernel of its own, learned as a mixture in the frequency domain, which need not be stationary: the view may vary
    fast in one place and slowly in another. Random Fourier features make a fit cost O(N F^2), with F = 2 P Q features.
    With `kernel="sm"` for every view it is MV-ARFLVM.

    Parameters that say "per view" also take a dict, view name -> value.

    Args:
        n_components: latent dimensions that all views share, D; "auto" starts with `max_components` and takes away
            those that no view uses.
        max_components: the most that "auto" will keep.
        n_private: view name -> latent dimensions that only this view sees; a view that is left out has none.
        n_mixtures: mixtures of a view's spectral density, Q; per view.
        n_points: spectral points per mixture, P (the paper's L / 2).
        kernel: "ngsm", or "sm" for a stationary spectral mixture; per view.
        likelihood: how entries vary around a view's function: "gaussian", "student-t", "bernoulli", "poisson",
            "negative-binomial", "categorical", or "auto" to guess from the data; per view. What was chosen is in
            `likelihood_`, and with `verbose` the reason is shown. Labels are categorical in any case.
        scale: "view" divides a view by one factor, for columns of like units such as pixels; "column" divides every
            column by its standard deviation; None only centres; "auto" chooses and says so in `scale_`; per view.
        init: where the latent means start. "pca": principal components of all views; "spectral": Laplacian eigenmaps of
            the graph of nearest neighbours; "neighbors": a layout of that graph; "auto": all three are trained for
            100 steps, and the fit starts where the bound was best; or an (N, D) array. With `n_private`, the array may
            also have a column for every private dimension, after the shared ones, view by view.
        max_iter: the most steps to take.
        tol: the bound is flat when it rises by less than this, in nats per entry of the data, from one fifty steps to
            the next; training then ends with 200 steps of a falling learning rate. 0 never stops early.
        learning_rate: of Adam; it falls along a cosine to a twentieth once the bound is flat, or at the end of
            `max_iter` steps.
        n_draws: draws of latents and spectral points per step, the paper's I.
        n_draws_predict: draws of spectral points that predictions average over.
        latent_kl_weight: weight of the latent's divergence; 1 makes the objective a bound.
        view_weights: weight of every view's evidence; per view; None is 1. A view of weight 0 has no say in the
            latents, but learns to be predicted from them.
        compress: how far training may cut a complete Gaussian view to its leading directions: what is cut has at most
            this share of the noise's energy. "auto" is 0.1, None cuts nothing. The bound can only fall by it;
            predictions and `elbo_` use all columns.
        memory_budget: bytes that the features of one view may take in training, beyond which they are computed anew for
            every pass over them; None is 1e9.
        device: "auto" (a GPU where there is one), "cpu" or "cuda".
        dtype: "auto" computes features in float32 and everything after them in float64; "float64" all of it.
        random_state: an integer makes the fit repeatable.
        verbose: 1 shows the likelihoods that were chosen, and progress bars in fits and for new rows; 2 also shows how
            much memory a fit is going to need.

    Attributes:
        embedding_: (N, D) posterior means of the shared latents.
        embedding_std_: (N, D) their posterior standard deviations.
        private_embedding_: view -> (N, k) posterior means of its private latents, for views that have some.
        private_embedding_std_: view -> (N, k) their posterior standard deviations.
        n_components_: shared dimensions, D; those that "auto" has kept.
        elbo_: the evidence lower bound of the scaled views in nats, averaged over draws.
        history_: column -> array over steps: "objective" (what was raised: the bound with its weights), "elbo",
            "reconstruction", "latent_kl", "seconds", "learning_rate".
        init_: where the latents started, "pca", "spectral", "neighbors" or "array".
        n_iter_: steps taken.
        stop_reason_: "converged", "max_iter" or "interrupted".
        likelihood_: view -> its likelihood.
        likelihood_parameters_: view -> name -> what the likelihood has learned, in the units of the scaled view: the
            dispersion of every column of a negative binomial, scale and degrees of freedom of Student's t.
        classes_: view -> classes, for columns of labels.
        noise_variance_: view -> noise variance in the data's units, averaged over the columns; for Gaussian views.
        explained_variance_: view -> share of the scaled view's variance that the model explains.
        explained_variance_per_dimension_: (V, D) what is lost of that share when one latent dimension is held at its
            mean.
        relevance_: (V, D) share of each latent dimension in each view's variation; rows sum to one. Private dimensions
            come after the shared ones, view by view.
        scale_: view -> the scaling used.
        fit_seconds_: what the time of a fit went to: "preparing" the views and the start, "training" the latents, and
            "predictions", making the model ready for them; a file does not keep it.
        view_names_: the views in order; a list gives view0, view1 and so on.
        n_features_in_: columns of the view, or view -> columns if there are several.
        model_: the trained model, for those who want to look inside.

    Example:
        >>> from mvlvm.datasets import load
        >>> data = load("s-curve", kernels=["rbf", "gibbs"], n_samples=60, n_features=10, random_state=0)
        >>> est = NGMVLVM(max_iter=20, tol=0.0, random_state=0).fit(data.views)
        >>> est.embedding_.shape
        (60, 2)
        >>> mean, std = est.reconstruct(return_std=True)
        >>> std["view2"].shape
        (60, 10)

    References:
        Yang, Li, Lin, Zhang, Olmos. Multi-View Oriented GPLVM: Expressiveness and Efficiency. NeurIPS 2025.
    """

    def __init__(
        self,
        *,
        n_components: int | str = defaults.N_COMPONENTS,
        max_components: int = defaults.MAX_COMPONENTS,
        n_private: Mapping[str, int] | None = None,
        n_mixtures: int | Mapping[str, int] = defaults.N_MIXTURES,
        n_points: int = defaults.N_POINTS,
        kernel: str | Mapping[str, str] = "ngsm",
        likelihood: str | Mapping[str, str] = "gaussian",
        scale: str | Mapping[str, str | None] | None = "auto",
        init: Any = "pca",
        max_iter: int = defaults.MAX_ITER,
        tol: float = defaults.TOL,
        learning_rate: float = defaults.LEARNING_RATE,
        n_draws: int = defaults.N_DRAWS,
        n_draws_predict: int = defaults.N_DRAWS_PREDICT,
        latent_kl_weight: float = 1.0,
        view_weights: Mapping[str, float] | None = None,
        compress: str | float | None = "auto",
        memory_budget: float | None = None,
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
        self.kernel = kernel
        self.likelihood = likelihood
        self.scale = scale
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.n_draws = n_draws
        self.n_draws_predict = n_draws_predict
        self.latent_kl_weight = latent_kl_weight
        self.view_weights = view_weights
        self.compress = compress
        self.memory_budget = memory_budget
        self.device = device
        self.dtype = dtype
        self.random_state = random_state
        self.verbose = verbose

    def _kernel(self) -> Any:
        return self.kernel
