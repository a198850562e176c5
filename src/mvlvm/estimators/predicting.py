"""What a fitted model can say: about its own rows, about new ones, and about rows that nobody has seen."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mvlvm.checks import check_flag, check_integer
from mvlvm.errors import ViewError, ViewWarning
from mvlvm.estimators.fitted import FittedModel
from mvlvm.estimators.prediction import NewRows, fill_gaps
from mvlvm.likelihoods import Support
from mvlvm.randomness import RandomStateLike, seed_from
from mvlvm.views.encoding import check_known_classes
from mvlvm.views.layout import Views
from mvlvm.views.validation import as_new_views


class PredictsViews(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """The part of an estimator that answers questions once it is fitted.

    Attributes:
        verbose: a parameter of the estimator; 1 shows progress.
        model_: the fitted model.
    """

    verbose: int
    model_: FittedModel
    # The training views, if they had gaps that `impute` may be asked to fill.
    _with_gaps: Views | None = None

    def transform(self, views: Any, *, return_std: bool = False) -> Any:
        """Place new rows in the latent space, with everything else as it is.

        Every row is placed for itself: by climbing from the training rows that explain it best, and from the prior's
        mean, to the best mode of its posterior. The training rows' own places are in `embedding_`; they were found
        together with all the rest, so `transform` of a training row ends near its place, or in another mode, not on it.

        Args:
            views: any of the training views, with as many rows as you like; NaN is missing, and in a list None stands
                for a view that is missing. A row without any entry gets the prior, mean 0 and standard deviation 1.
            return_std: also give the standard deviations of the latents.

        Returns:
            The (N, D) latents, or a pair of them, (mean, std); of the dimensions that all views share.

        Raises:
            ViewError: the views are not those of training.
        """
        rows, _ = self._new_rows(views)
        mean, std = (values[:, self.model_.dimensions.shared] for values in rows.latents())
        return (mean, std) if check_flag(return_std, "return_std") else mean

    def predict(
        self, views: Any, *, target: str | None = None, return_std: bool = False, include_noise: bool = True
    ) -> Any:
        """Predict a view of new rows from other views of them.

        Predictions average over all places where a row may lie, over the weights of the features, and over draws of
        spectral points; the standard deviation has all these parts, and the noise.

        Args:
            views: as in `transform`.
            target: the view to predict, which must not be among `views`; None predicts every view of the model, those
                given included.
            return_std: also give the standard deviation of every entry.
            include_noise: False leaves the noise out of the standard deviations: they are those of the function.

        Returns:
            The target, as a DataFrame if it was one in training; for None all views, in the form of the training
            views. With `return_std` a pair, (mean, std).

        Raises:
            ViewError: the views are not those of training, or the target is one of them.
            ValueError: there is no such target.
        """
        check_is_fitted(self)
        return_std, include_noise = check_flag(return_std, "return_std"), check_flag(include_noise, "include_noise")
        if target is not None:
            self._check_target(target)
        rows, given = self._new_rows(views, target=target)
        pair = rows.predict(list(self.model_.views) if target is None else [target], include_noise=include_noise)
        layout = self.model_.layout.of_rows(given.layout.index)
        restored = [
            layout.restore(part, per_class=True)
            if target is None
            else layout.table(target, part[target], per_class=True)
            for part in pair
        ]
        return tuple(restored) if return_std else restored[0]

    def impute(self, views: Any = None, *, return_std: bool = False) -> Any:
        """Fill the gaps of views; what is there stays as it is.

        Args:
            views: views with gaps, of new rows or old ones; a view that is absent is not made up. None fills the gaps
                of the training views.
            return_std: also give the standard deviations of the entries that were filled in; zero for the others.

        Returns:
            The views in the form they were given, or a pair of them, (filled, std).

        Raises:
            ViewError: the views are not those of training.
            ValueError: the training views had no gaps, or are not at hand.
        """
        check_is_fitted(self)
        return_std = check_flag(return_std, "return_std")
        if views is None:
            given = self._training_gaps()
            rows = NewRows(self.model_, self._encoded(given), verbose=self.verbose > 0)
        else:
            rows, given = self._new_rows(views)
        means, stds = rows.predict(given.names)
        decoded = {name: self.model_.views[name].encoding.decode(mean) for name, mean in means.items()}
        filled, std = fill_gaps(given, decoded, stds)
        restore = given.layout.restore
        return (restore(filled), restore(std, per_class=True)) if return_std else restore(filled)

    def score(self, views: Any, y: Any = None, *, target: str | None = None) -> float:
        """Give the mean log density of new rows, in nats per observed entry and the data's units; higher is better.

        Of views that are not Gaussian the expected log density stands in for the density of a whole row, a lower bound;
        with `target` densities are exact in this respect.

        Args:
            views: as in `transform`.
            y: ignored; there for scikit-learn.
            target: one of `views`: score its entries only, each for itself and predicted from the other views.

        Raises:
            ViewError: the views are not those of training, or nothing was observed.
            ValueError: there is no such target.
        """
        if target is None:
            rows, _ = self._new_rows(views)
            total, n_seen = (rows.log_density(), rows.n_seen) if rows.n_seen else (0.0, 0)
        else:
            self._check_target(target)
            given = self._let_in(views)
            if target not in given.arrays:
                raise ViewError(f"There is nothing to score: the target '{target}' was not given. Add it to the views.")
            arrays = self._encoded(given)
            truth = arrays.pop(target)
            total, n_seen = self._rows_of(arrays, target).log_density_of(target, truth)
        if not n_seen:
            raise ViewError(
                "There is no observed entry to score: all are NaN, or in columns that training left out. "
                "Give at least one."
            )
        return total / n_seen

    def reconstruct(self, *, return_std: bool = False, include_noise: bool = True) -> Any:
        """Give the model's idea of the training rows, in the data's units and in the form of the input.

        Args:
            return_std: also give the standard deviation of every entry: of the weights, the latent and the noise.
            include_noise: False leaves the noise out of the standard deviations: they are those of the function.

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
        """Draw new rows: latents from the prior, then every view of them, noise included.

        Args:
            n_samples: how many.
            random_state: the same seed gives the same rows.

        Returns:
            The views, in the form of the input.
        """
        check_is_fitted(self)
        n_samples = check_integer(n_samples, "n_samples", at_least=1)
        arrays = self.model_.sample(n_samples, seed_from(random_state))
        return self.model_.layout.of_rows(None).restore(arrays)

    def _new_rows(self, views: Any, *, target: str | None = None) -> tuple[NewRows, Views]:
        """Let rows in, and say how many of them have nothing to tell."""
        given = self._let_in(views)
        arrays = self._encoded(given)
        if target in arrays:
            _check_empty(target, arrays.pop(target))
        return self._rows_of(arrays, target), given

    def _let_in(self, views: Any) -> Views:
        check_is_fitted(self)
        widths = {name: view.n_columns for name, view in self.model_.views.items()}
        return as_new_views(views, self.model_.layout, widths)

    def _check_target(self, target: str) -> None:
        check_is_fitted(self)
        names = list(self.model_.views)
        if target not in names:
            raise ValueError(f"target must be one of the model's views, {', '.join(map(repr, names))}. Got {target!r}.")

    def _rows_of(self, arrays: dict[str, Float[np.ndarray, "N _"]], target: str | None) -> NewRows:
        if not arrays:
            raise ViewError(f"Nothing but the target '{target}' was given. Give another view to predict it from.")
        rows = NewRows(self.model_, arrays, verbose=self.verbose > 0)
        if rows.n_empty:
            warnings.warn(
                f"There are {rows.n_empty} row(s) without an entry in a column that the model uses. All that is known "
                "of them is the prior: mean 0 and standard deviation 1 in the latent space. Drop them if they tell you "
                "nothing.",
                ViewWarning,
                stacklevel=4,
            )
        return rows

    def _encoded(self, given: Views) -> dict[str, Float[np.ndarray, "N _"]]:
        """Give views as their likelihoods take them."""
        views, columns = self.model_.views, self.model_.layout.columns
        encoded = {name: views[name].encoding.encode(name, Y) for name, Y in given.arrays.items()}
        for name, Y in encoded.items():
            if views[name].function.likelihood.support is Support.ONE_HOT:
                check_known_classes(name, Y, views[name].scaling.kept, columns.get(name))
        return encoded

    def _training_gaps(self) -> Views:
        if self._with_gaps is None:
            raise ValueError(
                "There are no gaps of training views to fill: they had none, or the model was loaded from a file, "
                "which does not hold them. Give the views to fill, impute(views)."
            )
        return self._with_gaps


def _check_empty(target: str, Y: Float[np.ndarray, "N M"]) -> None:
    """A view that is to be predicted may be there, if it holds nothing."""
    if not np.isnan(Y).all():
        raise ViewError(
            f"View '{target}' is both given and to be predicted. "
            "Leave it out of the views, or call impute to fill its gaps."
        )
