"""Methods that the model is compared with. All of them take centred and scaled columns."""

import contextlib
import io
import warnings
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from sklearn.decomposition import PCA
from sklearn.linear_model import RidgeCV

Matrix = Float[np.ndarray, "N M"]

_PENALTIES = np.logspace(-2, 5, 15)


def ridge() -> RidgeCV:
    """Return a ridge regression that chooses its penalty by leave-one-out cross-validation."""
    return RidgeCV(alphas=_PENALTIES)


def principal_scores(views: list[Matrix], n_components: int) -> Matrix:
    """Return the leading principal scores of all views, concatenated."""
    return np.hstack([PCA(n_components, svd_solver="full").fit_transform(Z) for Z in views])


def mofa(views: Mapping[str, Matrix], *, n_factors: int, n_iter: int, seed: int) -> dict[str, Matrix]:
    """Return the reconstruction of every entry, observed or missing, by the factor model of mofapy2.

    Args:
        views: view name -> centred columns; NaN is missing.
        n_factors: number of factors.
        n_iter: largest number of iterations.
        seed: seed of the initialisation.
    """
    from mofapy2.run.entry_point import entry_point

    # mofapy2 prints to standard output, and uses functions that newer libraries deprecate.
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = entry_point()
        run.set_data_options(scale_views=False)
        run.set_data_matrix([[Z] for Z in views.values()], views_names=list(views))
        run.set_model_options(factors=n_factors)
        run.set_train_options(iter=n_iter, convergence_mode="fast", seed=seed, quiet=True)
        run.build()
        run.run()
    nodes = run.model.nodes
    factors = nodes["Z"].getExpectation()
    return {name: factors @ W.T for name, W in zip(views, nodes["W"].getExpectation(), strict=True)}
