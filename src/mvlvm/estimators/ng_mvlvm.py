"""NG-MVLVM: the multi-view model with next-gen spectral mixture kernels."""

from collections.abc import Mapping
from typing import Any

from mvlvm import defaults
from mvlvm.estimators.base import AbstractMultiViewLVM
from mvlvm.randomness import RandomStateLike


class NGMVLVM(AbstractMultiViewLVM):
    r"""Multi-view latent variable model with next-gen spectral mixture kernels.

    Every column of every view is a Gaussian process of one shared latent $x_n \sim N(0, I)$, plus noise. Each view has
    its own kernel, learned as a mixture in the frequency domain. It need not be stationary: the view may vary fast in
    one region and slowly in another. Random Fourier features make a fit cost O(N F^2), with F = 2 P Q features. With
    `kernel="sm"` for every view the model is MV-ARFLVM.

    Parameters marked "per view" also accept a dict, view name -> value.

    Args:
        n_components: number of latent dimensions shared by all views, D; "auto" starts with `max_components` and
            removes those that no view uses.
        max_components: maximum number of shared dimensions for "auto".
        n_private: view name -> number of private latent dimensions, which only this view depends on; 0 for views that
            are not listed.
        n_mixtures: number of components of a view's spectral density, Q; per view.
        n_points: number of spectral points per mixture component, P (the paper's L / 2).
        kernel: "ngsm", or "sm" for a stationary spectral mixture; per view.
        likelihood: "gaussian", "student-t", "bernoulli", "poisson", "negative-binomial", "categorical", or "auto" to
            infer the likelihood from the data; per view. The choice is in `likelihood_`, and with `verbose` the reason
            is printed. Labels are always categorical.
        scale: "view" divides a view by one factor, for columns of the same unit such as pixels; "column" divides every
            column by its standard deviation; None only centres; "auto" chooses, see `scale_`; per view.
        init: initial latent means. "pca": principal components of all views; "spectral": Laplacian eigenmap of the
            k-nearest-neighbour graph; "tsne" ("neighbors"): t-SNE in one or two dimensions, a layout of the graph in
            more; "covariance": classical scaling of distances derived from the covariance of one view; "auto": the best
            of these by the bound; an (N, D) array; or a callable, or a transformer with `fit_transform`, that is given
            the views side by side, each divided by its norm, and returns such an array, in any units. With `n_private`,
            an array may also have columns for the private dimensions after the shared ones, in the order of the views.
        max_iter: maximum number of steps.
        tol: the bound has converged when it rises by less than this, in nats per entry of the data, from one window of
            fifty steps to the next; training then ends with 200 steps of learning-rate decay. 0 never stops early.
        learning_rate: of Adam; after convergence, or at the end of `max_iter` steps, it decays along a cosine to a
            twentieth.
        schedule: "constant" uses all spectral points in every step. "coarse-to-fine" trains models of several views
            with 25 points and twice the learning rate until the bound has converged, and then with all points; the rate
            is held for 50 steps, and decays in 150 to the same final rate. It takes half of the time, for bounds as
            good, but slightly worse neighbourhoods; it is "constant" for a single view, for up to 25 points, for
            `tol=0` and for `max_iter` below 400.
        n_draws: number of draws of latents and spectral points per step, the paper's I.
        n_draws_predict: number of draws of spectral points that predictions average over.
        latent_kl_weight: weight of the latent's KL divergence; 1 makes the objective a lower bound.
        neighbor_weight: weight c of the neighbour term c N T in the objective, where T is t-SNE's objective of the
            shared latent means (one or two dimensions). 0 is the model of the paper; "auto" is 100, with which maps
            preserve neighbours like t-SNE does. `elbo_` does not contain the term, `history_` does. See `map`.
        view_weights: weight of every view's evidence; per view; None is 1. "balanced" gives views of equally many
            effective dimensions equal influence, whatever their numbers of columns, on the latents and on their initial
            means; see `view_weights_`. A view of weight 0 does not influence the latents, but is learned and can be
            predicted from them.
        compress: how far training may compress a complete Gaussian view to its leading directions: the part that is
            dropped has at most this share of the noise's energy. "auto" is 0.1, None disables compression. It can only
            lower the bound; predictions and `elbo_` use all columns.
        memory_budget: bytes that the features of one view may take in training, beyond which they are recomputed in
            every pass; None is 1e9.
        matmul_backend: implementation of float32 matrix products on a CPU: "torch"; "onednn", which is twice as fast on
            recent AMD processors; or "auto", which depends on the processor and the version of torch. The choice, which
            affects the last bits of results, is in `matmul_backend_`.
        device: "auto" (a GPU if available), "cpu" or "cuda".
        dtype: "auto" computes features in float32 and factorisations in float64; "float64" computes everything in
            float64.
        random_state: seed; an integer makes the fit reproducible.
        verbose: 1 prints the inferred likelihoods and shows progress bars; 2 also prints an estimate of the memory.

    Attributes:
        embedding_: (N, D) posterior means of the shared latents.
        embedding_std_: (N, D) their posterior standard deviations.
        private_embedding_: view -> (N, k) posterior means of its private latents, for views that have some.
        private_embedding_std_: view -> (N, k) their posterior standard deviations.
        n_components_: number of shared dimensions, D; after pruning if `n_components="auto"`.
        elbo_: the evidence lower bound of the scaled views in nats, averaged over draws.
        history_: column -> array over steps: "objective" (the bound with its weights, and further terms), "elbo",
            "reconstruction", "latent_kl", "neighbors" (the neighbour term T), "seconds", "learning_rate".
        init_: the initialisation that was used, "pca", "spectral", "tsne", "covariance", "array" or "custom".
        matmul_backend_: implementation of float32 matrix products that was used on a CPU, "torch" or "onednn".
        n_iter_: number of steps.
        stop_reason_: "converged", "max_iter" or "interrupted".
        likelihood_: view -> name of its likelihood.
        likelihood_parameters_: view -> parameter name -> learned value, in the units of the scaled view: the dispersion
            of every column of a negative binomial, scale and degrees of freedom of Student's t.
        classes_: view -> classes, for columns of labels.
        noise_variance_: view -> noise variance in the units of the data, averaged over columns; for Gaussian views.
        explained_variance_: view -> share of the scaled view's variance that the model explains, R^2.
        explained_variance_per_dimension_: (V, D) decrease of this share when one latent dimension is held at its mean;
            a negative R^2 without the dimension counts as zero, so that no entry exceeds `explained_variance_`.
        relevance_: (V, D) share of each latent dimension in each view's variation; rows sum to one. Private dimensions
            follow the shared ones, in the order of the views.
        scale_: view -> scaling that was used.
        fit_seconds_: time of the stages of a fit, "preparing" (validation, preprocessing, initialisation), "training"
            and "finishing"; "predictions" is the time of everything that was computed on first use so far, which is
            also listed by name; not saved to files.
        view_weights_: view -> weight of its evidence.
        view_names_: names of the views in order; a list gives view0, view1 and so on.
        n_features_in_: number of columns of a single view, or view -> number of columns.
        model_: the fitted model.

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
        self.kernel = kernel
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

    @classmethod
    def map(
        cls, views: Any, *, n_components: int = 2, likelihood: str | Mapping[str, str] = "gaussian",
        device: str = "auto", random_state: RandomStateLike = None, verbose: int = 0,
    ) -> "NGMVLVM":  # fmt: skip
        """Fit a map: two dimensions in which neighbours are near each other, with error bars.

        The settings are `init="tsne"`, `view_weights="balanced"` and `neighbor_weight="auto"`; the parameters are
        described there.

        Args:
            views: as for `fit`.
            n_components: number of dimensions, 1 or 2.
            likelihood: likelihood of the entries; per view.
            device: "auto", "cpu" or "cuda".
            random_state: seed.
            verbose: verbosity.

        Returns:
            The fitted estimator.

        Example:
            >>> from mvlvm.datasets import load
            >>> data = load("s-curve", kernels=["rbf", "gibbs"], n_samples=60, n_features=10, random_state=0)
            >>> est = NGMVLVM.map(data.views, random_state=0)
            >>> est.embedding_.shape
            (60, 2)
        """
        return cls(
            **defaults.MAP_SETTINGS, n_components=n_components, likelihood=likelihood, device=device,
            random_state=random_state, verbose=verbose,
        ).fit(views)  # fmt: skip
