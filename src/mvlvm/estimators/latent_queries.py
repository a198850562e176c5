"""What a fitted model says about given latents: the views there, the kernels, and the relevance of columns."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from mvlvm import defaults
from mvlvm.errors import ViewError
from mvlvm.estimators.fitted import FittedModel
from mvlvm.kernels import ngsm_kernel
from mvlvm.models.views import AbstractView
from mvlvm.randomness import Stream, make_generator
from mvlvm.row_blocks import row_blocks
from mvlvm.spectral import BivariateMixture, StationaryMixture


def check_latents(
    fitted: FittedModel, X: Any, argument: str = "X"
) -> tuple[Float[Tensor, "n D"], Float[Tensor, "n D"]]:
    """Return the means and standard deviations of given latents in all dimensions.

    Latents of the shared dimensions alone are completed by the prior of the private ones.

    Raises:
        ViewError: they have the wrong shape, or values that are not finite.
    """
    dimensions, mean = fitted.dimensions, fitted.model.latent.mean
    try:
        given = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ViewError(f"{argument} must be an array of latents. Got {type(X).__name__}.") from None
    widths = {dimensions.n_shared, dimensions.total}
    if given.ndim != 2 or given.shape[1] not in widths:
        shapes = " or ".join(f"(n, {width})" for width in sorted(widths))
        raise ViewError(f"{argument} must have shape {shapes}, one row per latent. Got {given.shape}.")
    if not np.isfinite(given).all():
        raise ViewError(f"{argument} must be finite. Got {(~np.isfinite(given)).sum()} values that are not.")
    complete = torch.zeros((len(given), dimensions.total), dtype=mean.dtype)
    complete[:, : given.shape[1]] = torch.as_tensor(given)
    std = torch.zeros_like(complete)
    std[:, given.shape[1] :] = 1.0
    return complete.to(mean.device), std.to(mean.device)


def views_at(
    fitted: FittedModel, X: Any, *, include_noise: bool
) -> tuple[dict[str, Float[np.ndarray, "n _"]], dict[str, Float[np.ndarray, "n _"]]]:
    """Return means and standard deviations of all views at given latents, in the units of the data.

    Args:
        fitted: the fitted model.
        X: the latents, of the shared or of all dimensions.
        include_noise: whether standard deviations are those of entries, or of the function.
    """
    mean, std = check_latents(fitted, X)
    generator = make_generator(fitted.seed, Stream.RECONSTRUCTION, mean.device)
    eps = torch.randn((defaults.N_LATENT_DRAWS, *mean.shape), generator=generator, device=mean.device).to(mean)
    draws = list(mean + std * eps) if std.any() else [mean]
    return fitted.entries_at(mean, std, draws, include_noise=include_noise)


def density_of(module: AbstractView) -> BivariateMixture | StationaryMixture:
    """Return the spectral density of a view in float64, without gradients."""
    density = module.mixture.density()
    return type(density)(**{name: part.detach().double() for name, part in vars(density).items()})


def kernel_at(fitted: FittedModel, name: str, X1: Any, X2: Any) -> Float[np.ndarray, "N K"]:
    """Return the kernel matrix of a view between latents, in closed form.

    Args:
        fitted: the fitted model.
        name: the view.
        X1: latents; None stands for the posterior means of the training rows.
        X2: latents; None stands for X1.
    """
    density = density_of(fitted.model.modules_by_view[name])
    if isinstance(density, StationaryMixture):
        density = density.as_bivariate()
    first = fitted.model.latent.mean.detach() if X1 is None else check_latents(fitted, X1, "X1")[0]
    second = first if X2 is None else check_latents(fitted, X2, "X2")[0]
    return ngsm_kernel(first.double(), second.double(), density).cpu().numpy()


@torch.no_grad()
def column_relevance(fitted: FittedModel, name: str) -> pd.DataFrame:
    r"""Return the variation of every column of a view along every latent dimension, columns x dimensions.

    The entry of column m and dimension d is

    $$ \mathrm{Var}(x_d) \, \frac1N \sum_n (\partial f_{nm} / \partial x_{nd})^2 $$

    relative to the largest sum of a column.
    """
    function, X = fitted.predictor.functions[name], fitted.model.latent.mean.detach()
    D, (F, M) = X.shape[1], function.posteriors[0].mean.shape
    total = torch.zeros((M, D), dtype=torch.float64, device=X.device)
    for rows in row_blocks(len(X), D * max(F, M)):
        jacobian = function.linearise(X[rows]).mean_jacobian()
        total += jacobian.double().square().sum(dim=0).T
    strength = (total * X.double().var(dim=0) / len(X)).cpu().numpy()
    view = fitted.views[name]
    table = np.zeros((len(view.scaling.mean), D))
    table[view.scaling.kept] = strength / max(strength.sum(axis=1).max(), np.finfo(float).tiny)
    return pd.DataFrame(table, index=_column_names(fitted, name), columns=pd.Index(fitted.dimensions.names()))


def _column_names(fitted: FittedModel, name: str) -> pd.Index:
    """Return the names of the columns that the likelihood sees: those of the data, or the classes of labels."""
    form, columns = fitted.layout.labels.get(name), fitted.layout.columns.get(name)
    n_columns = len(fitted.views[name].scaling.mean)
    if form is not None:
        return pd.Index(list(form.classes))
    return pd.Index(columns) if columns is not None and len(columns) == n_columns else pd.RangeIndex(n_columns)
