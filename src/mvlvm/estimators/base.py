"""What all multi-view Gaussian process estimators share: from views to a fitted model and back."""

import os
import time
from abc import ABC, abstractmethod
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from mvlvm.checks import check_choice, check_integer
from mvlvm.estimators import serialization as storage
from mvlvm.estimators.assembling import assemble, scale_views
from mvlvm.estimators.fitted import FitRecord, FittedModel, condition_on_data, factor_frame, record_fit, view_frame
from mvlvm.estimators.memory import EstimatesMemory
from mvlvm.estimators.options import check_fit_options, check_view_options
from mvlvm.estimators.predicting import PredictsViews
from mvlvm.estimators.preprocessing import prepare_views, say_likelihoods, set_aside
from mvlvm.estimators.serialization import Saved
from mvlvm.estimators.train import fit_and_prune
from mvlvm.estimators.weights import check_sample_weight, place_rows_of_no_weight, rows_of_no_weight
from mvlvm.models.diagnostics import learned_gram
from mvlvm.randomness import Stream, make_generator, seed_from

# typing.Self would do, were it not for the run-time shape checks, which cannot read it.
Estimator = TypeVar("Estimator", bound="AbstractMultiViewLVM")


class AbstractMultiViewLVM(PredictsViews, EstimatesMemory, ABC, auto_wrap_output_keys=None):
    """Fits one latent to several views; a subclass says which parameters there are and which kernel is used."""

    @abstractmethod
    def _kernel(self) -> Any:
        """Give the kernel of every view, or view name -> kernel."""

    def fit(self: Estimator, views: Any, y: Any = None, *, sample_weight: Any = None) -> Estimator:
        """Learn the latent, the kernels and the noise.

        Args:
            views: a matrix, DataFrame or AnnData (one view), a list of matrices or DataFrames, a dict of them with the
                views' names, or a MuData. All have the same samples in their rows. NaN is a missing entry, a row of
                NaN a missing view; views with gaps are kept, so that `impute` can fill them. Sparse views are made
                dense.
            y: ignored; there for scikit-learn.
            sample_weight: (N,) how much every row counts: a row of weight 3 like three copies of it, one of weight 0
                not at all. The latter is placed after training, as a new row would be. Centring and scaling treat all
                other rows alike.

        Returns:
            The estimator itself.

        Raises:
            ViewError: the views cannot be used.
            ValueError: a parameter has a wrong value.
            NumericalError: training broke down.
        """
        begin = time.perf_counter()
        parameters = self.get_params(deep=False)
        options = check_fit_options(parameters)
        prepared = prepare_views(views, parameters["likelihood"])
        if options.verbose:
            say_likelihoods(prepared.guesses)
        if options.verbose > 1:
            print(self.estimate_memory(views))
        view_options = check_view_options(parameters, self._kernel(), prepared.data.names)
        weight = check_sample_weight(sample_weight, prepared.data.n_samples, options.device)
        scaled = scale_views(prepared, view_options, weight, options)
        aside = set_aside(prepared, rows_of_no_weight(weight))
        del prepared  # training is to have the memory

        seed = seed_from(parameters["random_state"])
        generator = make_generator(seed, Stream.TRAINING, options.device)
        untrained = assemble(scaled, parameters, options, view_options, generator)
        model, seen, init, scalings = untrained.model, untrained.seen, untrained.init, scaled.scalings
        del scaled
        prepared_after = time.perf_counter() - begin
        history, dimensions = fit_and_prune(
            model, untrained.training, options, view_options, untrained.dimensions, generator
        )
        del untrained
        trained_after = time.perf_counter() - begin
        fitted_views = condition_on_data(
            model, seen, aside.encodings, scalings, n_draws=options.n_draws_predict, seed=seed
        )
        fitted = FittedModel(model, fitted_views, aside.layout, seed, dimensions)
        place_rows_of_no_weight(fitted, aside.rows, weight)
        self.adopt(fitted, record_fit(fitted, seen, history, init))
        self._with_gaps = aside.with_gaps
        self.fit_seconds_ = {
            "preparing": prepared_after,
            "training": trained_after - prepared_after,
            "predictions": time.perf_counter() - begin - trained_after,
        }
        return self

    def fit_transform(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, views: Any, y: Any = None, *, sample_weight: Any = None
    ) -> Float[np.ndarray, "N D"]:
        """Fit, and give the posterior means of the latents."""
        return self.fit(views, y, sample_weight=sample_weight).embedding_

    def kernel_matrix(self, view: str, *, n_draws: int = 10) -> Float[np.ndarray, "N N"]:
        """Give the learned kernel matrix of one view over the training rows, in the units of the scaled view.

        Args:
            view: its name.
            n_draws: draws of latents and spectral points to average over.
        """
        check_is_fitted(self)
        n_draws = check_integer(n_draws, "n_draws", at_least=1)
        if view not in self.view_names_:
            raise ValueError(f"There is no view {view!r}. The views are: {', '.join(self.view_names_)}.")
        latent = self.model_.model.latent
        module = self.model_.model.feature_views[self.view_names_.index(view)]
        generator = make_generator(self.model_.seed, Stream.KERNEL, latent.mean.device)
        with torch.no_grad():
            return learned_gram(module, latent, n_draws, generator).cpu().numpy()

    def factors(self) -> Any:
        """Give the latents of the training rows as a DataFrame.

        Rows have their labels. Columns are x0, x1 and so on for the dimensions that all views share, and the view's
        name with a number, such as image:0, for those that one view has for itself.
        """
        check_is_fitted(self)
        return factor_frame(self.model_)

    def relevance(self, *, of: str = "variation") -> Any:
        """Give the use that views make of latent dimensions as a DataFrame, views by dimensions.

        Args:
            of: "variation" gives `relevance_`, shares that sum to one; "variance" gives
                `explained_variance_per_dimension_`, what a view loses without the dimension.
        """
        check_is_fitted(self)
        of = check_choice(of, "of", ("variation", "variance"))
        table = self.relevance_ if of == "variation" else self.explained_variance_per_dimension_
        return view_frame(table, self.view_names_, self.model_)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, or into a folder; `mvlvm.load` reads it."""
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        storage.save(path, Saved(type(self).__name__, parameters, self.model_, self._record))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def adopt(self, fitted: FittedModel, record: FitRecord) -> None:
        """Take over a fitted model: everything that ends in an underscore is set here but what only `fit` knows."""
        vars(self).pop("fit_seconds_", None)
        latent, views = fitted.model.latent, fitted.views
        self.model_, self._record = fitted, record
        self.view_names_ = list(views)
        widths = {name: view.n_columns for name, view in views.items()}
        single = fitted.layout.container.single
        self.n_features_in_ = next(iter(widths.values())) if single else widths
        vars(self).pop("feature_names_in_", None)
        columns = list(next(iter(fitted.layout.columns.values()), []))
        if single and columns and all(isinstance(column, str) for column in columns):
            self.feature_names_in_ = np.asarray(columns, dtype=object)
        dimensions = fitted.dimensions
        mean, std = (values.detach().double().cpu().numpy() for values in (latent.mean, latent.std))
        self.embedding_, self.embedding_std_ = mean[:, dimensions.shared], std[:, dimensions.shared]
        self.n_components_ = dimensions.n_shared
        self.private_embedding_ = {view: mean[:, dimensions.of_view(view)] for view in dimensions.private}
        self.private_embedding_std_ = {view: std[:, dimensions.of_view(view)] for view in dimensions.private}
        self.likelihood_ = {name: view.function.likelihood.name for name, view in views.items()}
        self.likelihood_parameters_ = {name: view.likelihood_parameters() for name, view in views.items()}
        self.classes_ = {name: list(form.classes) for name, form in fitted.layout.labels.items()}
        self.scale_ = {name: view.scaling.scale for name, view in views.items()}
        self.noise_variance_ = {
            name: views[name].scaling.undo_variance(float(parameters["noise_variance"]))
            for name, parameters in self.likelihood_parameters_.items()
            if "noise_variance" in parameters
        }
        self.relevance_ = fitted.relevance()
        self.explained_variance_ = record.explained_variance
        self.explained_variance_per_dimension_ = record.explained_per_dimension
        self.init_, self.elbo_, self.history_ = record.init, record.elbo, record.history
        self.n_iter_, self.stop_reason_ = len(record.history["objective"]), record.stop_reason
