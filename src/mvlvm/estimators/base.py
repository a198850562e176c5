"""The scikit-learn interface of the multi-view models: `fit`, and everything a fitted model can be asked."""

import os
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mvlvm.checks import check_choice, check_flag, check_integer
from mvlvm.errors import ViewError
from mvlvm.estimators import memory, serialization
from mvlvm.estimators.figures import FigureMixin
from mvlvm.estimators.fit_snapshot import Snapshot
from mvlvm.estimators.fitted import (
    FitRecord,
    FittedModel,
    factor_frame,
    fitted_attributes,
    fitted_views,
    record_fit,
    relevance_frame,
)
from mvlvm.estimators.initialization import initialize
from mvlvm.estimators.latent_queries import column_relevance, density_of, kernel_at, views_at
from mvlvm.estimators.options import FitOptions
from mvlvm.estimators.prediction import (
    check_target,
    check_target_is_missing,
    encode_new_views,
    fill_missing,
    new_rows,
    place_zero_weight_rows,
    row_progress,
    sources_of,
    validate_new_views,
)
from mvlvm.estimators.preprocessing import preprocess, print_likelihoods, retain, validate
from mvlvm.estimators.train import FitCallback, Trained, train_model, warn_if_not_converged
from mvlvm.inference.conditional_rows import CONDITIONALS
from mvlvm.inference.new_rows import NewRows
from mvlvm.inference.predictor import condition
from mvlvm.io.model_files import write_model
from mvlvm.lazy import Lazy
from mvlvm.models.diagnostics import learned_gram
from mvlvm.models.views import AbstractView
from mvlvm.randomness import RandomStateLike, Stream, make_generator, seed_from
from mvlvm.spectral import BivariateMixture, StationaryMixture
from mvlvm.training.interrupts import Interrupts
from mvlvm.views.layout import Views

# typing.Self cannot be read by the run-time shape checks of the tests.
Estimator = TypeVar("Estimator", bound="AbstractMultiViewLVM")


class AbstractMultiViewLVM(FigureMixin, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Fits one latent to several views; a subclass declares the parameters and the kernel.

    Attributes:
        verbose: a parameter of the estimator; 1 shows progress.
        model_: the fitted model.
    """

    verbose: int
    model_: FittedModel
    view_names_: list[str]
    n_features_in_: int | dict[str, int]
    feature_names_in_: np.ndarray
    embedding_: np.ndarray
    embedding_std_: np.ndarray
    n_components_: int
    private_embedding_: dict[str, np.ndarray]
    private_embedding_std_: dict[str, np.ndarray]
    likelihood_: dict[str, str]
    likelihood_parameters_: dict[str, dict[str, np.ndarray]]
    classes_: dict[str, list[Any]]
    scale_: dict[str, str | None]
    noise_variance_: dict[str, float]
    init_: str
    matmul_backend_: str
    view_weights_: dict[str, float]
    history_: Mapping[str, np.ndarray]
    n_iter_: int
    stop_reason_: str
    _record: FitRecord | None = None
    # The training views if they have missing entries, for `impute`.
    _with_missing: Views | None = None
    _stage_seconds: Mapping[str, float] | None = None

    @abstractmethod
    def __init__(self) -> None:
        """Store the parameters, as scikit-learn requires."""

    def fit(self: Estimator, views: Any, y: Any = None, *, sample_weight: Any = None) -> Estimator:
        """Learn the latents, the kernels and the noise.

        What predictions need besides is computed on first use, see `prepare`. Ctrl-C ends the training, and keeps the
        model so far.

        Args:
            views: a matrix, DataFrame or AnnData (one view), a list of matrices or DataFrames, a dict of them with the
                names of the views, or a MuData. All have the same samples in their rows. NaN marks a missing entry, a
                row of NaN a missing view; views with missing entries are kept for `impute`. Sparse views are converted
                to dense arrays.
            y: ignored, present for compatibility with scikit-learn.
            sample_weight: (N,) weights of the rows: a row of weight 3 counts like three copies of it, a row of weight 0
                does not influence the fit; its latent is inferred afterwards, as for a new row. Centring and scaling
                treat all rows of positive weight alike.

        Returns:
            The estimator itself.

        Raises:
            ViewError: the views are invalid.
            ValueError: a parameter is invalid.
            NumericalError: training failed numerically.
        """
        with Interrupts() as interrupts:
            trained, options, n_entries = self._fit(views, sample_weight, interrupts)
        warn_if_not_converged(trained.last, options, n_entries, interrupted=interrupts.requested)
        return self

    def _fit(
        self,
        views: Any,
        sample_weight: Any,
        interrupts: Interrupts,
        *,
        snapshot: Snapshot | None = None,
        callbacks: Sequence[FitCallback] = (),
    ) -> tuple[Trained, FitOptions, int]:
        """Run the stages of a fit and replace the fitted attributes; warnings about the result follow.

        A snapshot of an earlier fit to the same views is continued; callbacks are called after every training step.
        """
        begin = time.perf_counter()
        options, validated = validate(self.get_params(deep=False), views, sample_weight)
        if options.verbose:
            print_likelihoods(validated.inferred)
        if options.verbose > 1:
            print(self.estimate_memory(views))

        scaled, retained = preprocess(validated, options), retain(validated)
        weight, scalings = scaled.sample_weight, scaled.scalings

        seed = seed_from(options.random_state) if snapshot is None else snapshot.header["seed"]
        problem, state = initialize(scaled, options, seed, snapshot)
        del validated, scaled  # release memory for training
        prepared_after = time.perf_counter() - begin

        trained = train_model(problem, state, interrupts, callbacks)
        model, n_entries = trained.model, problem.n_entries
        del problem, state
        trained_after = time.perf_counter() - begin

        predictor = condition(model, scalings, trained.views, seed=seed, n_draws=options.n_draws_predict)
        if weight is not None:
            place_zero_weight_rows(predictor, retained.zero_weight_rows, weight, interrupts)
        record = record_fit(
            predictor, trained, memory_budget=options.memory_budget, matmul_backend=options.arithmetic.products
        )
        views = fitted_views(model, retained.encodings, scalings)
        fitted = FittedModel(model, views, retained.layout, trained.dimensions, predictor)
        seconds = {
            "preparing": prepared_after,
            "training": trained_after - prepared_after,
            "finishing": time.perf_counter() - begin - trained_after,
        }
        adopt(self, fitted, record, with_missing=retained.with_missing, stage_seconds=seconds)
        return trained, options, n_entries

    def prepare(self: Estimator) -> Estimator:
        """Compute everything that is otherwise computed on first use, and release the training views.

        `fit` returns when the latents, the kernels and the noise are known. What predictions need (the weights of the
        features and the likelihood tempering), `explained_variance_`, `relevance_` and `elbo_` are computed when they
        are asked for; until `prepare` is called, the estimator refers to the scaled training views. The results are the
        same.

        Returns:
            The estimator itself.
        """
        check_is_fitted(self)
        for part in self._lazy_parts().values():
            _ = part.value
        self._record = replace(self._fit_record(), data=None)
        return self

    @property
    def elbo_(self) -> float:
        """The evidence lower bound of the scaled views in nats, averaged over draws."""
        return self._fit_record().elbo.value

    @property
    def explained_variance_(self) -> dict[str, float]:
        """View -> share of the scaled view's variance that the model explains, R^2."""
        return self._fit_record().explained.value.total

    @property
    def explained_variance_per_dimension_(self) -> Float[np.ndarray, "V D"]:
        """Decrease of the explained variance when one latent dimension is held at its mean, (V, D)."""
        return self._fit_record().explained.value.per_dimension

    @property
    def relevance_(self) -> Float[np.ndarray, "V D"]:
        """Share of each latent dimension in each view's variation, (V, D)."""
        return self._fit_record().relevance.value

    @property
    def fit_seconds_(self) -> dict[str, float]:
        """Time of the stages of a fit, and of everything computed on first use so far."""
        check_is_fitted(self)
        if self._stage_seconds is None:
            raise AttributeError("fit_seconds_ is not saved to files: the fit was timed by another process.")
        on_first_use = {name: part.seconds for name, part in self._lazy_parts().items() if part.is_computed}
        return {**self._stage_seconds, "predictions": sum(on_first_use.values()), **on_first_use}

    def _lazy_parts(self) -> dict[str, Lazy[Any]]:
        return {**self.model_.predictor.lazy_parts, **self._fit_record().lazy_parts}

    def _fit_record(self) -> FitRecord:
        check_is_fitted(self)
        assert self._record is not None
        return self._record

    def fit_transform(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, views: Any, y: Any = None, *, sample_weight: Any = None
    ) -> Float[np.ndarray, "N D"]:
        """Fit, and return the posterior means of the latents, shape (N, D)."""
        return self.fit(views, y, sample_weight=sample_weight).embedding_

    def transform(self, views: Any, *, return_std: bool = False) -> Any:
        """Infer the latents of new rows, with everything else fixed.

        Every row is inferred on its own: by Gauss-Newton steps from the latents of the training rows that explain it
        best, and from the prior mean, to the best mode of its posterior. The latents of the training rows are in
        `embedding_`; they were learned jointly, so `transform` of a training row returns a similar latent, or another
        mode, not exactly the same.

        Args:
            views: any of the training views, with any number of rows; NaN marks missing entries, and in a list None
                stands for a missing view. A row without any entry gets the prior, mean 0 and standard deviation 1.
            return_std: whether to return standard deviations too.

        Returns:
            The (N, D) latents of the shared dimensions, or a pair (mean, std).

        Raises:
            ViewError: the views do not match those of training.
        """
        rows, _ = self._new_rows(views)
        mean, std = (values[:, self.model_.dimensions.shared] for values in rows.latents())
        return (mean, std) if check_flag(return_std, "return_std") else mean

    def predict(
        self,
        views: Any,
        *,
        target: str | None = None,
        return_std: bool = False,
        include_noise: bool = True,
        conditional: str = "auto",
    ) -> Any:
        """Predict a view of new rows from other views of them.

        Predictions by the latents average over their posterior, the weights of the features and draws of spectral
        points; the standard deviation includes all of these and the noise. A conditional layer adds what the given
        views know about a Gaussian view directly (`docs/prediction.md`); it is fitted to the training rows when a view
        is first predicted from others.

        Args:
            views: as in `transform`.
            target: the view to predict, which must not be among `views`; None predicts every view of the model,
                including the given ones.
            return_std: whether to return the standard deviation of every entry too.
            include_noise: False excludes the noise from the standard deviations: they are those of the function.
            conditional: "latent" predicts by the latents alone, "blend" by the conditional layer where there is one,
                "auto" by that of both which has the smaller leave-one-out error.

        Returns:
            The target, as a DataFrame if it was one in training; for None all views, in the form of the training
            views. With `return_std` a pair, (mean, std).

        Raises:
            ViewError: the views do not match those of training, or the target is one of them.
            ValueError: there is no such target.
        """
        check_is_fitted(self)
        return_std, include_noise = check_flag(return_std, "return_std"), check_flag(include_noise, "include_noise")
        conditional = check_choice(conditional, "conditional", CONDITIONALS)
        if target is not None:
            check_target(self.model_, target)
        rows, given = self._new_rows(views, target=target)
        targets = list(self.model_.views) if target is None else [target]
        pair = rows.predict(targets, include_noise=include_noise, conditional=conditional)
        layout = self.model_.layout.of_rows(given.layout.index)
        restored = [
            layout.restore(part, per_class=True)
            if target is None
            else layout.table(target, part[target], per_class=True)
            for part in pair
        ]
        return tuple(restored) if return_std else restored[0]

    def prediction_sources(self, target: str, *, given: Sequence[str] | None = None) -> dict[str, float]:
        """Return where predictions of a Gaussian view from others come from: the latents, or the given views directly.

        The conditional layer of these views is fitted if it was not used before. All values are those of leave-one-out
        predictions of the training rows.

        Args:
            target: the view to predict.
            given: the views that it is predicted from; None for all others.

        Returns:
            The number of training rows; the coefficient of the latent prediction and the weights of regression and
            neighbours; the shares of the target's variance that are predicted by the latents, by the given views
            directly and by the neighbours; and the RMSE of the layer and of the latents alone in standardised columns.

        Raises:
            ViewError: there is no such layer.
            ValueError: there is no such view.
        """
        check_is_fitted(self)
        check_target(self.model_, target)
        return sources_of(self.model_, target, given)

    def impute(self, views: Any = None, *, return_std: bool = False, conditional: str = "auto") -> Any:
        """Fill the missing entries of views; observed entries are returned unchanged.

        Args:
            views: views with missing entries, of new or training rows; views that are not given are not predicted.
                None fills the missing entries of the training views.
            return_std: whether to return the standard deviations of the imputed entries too, zero for the others.
            conditional: how whole missing views of a row are predicted, as in `predict`.

        Returns:
            The views in the form they were given, or a pair (imputed, std).

        Raises:
            ViewError: the views do not match those of training.
            ValueError: the training views had no missing entries, or are not available.
        """
        check_is_fitted(self)
        return_std = check_flag(return_std, "return_std")
        conditional = check_choice(conditional, "conditional", CONDITIONALS)
        if views is None:
            given = self._training_views()
            rows = NewRows(
                self.model_.predictor, encode_new_views(self.model_, given), row_progress(verbose=self.verbose > 0)
            )
        else:
            rows, given = self._new_rows(views)
        means, stds = rows.predict(given.names, conditional=conditional)
        decoded = {name: self.model_.views[name].encoding.decode(mean) for name, mean in means.items()}
        filled, std = fill_missing(given, decoded, stds)
        restore = given.layout.restore
        return (restore(filled), restore(std, per_class=True)) if return_std else restore(filled)

    def score(self, views: Any, y: Any = None, *, target: str | None = None, conditional: str = "auto") -> float:
        """Return the mean log density of new rows, in nats per observed entry and the units of the data.

        For views that are not Gaussian, the density of a whole row is replaced by a lower bound, the expected log
        density; with `target`, densities of single entries need no such bound.

        Args:
            views: as in `transform`.
            y: ignored, present for compatibility with scikit-learn.
            target: one of `views`: score only its entries, each on its own and predicted from the other views.
            conditional: how the target is predicted, as in `predict`; without a target it has no effect.

        Raises:
            ViewError: the views do not match those of training, or there is no observed entry.
            ValueError: there is no such target.
        """
        conditional = check_choice(conditional, "conditional", CONDITIONALS)
        if target is None:
            rows, _ = self._new_rows(views)
            total, n_observed = (rows.log_density(), rows.n_observed) if rows.n_observed else (0.0, 0)
        else:
            check_is_fitted(self)
            check_target(self.model_, target)
            given = validate_new_views(self.model_, views)
            if target not in given.arrays:
                raise ViewError(f"There is nothing to score: the target '{target}' was not given. Add it to the views.")
            arrays = encode_new_views(self.model_, given)
            truth = arrays.pop(target)
            rows = new_rows(self.model_, arrays, target, verbose=self.verbose > 0)
            total, n_observed = rows.log_density_of(target, truth, conditional=conditional)
        if not n_observed:
            raise ViewError(
                "There is no observed entry to score: all are NaN, or in columns that training left out. "
                "Provide at least one."
            )
        return total / n_observed

    def reconstruct(self, *, return_std: bool = False, include_noise: bool = True) -> Any:
        """Reconstruct the training views, in the units of the data and in the form of the input.

        Args:
            return_std: whether to return the standard deviation of every entry too, which includes the uncertainty of
                weights and latents and the noise.
            include_noise: False excludes the noise from the standard deviations: they are those of the function.

        Returns:
            The views, or a pair of them, (mean, std).
        """
        check_is_fitted(self)
        include_noise = check_flag(include_noise, "include_noise")
        restore = partial(self.model_.layout.restore, per_class=True)
        if not check_flag(return_std, "return_std"):
            return restore(self.model_.reconstructed_means())
        means, stds = self.model_.reconstructed(include_noise=include_noise)
        return restore(means), restore(stds)

    def sample(self, n_samples: int = 1, *, random_state: RandomStateLike = 0) -> Any:
        """Draw new rows: latents from the prior, then every view of them, including noise.

        Args:
            n_samples: number of rows.
            random_state: seed of the draws.

        Returns:
            The views, in the form of the input.
        """
        check_is_fitted(self)
        n_samples = check_integer(n_samples, "n_samples", at_least=1)
        arrays = self.model_.sample(n_samples, seed_from(random_state))
        return self.model_.layout.of_rows(None).restore(arrays)

    def inverse_transform(self, X: Any, *, return_std: bool = False, include_noise: bool = True) -> Any:
        """Return the views at given latents, in the units of the data and in the form of the input.

        Args:
            X: latents of shape (n, D), in the order of `embedding_`; with private dimensions also of all dimensions, in
                the order of `factors()`. Private dimensions that are not given have their prior.
            return_std: whether to return the standard deviation of every entry too.
            include_noise: False excludes the noise from the standard deviations: they are those of the function.

        Returns:
            The views, or a pair of them, (mean, std).

        Raises:
            ViewError: the latents have the wrong shape, or are not finite.
        """
        check_is_fitted(self)
        include_noise = check_flag(include_noise, "include_noise")
        means, stds = views_at(self.model_, X, include_noise=include_noise)
        restore = partial(self.model_.layout.of_rows(None).restore, per_class=True)
        return (restore(means), restore(stds)) if check_flag(return_std, "return_std") else restore(means)

    def kernel_matrix(
        self, view: str, X1: Any = None, X2: Any = None, *, n_draws: int | None = None
    ) -> Float[np.ndarray, "N K"]:
        """Return the learned kernel matrix of one view between latents, in the units of the scaled view.

        Args:
            view: its name.
            X1: latents, as in `inverse_transform`; None stands for the posterior means of the training rows.
            X2: latents; None stands for X1.
            n_draws: average over draws of latents of the training rows and of spectral points instead, which estimates
                the expected kernel under the posterior of the latents; None evaluates the closed form.

        Raises:
            ValueError: there is no such view, or draws are requested for given latents.
        """
        module = self._module_of(view)
        if n_draws is None:
            return kernel_at(self.model_, view, X1, X2)
        if X1 is not None or X2 is not None:
            raise ValueError("n_draws averages over the latents of the training rows. Omit X1 and X2, or n_draws.")
        n_draws, latent = check_integer(n_draws, "n_draws", at_least=1), self.model_.model.latent
        generator = make_generator(self.model_.seed, Stream.KERNEL, latent.mean.device)
        with torch.no_grad():
            return learned_gram(module, latent, n_draws, generator).cpu().numpy()

    def spectral_density(self, view: str) -> BivariateMixture | StationaryMixture:
        """Return the learned spectral density of one view, in the units of the scaled view.

        Its parameters are float64 tensors; `mvlvm.kernels` evaluates its kernel.

        Args:
            view: its name.
        """
        return density_of(self._module_of(view))

    def column_relevance(self, view: str) -> Any:
        """Return how much every column of one view varies along every latent dimension, as a DataFrame.

        The entries are squared derivatives of the column's function with respect to the dimension, averaged over the
        training rows, times the variance of the latents, and relative to the largest sum over dimensions.

        Args:
            view: its name.
        """
        self._module_of(view)
        return column_relevance(self.model_, view)

    def _module_of(self, view: str) -> AbstractView:
        check_is_fitted(self)
        if view not in self.view_names_:
            raise ValueError(f"There is no view {view!r}. The views are: {', '.join(self.view_names_)}.")
        return self.model_.model.modules_by_view[view]

    def factors(self, views: Any = None, *, return_std: bool = False) -> Any:
        """Return the latent means in all dimensions as a DataFrame, samples x dimensions.

        The index holds the row names. Columns are x0, x1 and so on for the shared dimensions, and the name of the view
        with a number, such as image:0, for private ones.

        Args:
            views: new rows, as in `transform`; None stands for the training rows.
            return_std: whether to return the standard deviations too.

        Returns:
            The means, or a pair of tables, (mean, std).
        """
        check_is_fitted(self)
        return_std = check_flag(return_std, "return_std")
        if views is None:
            latent, index = self.model_.model.latent, self.model_.layout.row_index
            tables = tuple(values.detach().double().cpu().numpy() for values in (latent.mean, latent.std))
        else:
            rows, given = self._new_rows(views)
            tables, index = rows.latents(), given.layout.row_index
        frames = tuple(factor_frame(table, self.model_, index) for table in tables)
        return frames if return_std else frames[0]

    def relevance(self, *, of: str = "variation") -> Any:
        """Return the relevance of the latent dimensions for the views as a DataFrame, views x dimensions.

        Args:
            of: "variation" for `relevance_`, shares that sum to one; "variance" for
                `explained_variance_per_dimension_`, the explained variance that is lost without the dimension.
        """
        check_is_fitted(self)
        of = check_choice(of, "of", ("variation", "variance"))
        table = self.relevance_ if of == "variation" else self.explained_variance_per_dimension_
        return relevance_frame(table, self.model_)

    def estimate_memory(self, views: Any) -> memory.MemoryEstimate:
        """Estimate the peak memory of `fit`, beyond the data themselves, from the shapes and types of the views.

        The estimate is accurate to about a third for complete Gaussian views on a CPU. With missing entries, twice the
        scaled views are needed; views of likelihood "auto" are assumed to be Gaussian.

        Args:
            views: as for `fit`.

        Returns:
            The estimate, with `total` in bytes and `parts` by name; its string is a sentence. `kept` is the part that
            the fitted estimator refers to until `prepare` is called, the scaled views.

        Example:
            >>> import numpy as np
            >>> from mvlvm import NGMVLVM
            >>> print(NGMVLVM().estimate_memory({"image": np.zeros((70_000, 784), dtype=np.float32)}))
            fit needs about 0.98 GB: views as float64 0.44, scaled views 0.44, blocks of rows 0.08, all else 0.02
        """
        return memory.estimate_memory(self.get_params(deep=False), views)

    def save(self, path: str | os.PathLike[str], *, data: bool | str = False) -> None:
        """Write the fitted model to a file, or into a directory; `mvlvm.load` reads it.

        Args:
            path: the file or directory; it is replaced at once, so that an interrupt leaves the old or the new file.
            data: whether to store training rows too. "predict" stores those that the conditional layers need, at most
                4,000 in float32, and the layers that were fitted so far; without them, a loaded model predicts by the
                latents alone. True stores all rows, which `impute()` needs to fill their missing entries. The file then
                contains the views themselves. Without any it still contains the row and column names, column means,
                and the latents of all rows: it is smaller, but not anonymous.

        Raises:
            ValueError: a parameter cannot be saved, or the training rows are not available any more.
        """
        check_is_fitted(self)
        data = data if data == "predict" else check_flag(data, "data")
        parameters = self.get_params(deep=False)
        saved = serialization.Saved(
            type(self).__name__, parameters, self.model_, self._fit_record(), self._with_missing
        )
        write_model(path, *serialization.pack(saved, data=data))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def _new_rows(self, views: Any, *, target: str | None = None) -> tuple[NewRows, Views]:
        """Validate and encode new rows."""
        check_is_fitted(self)
        given = validate_new_views(self.model_, views)
        arrays = encode_new_views(self.model_, given)
        if target in arrays:
            check_target_is_missing(target, arrays.pop(target))
        return new_rows(self.model_, arrays, target, verbose=self.verbose > 0), given

    def _training_views(self) -> Views:
        if self._with_missing is None:
            raise ValueError(
                "The training views have no missing entries to impute, or the model was loaded from a file without "
                "them. Pass the views to impute: impute(views), or save the model with data=True."
            )
        return self._with_missing


def adopt(
    estimator: AbstractMultiViewLVM,
    fitted: FittedModel,
    record: FitRecord,
    *,
    with_missing: Views | None = None,
    stage_seconds: Mapping[str, float] | None = None,
) -> None:
    """Replace all fitted attributes of an estimator at once: after an interrupt they are either all old or all new.

    Args:
        estimator: the estimator.
        fitted: its fitted model.
        record: the record of the fit.
        with_missing: the training views if they have missing entries.
        stage_seconds: time of the stages of the fit, if known.
    """
    attributes = {
        **fitted_attributes(fitted, record),
        "model_": fitted,
        "_record": record,
        "_with_missing": with_missing,
        "_stage_seconds": stage_seconds,
    }
    kept = {name: value for name, value in vars(estimator).items() if not name.endswith("_") and name not in attributes}
    estimator.__dict__ = {**kept, **attributes}  # pyright: ignore[reportAttributeAccessIssue]
